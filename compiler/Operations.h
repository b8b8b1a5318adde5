// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations: which PAGECAST_OP of the runtime's machine (pagecast/abi.h) does what an expression or an instruction
// does.
#ifndef PAGECAST_COMPILER_OPERATIONS_H
#define PAGECAST_COMPILER_OPERATIONS_H

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/InstrTypes.h"
#include <optional>

namespace pagecast {

/// For expressions of two operands or more, applied from the first on; nothing for others.
std::optional<unsigned> operationOf(llvm::SCEVTypes);

/// For integer arithmetic on two operands; nothing for others.
std::optional<unsigned> operationOf(const llvm::Instruction &);

/// For comparisons of integers.
struct Comparison {
  unsigned Code;
  bool Swapped; ///< the right operand is the first
};
Comparison comparisonOf(llvm::CmpInst::Predicate);

} // namespace pagecast

#endif
