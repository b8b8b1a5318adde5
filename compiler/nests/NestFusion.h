// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nest fusion: nests that are ticked on the same loop become one. In
//
//     for (k..n) for (j..m) {                        // ticked on j: so are both nests
//       for (i..l) near[i] = u[k][j-1][i] + u[k][j+1][i];
//       for (i..l-2) r[k][j][i] = v[k][j][i] - near[i];
//     }
//
// they would have a gate, an entry, a tick and an exit each, one next to the other. As one nest they have one of
// each, and its step is all that an iteration of j touches. The inner loops stand one behind the other in the chain,
// each with stride 0 for the groups of the others; those of the same length are one loop.
#ifndef PAGECAST_COMPILER_NESTFUSION_H
#define PAGECAST_COMPILER_NESTFUSION_H

#include "nests/Nests.h"

namespace pagecast {

/// Joins nests that are ticked on the same loop. It comes once all that is said of each nest by itself has been found:
/// overwrites, remarks.
void fuseNests(std::vector<Nest> &Nests, llvm::ScalarEvolution &SE);

} // namespace pagecast

#endif
