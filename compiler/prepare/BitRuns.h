// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that make indices of their counter by shifts and masks: gates on state vectors, Walsh transforms, butterflies. Their places
// are affine in pieces, and become a nest:
//
//     for (i = first; i < first + trips; i++) body(i >> k << k + 1 | i & (1 << k) - 1)
// =>
//     width = 1 << k
//     if (first and trips are multiples of width, all masks and amounts are of k, and width >= LeastRun)
//         for (run = 0, at = first; run < trips >> k; run++, at += width)
//             for (i = at; i != at + width; i++) body((run + (first >> k)) * (2 << k) + (i - at))
//     else
//         the loop as it was
//
// The same iterations in the same order, so that the body may do what it likes. The tests are exact, also where numbers wrap; the
// loop as it was has a slice instead. In the runs the places are affine for everybody: LLVM can vectorize them.
#ifndef PAGECAST_COMPILER_BITRUNS_H
#define PAGECAST_COMPILER_BITRUNS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"

namespace pagecast {

/// Has such loops go in runs. Loops are in simplified and LCSSA form, and stay so. True if anything changed.
bool splitBitRuns(llvm::Function &F, llvm::LoopInfo &LI, llvm::DominatorTree &DT, llvm::ScalarEvolution &SE);

} // namespace pagecast

#endif
