// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations: which types the words of slices have, and which PAGECAST_OP of the runtime's machine (pagecast/abi.h) does what an
// expression or an instruction does.
#ifndef PAGECAST_COMPILER_OPERATIONS_H
#define PAGECAST_COMPILER_OPERATIONS_H

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/InstrTypes.h"
#include <optional>

namespace pagecast {

/// Floating-point numbers that slices compute with.
inline bool isNumber(const llvm::Type *T) { return T->isFloatTy() || T->isDoubleTy(); }

/// What a word of a slice can hold: integers, pointers and floating-point numbers.
inline bool isSliceType(const llvm::Type *T) {
  if (const auto *P = llvm::dyn_cast<llvm::PointerType>(T)) return P->getAddressSpace() == 0;
  const auto *I = llvm::dyn_cast<llvm::IntegerType>(T);
  return isNumber(T) || (I && I->getBitWidth() <= 64);
}

/// The width in bits of a type that slices have.
inline unsigned widthOf(const llvm::Type *T) { return T->isPointerTy() ? 64 : T->getScalarSizeInBits(); }

/// The operation of an expression of two operands or more, applied from the first on; nothing for others.
std::optional<unsigned> operationOf(llvm::SCEVTypes);

/// The operation of arithmetic on two operands, integers or floating-point numbers; nothing for others.
std::optional<unsigned> operationOf(const llvm::Instruction &);

/// A comparison of integers.
struct Comparison {
  unsigned Code;
  bool Swapped; ///< the right operand is the first
};
Comparison comparisonOf(llvm::CmpInst::Predicate);

/// A comparison of floating-point numbers, as if both were numbers where it matters little.
struct FloatingComparison {
  unsigned Code;
  bool Swapped, Negated;
};
std::optional<FloatingComparison> floatingComparisonOf(llvm::CmpInst::Predicate);

/// What a function of numbers does, that the compiler or the C library has under this name.
struct FloatingFunction {
  unsigned Code;   ///< PAGECAST_OP
  unsigned How;    ///< of PAGECAST_OP_FWHOLE
  bool ToInteger;  ///< the result becomes an integer then: lround, lrint
};
std::optional<FloatingFunction> floatingFunctionOf(const llvm::CallBase &);

/// The way by which a cast goes between numbers and integers, or numbers of two sizes; nothing for others.
std::optional<unsigned> floatingCastOf(const llvm::Instruction &);

} // namespace pagecast

#endif
