// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "nests/Classify.h"
#include "loops/Control.h"
#include "nests/TickPlacement.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

using namespace llvm;

namespace pagecast {
namespace {

/// What a function that is given the address touches, about: up to where the next call's begins.
uint64_t passedBytes(const AffineForm &Form) {
  for (const SCEV *Stride : reverse(Form.Stride))
    if (!Stride->isZero()) {
      std::optional<int64_t> Bytes = constantOf(Stride);
      return Bytes ? std::min<uint64_t>(std::abs(*Bytes), StepBytes) : 64;
    }
  return 1;
}

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

/// Inner loops of few iterations, at most a constant, in which nothing moves far, with nothing but such loops inside: the five
/// unknowns of a grid point.
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

} // namespace

Classifier::Classifier(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE, SpeculatedValues &Speculated,
                       TripCounts &Counts)
    : LI(LI), DT(DT), SE(SE), Speculated(Speculated), Counts(Counts), Expander(SE, F.getParent()->getDataLayout(), "pagecast"),
      Small(smallLoops(LI, SE, Speculated)), Search(LI, DT, SE, [this](Loop *L) { return count(L) != nullptr; }, Small) {}

const SCEV *Classifier::count(Loop *L) {
  const SCEV *Count = Counts.backedges(L);
  return Count && available(Count, L) ? Count : nullptr;
}

bool Classifier::available(const SCEV *S, Loop *Root) {
  return SE.isLoopInvariant(S, Root) && Expander.isSafeToExpandAt(S, Root->getLoopPreheader()->getTerminator());
}

bool Classifier::available(const AffineForm &Form, Loop *Root) {
  return available(Form.Base, Root) && all_of(Form.Stride, [&](const SCEV *S) { return available(S, Root); });
}

const SCEV *Classifier::live(const SCEV *S, Loop *Root) {
  const SCEV *Computable = Counts.defined(S);
  return available(Computable, Root) ? Computable : nullptr;
}

/// Classifies as a direct reference, by its address when small loops inside the chain have been folded into it.
bool Classifier::classifyDirect(Classified &C, const SliceTarget &Folded, ArrayRef<Loop *> Loops) {
  if (Folded.Step) return false;
  AffineFailure Failure;
  std::optional<AffineForm> Form = affineForm(Folded.Address, Loops, SE, &Failure);
  if (!Form) {
    C.Why = Failure == AffineFailure::VariantStride ? Refusal::VariantStride : Refusal::NonAffine;
    return false;
  }
  C.Bytes = uint64_t(Folded.Hi);
  if (Form->invariant()) {
    C.Is = Classified::Ignored;
    return true;
  }
  Form->Base = Counts.defined(Form->Base);
  for (const SCEV *&Stride : Form->Stride) Stride = Counts.defined(Stride);
  C.Is = available(*Form, Loops.front()) ? Classified::Direct : Classified::Refused;
  if (C.Ref.Passed) C.Bytes = passedBytes(*Form);
  C.Why = C.Is == Classified::Direct ? Refusal::None : Refusal::NonAffine;
  C.Form = std::move(*Form);
  return C.Is == Classified::Direct;
}

Classified Classifier::classify(const Reference &Ref, ArrayRef<Loop *> Loops) {
  Classified C;
  C.Ref = Ref;
  C.Bytes = Ref.Size;
  C.Is = Classified::Refused;
  C.Why = Refusal::NonAffine;
  Loop *In = LI.getLoopFor(Ref.At->getParent());
  while (folds(In) && !is_contained(Loops, In)) In = In->getParentLoop();
  bool Inner = !is_contained(Loops, In); // inside the innermost loop of the chain: a slice goes there
  Loop *Until = Inner ? Loops.back() : In;
  SliceTarget T = sliceTarget(Ref.Pointer, Ref.Size, Ref.At->getParent(), Until, LI, SE, Speculated, Search);
  const SCEV *Address = Speculated.scev(Ref.Pointer);
  C.Searched = Search.contains(LI.getLoopFor(Ref.At->getParent())) || Search.first(Address, Until) != Address ||
               Search.comesFrom(Address, Until);
  C.Traced = Search.traces(LI.getLoopFor(Ref.At->getParent()));
  C.Conditional = C.Searched || !runsEachIteration(Ref.At->getParent(), LI, DT);
  // What a call might store to, if it were made: a page that is taken for stored to would have to be written.
  if (Ref.Passed && Ref.Reads && C.Conditional) C.Ref.Writes = false;
  if (classifyDirect(C, T, Loops)) return C;
  if (Until != Loops.back()) return C; // slices run through the innermost loop
  auto Live = [&](const SCEV *S) { return live(S, Loops.front()); };
  bool Moves = true;
  Refusal Why = sliceable(T, {Loops, LI, DT, SE, Speculated, Search, Live}, C.Index, Moves);
  if (Why != Refusal::None) {
    if (C.Why == Refusal::NonAffine) C.Why = Why;
    return C;
  }
  C.Is = Moves ? Classified::Indirect : Classified::Ignored; // one place, as where a pointer in memory stays what it is
  C.Why = Refusal::None;
  C.Target = T;
  C.Bytes = uint64_t(T.Hi);
  C.Form.Base = baseOf(T.Address, Loops.front());
  return C;
}

/// The array behind an address, for a look at its region on entry; 0 when it differs within the nest.
const SCEV *Classifier::baseOf(const SCEV *Address, Loop *Root) {
  const SCEV *Base = SE.getPointerBase(Address);
  if (Base->getType()->isPointerTy() && available(Base, Root)) return Base;
  return SE.getZero(Type::getInt64Ty(SE.getContext()));
}

SmallVector<Classified, 16> Classifier::classify(ArrayRef<Loop *> Loops, bool Sliced) {
  SmallVector<Classified, 16> All;
  auto Belongs = [&](const Loop *L) {
    if (Sliced && L && Loops.back()->contains(L)) return true;
    while (L && folds(L) && !is_contained(Loops, L)) L = L->getParentLoop();
    return is_contained(Loops, L);
  };
  for (const Reference &Ref : referencesIn(Loops, LI, Belongs)) All.push_back(classify(Ref, Loops));
  return All;
}

} // namespace pagecast
