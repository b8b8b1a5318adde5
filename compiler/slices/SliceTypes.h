// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What slices compute with: words that hold integers, pointers and floating-point numbers.
#ifndef PAGECAST_COMPILER_SLICETYPES_H
#define PAGECAST_COMPILER_SLICETYPES_H

#include "llvm/IR/DerivedTypes.h"

namespace pagecast {

inline bool isNumber(const llvm::Type *T) { return T->isFloatTy() || T->isDoubleTy(); }

inline bool isSliceType(const llvm::Type *T) {
  if (const auto *P = llvm::dyn_cast<llvm::PointerType>(T)) return P->getAddressSpace() == 0;
  const auto *I = llvm::dyn_cast<llvm::IntegerType>(T);
  return isNumber(T) || (I && I->getBitWidth() <= 64);
}

/// In bits, of a type of slices.
inline unsigned widthOf(const llvm::Type *T) { return T->isPointerTy() ? 64 : T->getScalarSizeInBits(); }

} // namespace pagecast

#endif
