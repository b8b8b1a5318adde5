// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Versions: a second copy of a loop, taken when a condition holds on entry.
//
//     if (condition) copy of the loop  else  the loop
//
// For short loops that are entered often. The hinted copy is the one that is split into strips. Where
// nothing is paged the program runs the other one, which is what it would be without the pass: short inner loops cannot afford even a few
// instructions, and run-time alias checks of the original stay hoisted as far as they were.
#ifndef PAGECAST_COMPILER_VERSION_H
#define PAGECAST_COMPILER_VERSION_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"

namespace pagecast {

/// Whether the body of `L` may be copied.
bool canVersion(const llvm::Loop *L);

/// Copies `L`, in simplified and LCSSA form, and returns the copy, which runs when `Condition`, an
/// i1 available in the preheader, is true. Keeps the dominator tree, the loop info and both forms.
llvm::Loop *versionLoop(llvm::Loop *L, llvm::Value *Condition, llvm::MDNode *Weights, llvm::LoopInfo &LI,
                        llvm::DominatorTree &DT);

} // namespace pagecast

#endif
