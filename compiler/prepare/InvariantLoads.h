// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Invariant loads: what a loop loads again in every iteration although nothing in it stores there.
//
//     for (i = 0; i < n; i++) for (j = 0; j < 25; j++) b[i][j] = a[i] * c[j];      n is a global, b and a hold doubles
//
// LLVM gives up on loops with many loads and stores, and on bounds that earlier passes have made phis of. With them
// reloaded, nothing is certain about how often the loop runs, and nothing can be overwritten (Overwrite.h). Unlike what
// is only assumed (SpeculatedValues.h) this is proved, by alias analysis of everything in the loop, and the program itself gets the
// one value.
#ifndef PAGECAST_COMPILER_INVARIANTLOADS_H
#define PAGECAST_COMPILER_INVARIANTLOADS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"

namespace llvm {
class AAResults;
} // namespace llvm

namespace pagecast {

/// Replaces loads of integers and pointers in loops, and phis of them, by one load before the loop where that is certain
/// to give the same. True if anything changed. The loops must have preheaders.
bool hoistInvariantLoads(llvm::Function &F, llvm::LoopInfo &LI, llvm::DominatorTree &DT, llvm::ScalarEvolution &SE,
                         llvm::AAResults &AA);

} // namespace pagecast

#endif
