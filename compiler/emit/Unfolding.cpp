// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unfolding: comparing what is hinted with and without.

#include "emit/Unfolding.h"
#include "loops/SpeculatedValues.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace llvm;

namespace pagecast {
namespace {

/// The instructions whose references are hinted.
SmallPtrSet<const Instruction *, 32> hintedIn(Function &F, const Transfers &T, LoopInfo &LI, DominatorTree &DT,
                                              ScalarEvolution &SE, NeedsChecks Checks) {
  SpeculatedValues Speculated(LI, DT, SE);
  Speculated.insert();
  SmallPtrSet<const Instruction *, 32> Hinted;
  for (const Nest &N : findNests(F, LI, DT, SE, Speculated, T, Checks).Nests)
    for (const Group &G : N.Groups) Hinted.insert(G.Members.begin(), G.Members.end());
  Speculated.removeUnused();
  return Hinted;
}

} // namespace

void unfoldWhatPays(Function &F, Transfers &T, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE, NeedsChecks Checks) {
  if (!T.any()) return; // scalar evolution keeps what it knows
  SmallPtrSet<const Instruction *, 32> Before, After;
  if (T.anyInLoops()) Before = hintedIn(F, T, LI, DT, SE, Checks);
  T.unfold();
  if (Before.empty()) return;
  After = hintedIn(F, T, LI, DT, SE, Checks);
  if (!all_of(Before, [&](const Instruction *I) { return After.contains(I); })) T.fold(/*InLoopsOnly=*/true);
}

} // namespace pagecast
