// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small loops: the five unknowns of a grid point. They count as part of the loop around them.
#ifndef PAGECAST_COMPILER_SMALLLOOPS_H
#define PAGECAST_COMPILER_SMALLLOOPS_H

#include "loops/SpeculatedValues.h"

#include "llvm/ADT/DenseSet.h"

namespace pagecast {

/// Inner loops of few iterations, at most a constant, in which nothing moves far, with nothing but such loops inside.
llvm::DenseSet<const llvm::Loop *> smallLoops(llvm::LoopInfo &LI, llvm::ScalarEvolution &SE, SpeculatedValues &Speculated);

} // namespace pagecast

#endif
