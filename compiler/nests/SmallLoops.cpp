// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small loops: from the inside outwards.

#include "nests/SmallLoops.h"
#include "nests/Groups.h"
#include "nests/TickPlacement.h"
#include "loops/TripCounts.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

using namespace llvm;

namespace pagecast {
namespace {

/// Loops of so many iterations in all are small.
constexpr uint64_t SmallTrips = 1024;

/// Whether no reference in `L` moves far in it.
bool movesWithin(Loop *L, uint64_t Trips, const LoopInfo &LI, ScalarEvolution &SE, SpeculatedValues &Speculated) {
  return all_of(referencesIn(L, LI, [&](const Loop *In) { return In && L->contains(In); }), [&](const Reference &R) {
    std::optional<AffineForm> Form = affineForm(Speculated.scev(R.Pointer), {L}, SE);
    if (!Form) return true; // a matter for slices
    std::optional<int64_t> Stride = constantOf(Form->Stride.front());
    return Stride && SaturatingMultiply<uint64_t>(std::abs(*Stride), Trips) < StepBytes;
  });
}

} // namespace

DenseSet<const Loop *> smallLoops(LoopInfo &LI, ScalarEvolution &SE, SpeculatedValues &Speculated) {
  DenseSet<const Loop *> Small;
  DenseMap<const Loop *, uint64_t> Trips;
  SmallVector<Loop *, 8> Outwards = LI.getLoopsInReverseSiblingPreorder();
  std::reverse(Outwards.begin(), Outwards.end());
  for (Loop *L : Outwards) {
    if (!L->getParentLoop() || !all_of(*L, [&](Loop *Inner) { return Small.count(Inner); })) continue;
    uint64_t Own = fewTrips(L, SmallTrips, SE), Inside = L->isInnermost();
    if (Own == 0 || !movesWithin(L, Own, LI, SE, Speculated)) continue;
    for (Loop *Inner : *L) Inside += Trips[Inner];
    if (SaturatingMultiply(Own, Inside) > SmallTrips) continue;
    Trips[L] = Own * Inside;
    Small.insert(L);
  }
  return Small;
}

} // namespace pagecast
