// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wraps: numbers that come round at an end of a loop, as neighbours in a periodic domain do.
//
//     for (i = 0; i < n; i++) { next = i == n - 1 ? 0 : i + 1; before = (i + n - 1) % n; ... }
//
// In all iterations but a few, `next` is i + 1 and `before` is i - 1. For hints, that is what they are.
#ifndef PAGECAST_COMPILER_WRAPS_H
#define PAGECAST_COMPILER_WRAPS_H

#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Instructions.h"

#include <optional>

namespace pagecast {

/// What `Test` is in all iterations of a loop but a few at its ends, or one between; nothing if it is not known to be either.
std::optional<bool> usually(const llvm::ICmpInst *Test, llvm::ScalarEvolution &SE);

/// The whole part of `Number` / `Divisor` in all iterations but a few at the ends; nothing if it is not known to be the same.
std::optional<int64_t> usualQuotient(const llvm::SCEV *Number, const llvm::SCEV *Divisor, llvm::ScalarEvolution &SE);

/// What LLVM makes of a product of a narrow counter and a constant that becomes wider, a shift to the end of the word and back:
/// as if it were wide from the start. Null for anything else.
const llvm::SCEV *widened(const llvm::Instruction *Shift, llvm::ScalarEvolution &SE);

/// `S` with usual quotients for unsigned divisions, as there are in rests.
const llvm::SCEV *withUsualQuotients(const llvm::SCEV *S, llvm::ScalarEvolution &SE);

} // namespace pagecast

#endif
