// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Periodic indices: numbers that come round at an end of a loop, as neighbours in a periodic domain do.
//
//     for (i = 0; i < n; i++) { next = i == n - 1 ? 0 : i + 1; before = (i + n - 1) % n; ... }
//
// In all iterations but a few, `next` is i + 1 and `before` is i - 1. For hints, that is what they are.
#ifndef PAGECAST_COMPILER_PERIODICINDICES_H
#define PAGECAST_COMPILER_PERIODICINDICES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Instructions.h"

namespace pagecast {

/// What `I`, which scalar evolution does not know, is in all iterations of a loop but a few at its ends, or one between: of a choice
/// or a rest; or the product of a counter that LLVM has made wider by shifts. Null for anything else. `Read` gives the
/// expressions of operands.
const llvm::SCEV *usualIndex(llvm::Instruction &I, llvm::function_ref<const llvm::SCEV *(llvm::Value *)> Read,
                             llvm::ScalarEvolution &SE);

/// `S` with usual quotients for unsigned divisions, as there are in rests.
const llvm::SCEV *withUsualQuotients(const llvm::SCEV *S, llvm::ScalarEvolution &SE);

} // namespace pagecast

#endif
