// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tick placement: the choice.

#include "nests/TickPlacement.h"
#include "prepare/StripMine.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

using namespace llvm;

namespace pagecast {
namespace {

/// What an iteration with a range in its slice is taken to touch, for the gate.
constexpr uint64_t SlicedBytes = 256;
/// What an iteration is taken to touch where rows are places of their own. If fewer than the gate makes of this are more than
/// memory, each is large enough for a nest of its own.
constexpr uint64_t ApartBytes = 1024;
/// Nests that cannot touch more than this get no code at all.
constexpr uint64_t SmallNestBytes = ClusterBytes;

std::optional<uint64_t> constantTrips(const SCEV *Backedges) {
  std::optional<int64_t> Last = constantOf(Backedges);
  if (!Last || *Last < 0) return std::nullopt;
  return uint64_t(*Last) + 1;
}

/// True when all of loop `K` is known to move by less than a page.
bool movesLittle(const Nest &N, unsigned K) {
  std::optional<uint64_t> Trips = constantTrips(N.Backedges[K]);
  if (!Trips) return false;
  uint64_t Step = 0;
  for (const Group &G : N.Groups) {
    if (G.indirect()) continue;
    std::optional<int64_t> Stride = constantOf(G.Form.Stride[K]);
    if (!Stride) return false;
    Step = std::max<uint64_t>(Step, std::abs(*Stride));
  }
  return SaturatingMultiply(*Trips, Step) < StepBytes;
}

/// How many unknowns `S` is a product of: two in the stride of a plane, 8 * columns * rows. `Merge`: look at both sides
/// of a phi.
unsigned factorsOf(const SCEV *S, ScalarEvolution &SE, bool Merge = true) {
  unsigned Count = 0, Grade = 0;
  switch (S->getSCEVType()) {
  case scConstant: return 0;
  case scMulExpr:
    for (const SCEV *Factor : S->operands()) Count += factorsOf(Factor, SE, Merge);
    return Count;
  case scAddExpr:
    for (const SCEV *Part : S->operands()) Count = std::max(Count, factorsOf(Part, SE, Merge));
    return Count;
  case scAddRecExpr: // a polynomial in the number of the iteration
    for (const SCEV *Coefficient : S->operands()) Count = std::max(Count, factorsOf(Coefficient, SE, Merge) + Grade++);
    return Count;
  case scUnknown: // the same product, computed on each way here
    Count = 1;
    if (const auto *Phi = dyn_cast<PHINode>(cast<SCEVUnknown>(S)->getValue()); Phi && Merge)
      for (Value *V : Phi->incoming_values()) Count = std::max(Count, factorsOf(SE.getSCEV(V), SE, false));
    return Count;
  default:
    if (const auto *Cast = dyn_cast<SCEVCastExpr>(S)) // a truth value is no length
      return Cast->getOperand()->getType()->isIntegerTy(1) ? 0 : factorsOf(Cast->getOperand(), SE, Merge);
    return 1;
  }
}

/// How many of them are in what the counter of `L` goes by, which is no length of an array: `step` in
/// for (i = 0; i < n; i += step). Of several counters the simplest.
unsigned factorsOfStep(const Loop *L, ScalarEvolution &SE) {
  std::optional<unsigned> Least;
  for (PHINode &Phi : L->getHeader()->phis()) {
    const auto *Walk = Phi.getType()->isIntegerTy() ? dyn_cast<SCEVAddRecExpr>(SE.getSCEV(&Phi)) : nullptr;
    if (!Walk || Walk->getLoop() != L || !Walk->isAffine()) continue;
    const unsigned Count = factorsOf(Walk->getStepRecurrence(SE), SE);
    Least = std::min(Least.value_or(Count), Count);
  }
  return Least.value_or(0);
}

/// The number of dimensions of the array that has most. They are known by the loops of the nest, and by products of lengths in
/// strides and base. Loops that only go over the same data again are none.
unsigned dimensionsOf(const Nest &N, ScalarEvolution &SE) {
  unsigned Most = 1;
  for (unsigned K = 0; K + 1 < N.Loops.size(); ++K)
    Most += any_of(N.Groups, [&](const Group &G) { return !G.indirect() && !G.Form.Stride[K]->isZero(); });
  for (const Group &G : N.Groups) {
    if (G.indirect()) continue;
    Most = std::max(Most, factorsOf(G.Form.Base, SE));
    for (unsigned K = 0; K < G.Form.Stride.size(); ++K) {
      const unsigned Factors = factorsOf(G.Form.Stride[K], SE), Step = factorsOfStep(N.Loops[K], SE);
      Most = std::max(Most, Factors - std::min(Factors, Step) + 1);
    }
  }
  return Most;
}

/// Whether one iteration of the loop around the innermost one is step enough. Strips cost code: their loop goes
/// on anywhere, so that nothing about it is known where it starts, and alias checks move into the loop around
/// the strips. Where there are planes, rows are short; and where a slice goes through planes, one at a time is
/// enough.
bool rowsAreSteps(const Nest &N, const TickContext &X) {
  unsigned Innermost = N.Loops.size() - 1;
  if (N.Sliced) return !X.OnlyRows;
  return (Innermost > 0 && (X.InPlanes || dimensionsOf(N, X.SE) > 2)) ||
         (Innermost > 1 && N.Loops[Innermost]->isInnermost() && X.Checks(*N.Loops[Innermost]));
}

/// Whether the program may be done with `L` after a few iterations, again and again, as where it looks for the next element
/// of a kind: each time the nest would be opened for all that is left. Exceptions are not what loops are left by.
bool leavesEarly(const Loop *L) {
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  return count_if(Exiting, [](const BasicBlock *Block) { return !isa<InvokeInst>(Block->getTerminator()); }) > 1;
}

/// Whether it is the loop of a vector that is filled: short but for the calls that make space. A test in each iteration costs
/// it up to a fifth, and what it goes over in order faults foretell.
bool callsNowAndThen(const Loop *L, const DominatorTree &DT) {
  bool Calls = false;
  for (const BasicBlock *Block : L->blocks())
    for (const Instruction &I : *Block) {
      if (!isa<CallBase>(I) || isa<IntrinsicInst>(I)) continue;
      if (DT.dominates(Block, L->getLoopLatch())) return false;
      Calls = true;
    }
  return Calls && L->isInnermost();
}

} // namespace

bool isSmall(const Nest &N) {
  uint64_t Iterations = 1;
  for (const SCEV *Count : N.Backedges) {
    std::optional<uint64_t> Trips = constantTrips(Count);
    if (!Trips) return false;
    Iterations = SaturatingMultiply(Iterations, *Trips);
  }
  uint64_t Total = 0;
  for (const Group &G : N.Groups) {
    uint64_t Bytes = G.indirect() ? SaturatingMultiply(Iterations, StepBytes) : uint64_t(G.Hi - G.Lo);
    for (unsigned K = 0; K < G.Form.Stride.size(); ++K) {
      std::optional<int64_t> Stride = constantOf(G.Form.Stride[K]);
      if (!Stride) return false;
      Bytes += SaturatingMultiply<uint64_t>(std::abs(*Stride), *constantTrips(N.Backedges[K]) - 1);
    }
    if (Bytes >= SmallNestBytes) return false;
    Total += Bytes;
  }
  return Total < SmallNestBytes;
}

bool chooseTicked(Nest &N, const TickContext &X) {
  unsigned Innermost = N.Loops.size() - 1;
  N.Ticked = Innermost;
  while (N.Ticked > 0 && !N.Sliced && movesLittle(N, N.Ticked)) --N.Ticked;
  if (N.Ticked < Innermost) return true;
  N.Strips = X.Exact && !X.Whole && canStripMine(N.Loops[Innermost], X.SE) && !rowsAreSteps(N, X);
  if (N.Strips || N.Sliced) return true;
  if (Innermost == 0) // each iteration, as no one but the program can count them: that keeps nothing from being vectorized
    return !X.Exact && !leavesEarly(N.root()) && (!callsNowAndThen(N.root(), X.DT) || N.hasIndirect());
  --N.Ticked;
  return true;
}

bool endsByItself(const Nest &N, unsigned Exact, const DominatorTree &DT) {
  if (N.Strips && N.Loops.size() == 1) return true;
  auto OnlyEnds = [](const Loop *L) { return L->getExitingBlock() == L->getLoopLatch(); };
  if (Exact <= N.Ticked || !all_of(ArrayRef(N.Loops).take_front(N.Ticked + 1), OnlyEnds)) return false;
  for (unsigned K = 1; K <= N.Ticked; ++K)
    if (!DT.dominates(N.Loops[K]->getLoopPreheader(), N.Loops[K - 1]->getLoopLatch())) return false;
  return true;
}

uint64_t bytesPerIteration(const Nest &N, const TickContext &X) {
  uint64_t Bytes = 1;
  for (const Group &G : N.Groups) {
    Bytes = std::max(Bytes, G.Element);
    if (G.indirect()) {
      uint64_t Row = !X.OnlyRows ? ClusterBytes : X.Apart ? ApartBytes : SlicedBytes;
      Bytes = std::max<uint64_t>(Bytes, G.Target.Step ? Row : std::max<int64_t>(64, G.Hi - G.Lo));
      continue;
    }
    uint64_t Smallest = StepBytes;
    for (const SCEV *Stride : G.Form.Stride) // of either direction, where the program chooses it
      Smallest = std::min(Smallest, X.SE.getSignedRange(Stride).abs().getUnsignedMax().getLimitedValue());
    Bytes = std::max(Bytes, Smallest);
  }
  return Bytes;
}

} // namespace pagecast
