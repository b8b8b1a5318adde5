// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Induction repair: counters of loops that earlier passes have made phis of.
//
//     for (j..n) for (i = first(j); i < m; i++) b[j][i] = a[j + 1][i];
//
// j + 1 is wanted before the inner loop, and at the end of the outer one, where it is partially redundant: LLVM computes
// it on the way past the inner loop, too, and has the counter go on with a phi of both. Scalar evolution knows nothing
// of such a phi, so that neither the outer loop can be counted nor anything be said of where its iterations go. The
// phi becomes the one addition that it is, whichever way it came.
#ifndef PAGECAST_COMPILER_INDUCTIONREPAIR_H
#define PAGECAST_COMPILER_INDUCTIONREPAIR_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace pagecast {

/// Replaces the phis with which counters of loops go on, where all that comes in is the same computation. True if
/// anything changed.
bool repairInductions(llvm::LoopInfo &LI, llvm::ScalarEvolution &SE);

} // namespace pagecast

#endif
