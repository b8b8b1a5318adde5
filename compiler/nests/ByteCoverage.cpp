// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte coverage: comparing addresses.

#include "nests/ByteCoverage.h"
#include "nests/Stores.h"
#include "pagecast/abi.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

#include <cstdlib>
#include <optional>

using namespace llvm;

namespace pagecast {
namespace {

/// The places of one instruction in one iteration of the chain, which may be in loops inside, are at most so many.
constexpr unsigned MostPlaces = 1024;

} // namespace

bool ByteCoverage::places(const Group &G, Value *Pointer, const Instruction *At, SmallVectorImpl<int64_t> &Out) const {
  const SCEV *Offset = SE.getMinusSCEV(SE.getSCEV(Pointer), addressOf(G));
  return !isa<SCEVCouldNotCompute>(Offset) && valuesOf(Offset, At, Out);
}

bool ByteCoverage::runsAlways(const BasicBlock *Block) const {
  Loop *In = LI.getLoopFor(Block);
  for (; isInside(In); In = In->getParentLoop()) {
    if (!In->getLoopPreheader() || !trips(In) || !DT.dominates(Block, In->getLoopLatch())) return false;
    Block = In->getLoopPreheader();
  }
  return is_contained(N.Loops, In) && DT.dominates(Block, In->getLoopLatch());
}

const Group *ByteCoverage::seenIn(Instruction *At, Value *Pointer) const {
  const Group *Found = find_if(N.Groups, [&](const Group &G) {
    if (!(G.Flags & PAGECAST_READS) || G.indirect() || !is_contained(G.Members, At)) return false;
    uint64_t Bytes = certainBytes(At);
    SmallVector<int64_t, 8> Begins;
    return Bytes && places(G, Pointer, At, Begins) &&
           all_of(Begins, [&](int64_t Begin) { return Begin >= G.Lo && Begin + int64_t(Bytes) <= G.Hi; });
  });
  return Found == N.Groups.end() ? nullptr : Found;
}

/// The addresses of the group's first reference as scalar evolution would write them.
const SCEV *ByteCoverage::addressOf(const Group &G) const {
  const SCEV *S = G.Form.Base;
  for (unsigned K = 0; K < N.Loops.size(); ++K)
    S = SE.getAddRecExpr(S, SE.getTruncateOrSignExtend(G.Form.Stride[K], SE.getEffectiveSCEVType(S->getType())), N.Loops[K],
                         SCEV::FlagAnyWrap);
  return S;
}

bool ByteCoverage::isInside(const Loop *L) const { return L != N.Loops.back() && N.Loops.back()->contains(L); }

/// The exact trip count of a loop that is left by its latch only, if it is a small constant, else 0.
uint64_t ByteCoverage::trips(Loop *L) const {
  BasicBlock *Latch = L->getLoopLatch();
  if (!Latch || L->getExitingBlock() != Latch) return 0;
  std::optional<int64_t> Last = constantOf(SE.getExitCount(L, Latch));
  return Last && *Last >= 0 && *Last < int64_t(MostPlaces) ? uint64_t(*Last) + 1 : 0;
}

/// All values that `Offset` has at `At` in an iteration of the chain. False if they are not known.
bool ByteCoverage::valuesOf(const SCEV *Offset, const Instruction *At, SmallVectorImpl<int64_t> &Out) const {
  if (std::optional<int64_t> Only = constantOf(Offset)) {
    Out.push_back(*Only);
    return true;
  }
  const auto *Walk = dyn_cast<SCEVAddRecExpr>(Offset);
  std::optional<int64_t> Step = Walk && Walk->isAffine() ? constantOf(Walk->getOperand(1)) : std::nullopt;
  if (!Step || std::abs(*Step) > INT32_MAX || !isInside(Walk->getLoop()) || !Walk->getLoop()->contains(At) ||
      !valuesOf(Walk->getStart(), At, Out))
    return false;
  uint64_t Times = trips(const_cast<Loop *>(Walk->getLoop())), First = Out.size();
  if (Times == 0 || Times * First > MostPlaces) return false;
  for (uint64_t Time = 1; Time < Times; ++Time)
    for (uint64_t I = 0; I < First; ++I) Out.push_back(Out[I] + *Step * int64_t(Time));
  return true;
}

} // namespace pagecast
