// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overwriting: which groups are certain to store to each byte between the first and the last that they touch, before anything
// reads it. The pages inside need not be read from the backing store.
//
//     for (i..n) for (j..m) b[i * m + j] = a[i * m + j] * x;      b, if a and b do not overlap
//
// All other facts that hints rest on may be wrong and cost time; these would cost data. So nothing is assumed
// here. A nest qualifies when, once entered, it is certain to run all its iterations, and nothing in it lets another thread
// or a call look at memory half way. So every loop of the chain is left by its latch only, after a number of iterations that is
// exact, and nothing in it can fail to return. A group qualifies when
//
//   - it is only stored to, plain stores of every iteration cover [Lo, Hi) without a gap, and for these base and
//     strides are those of the addresses exactly, modulo 2^64;
//   - whatever the nest reads was stored by the same iteration (Stores.h), or belongs to a direct group with such a
//     form, which the runtime compares with this one on entry, or does not alias it. The group may be that of another
//     nest with the same root: this one then has a copy of it, which is only compared.
//
// Whether the strides of the loops join without gaps is for the runtime to see (core/nest/overwrite.h).
#ifndef PAGECAST_COMPILER_OVERWRITE_H
#define PAGECAST_COMPILER_OVERWRITE_H

#include "nests/Nests.h"

namespace llvm {
class AAResults;
class TargetLibraryInfo;
} // namespace llvm

namespace pagecast {

/// Sets PAGECAST_OVERWRITES on the groups that qualify, and with one of them its nest's guards, and adds to their nests
/// what they are to be compared with (PAGECAST_COMPARED).
void markOverwrites(std::vector<Nest> &Nests, const llvm::LoopInfo &LI, const llvm::DominatorTree &DT, llvm::ScalarEvolution &SE,
                    llvm::AAResults &AA, const llvm::TargetLibraryInfo &TLI);

/// Has each group that a nest inside a sliced one overwrites say which of the slice's groups it is. For after the numbers
/// of groups are final.
void linkOverwrites(std::vector<Nest> &Nests);

} // namespace pagecast

#endif
