// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slice targets: taking inner loops off an address, from the block outwards.

#include "slices/SliceTarget.h"
#include "loops/TripCounts.h"

using namespace llvm;

namespace pagecast {

/// Constant inner loops that move less than this are part of one access.
constexpr int64_t FoldedBytes = 4096;

/// The loops of the address from the block outwards, while it does not move in them.
static Loop *movingLoop(const SCEV *Address, Loop *Innermost, Loop *Outermost, ScalarEvolution &SE) {
  Loop *L = Innermost;
  while (L != Outermost && SE.isLoopInvariant(Address, L)) L = L->getParentLoop();
  return L;
}

SliceTarget sliceTarget(Value *Pointer, uint64_t Size, BasicBlock *At, ArrayRef<Loop *> Chain, LoopInfo &LI, ScalarEvolution &SE,
                        SpeculatedValues &Speculated, const Searches &S) {
  SliceTarget T;
  T.Address = S.first(Speculated.scev(Pointer), Chain.back());
  T.At = At;
  T.Hi = int64_t(Size);
  Loop *L = LI.getLoopFor(At);
  while (L != Chain.back()) {
    if (S.traces(L) && !SE.isLoopInvariant(T.Address, L)) return T;
    if (S.contains(L)) {
      T.At = L->getLoopPreheader();
      L = L->getParentLoop();
      continue;
    }
    if (Loop *Moving = movingLoop(T.Address, L, Chain.back(), SE); Moving != L) {
      while (L != Moving) { // the same in each iteration
        T.At = L->getLoopPreheader();
        L = L->getParentLoop();
      }
      continue;
    }
    std::optional<AffineForm> Form = affineForm(T.Address, {L}, SE);
    if (!Form || !backedgesOf(L, SE, Speculated)) return T;
    std::optional<int64_t> Stride = constantOf(Form->Stride.front());
    int64_t Few = int64_t(fewTrips(L, FoldedBytes, SE));
    if (Stride && Few && *Stride >= 0 && *Stride * (Few - 1) < FoldedBytes) {
      T.Address = Form->Base;
      T.Hi += *Stride * (Few - 1);
      T.At = L->getLoopPreheader();
      L = L->getParentLoop();
      continue;
    }
    T.Address = Form->Base;
    T.Step = Form->Stride.front();
    T.Over = L;
    return T;
  }
  return T;
}

} // namespace pagecast
