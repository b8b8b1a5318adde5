// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control: reading conditions off the dominator tree.

#include "Control.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

#include <algorithm>
#include <optional>
#include <utility>

using namespace llvm;

namespace pagecast {

SmallVector<Condition, 4> conditionsOf(const BasicBlock *Block, const Loop *Within, const LoopInfo &LI,
                                       const DominatorTree &DT) {
  constexpr unsigned Most = 8;
  SmallVector<Condition, 4> Result;
  for (const DomTreeNode *Node = DT.getNode(Block); Node && Node->getBlock() != Within->getHeader();) {
    Node = Node->getIDom();
    if (!Node || !Within->contains(Node->getBlock()) || Result.size() == Most)
      break;
    const auto *Branch = dyn_cast<BranchInst>(Node->getBlock()->getTerminator());
    if (!Branch || !Branch->isConditional() || Branch->getSuccessor(0) == Branch->getSuccessor(1) ||
        LI.getLoopFor(Node->getBlock()) != Within)
      continue;
    for (unsigned Side = 0; Side < 2; ++Side)
      if (DT.dominates(BasicBlockEdge(Node->getBlock(), Branch->getSuccessor(Side)), Block))
        Result.push_back({Branch->getCondition(), Side == 0});
  }
  return Result;
}

bool runsEachIteration(const BasicBlock *Block, const LoopInfo &LI, const DominatorTree &DT) {
  const Loop *L = LI.getLoopFor(Block);
  if (DT.dominates(Block, L->getLoopLatch()))
    return true;
  return any_of(L->getSubLoops(), [&](const Loop *Inner) {
    return DT.dominates(Block, Inner->getHeader()) || Block == Inner->getUniqueExitBlock();
  });
}

std::optional<Merge> mergeOf(const PHINode *Phi, const DominatorTree &DT) {
  const BasicBlock *Here = Phi->getParent();
  const DomTreeNode *Above = DT.getNode(Here) ? DT.getNode(Here)->getIDom() : nullptr;
  if (!Above || Phi->getNumIncomingValues() != 2)
    return std::nullopt;
  const BasicBlock *From = Above->getBlock();
  const auto *Branch = dyn_cast<BranchInst>(From->getTerminator());
  if (!Branch || !Branch->isConditional() || Branch->getSuccessor(0) == Branch->getSuccessor(1))
    return std::nullopt;
  auto Comes = [&](unsigned Incoming, unsigned Side) {
    const BasicBlock *Before = Phi->getIncomingBlock(Incoming), *Successor = Branch->getSuccessor(Side);
    if (Before == From)
      return Successor == Here;
    return DT.dominates(BasicBlockEdge(From, Successor), Before);
  };
  for (unsigned True = 0; True < 2; ++True)
    if (Comes(True, 0) && Comes(1 - True, 1))
      return Merge{Branch->getCondition(), Phi->getIncomingValue(True), Phi->getIncomingValue(1 - True)};
  return std::nullopt;
}

uint64_t fewTrips(Loop *L, uint64_t Most, ScalarEvolution &SE) {
  if (const auto *Last = dyn_cast<SCEVConstant>(SE.getConstantMaxBackedgeTakenCount(L)); Last && Last->getAPInt().ult(Most))
    return Last->getAPInt().getZExtValue() + 1;
  // for (i = 0; i < 5; i++) for (j = i + 1; j < 5; j++): 3 - i, which is -1 where the loop is not entered.
  const auto *Walk = dyn_cast<SCEVAddRecExpr>(SE.getBackedgeTakenCount(L));
  if (!Walk || !Walk->isAffine())
    return 0;
  const auto *First = dyn_cast<SCEVConstant>(Walk->getStart()), *Step = dyn_cast<SCEVConstant>(Walk->getOperand(1));
  uint64_t Times = First && Step ? fewTrips(const_cast<Loop *>(Walk->getLoop()), Most, SE) : 0;
  if (!Times || First->getAPInt().getSignificantBits() > 32 || Step->getAPInt().getSignificantBits() > 32)
    return 0;
  int64_t Begin = First->getAPInt().getSExtValue(), End = Begin + Step->getAPInt().getSExtValue() * int64_t(Times - 1);
  int64_t Largest = std::max(Begin, End);
  return Largest < int64_t(Most) ? uint64_t(std::max<int64_t>(Largest, 0)) + 1 : 0;
}

namespace {

/// Trip count - 1 from the exit test of `Block`, as if nothing could wrap around: in
/// for (i = 0; i < n; i += 16) scalar evolution has to think of an n near the type's end.
const SCEV *countIgnoringWrap(Loop *L, BasicBlock *Block, ScalarEvolution &SE, Assumed &A) {
  auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
  auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
  if (!Compare || !SE.isSCEVable(Compare->getOperand(0)->getType()))
    return nullptr;
  CmpInst::Predicate Stays = Compare->getPredicate();
  if (!L->contains(Branch->getSuccessor(0)))
    Stays = CmpInst::getInversePredicate(Stays);
  const SCEV *Moving = A.scev(Compare->getOperand(0)), *Bound = A.scev(Compare->getOperand(1));
  if (!isa<SCEVAddRecExpr>(Moving)) {
    std::swap(Moving, Bound);
    Stays = CmpInst::getSwappedPredicate(Stays);
  }
  const auto *Walk = dyn_cast<SCEVAddRecExpr>(Moving);
  if (!Walk || Walk->getLoop() != L || !Walk->isAffine() || !SE.isLoopInvariant(Bound, L))
    return nullptr;
  const auto *Step = dyn_cast<SCEVConstant>(Walk->getStepRecurrence(SE));
  if (!Step || Step->isZero())
    return nullptr;
  bool Down = Step->getAPInt().isNegative();
  const SCEV *Way = Down ? SE.getMinusSCEV(Walk->getStart(), Bound) : SE.getMinusSCEV(Bound, Walk->getStart());
  if (isa<SCEVCouldNotCompute>(Way) || !Way->getType()->isIntegerTy())
    return nullptr;
  const SCEV *Each = SE.getConstant(Way->getType(), Step->getAPInt().abs().sextOrTrunc(SE.getTypeSizeInBits(Way->getType())).getZExtValue());
  switch (Stays) {
  case CmpInst::ICMP_ULT:
  case CmpInst::ICMP_SLT:
  case CmpInst::ICMP_UGT:
  case CmpInst::ICMP_SGT:
  case CmpInst::ICMP_NE:
    break;
  case CmpInst::ICMP_ULE:
  case CmpInst::ICMP_SLE:
  case CmpInst::ICMP_UGE:
  case CmpInst::ICMP_SGE:
    Way = SE.getAddExpr(Way, SE.getOne(Way->getType()));
    break;
  default:
    return nullptr;
  }
  if (Down != (Stays == CmpInst::ICMP_UGT || Stays == CmpInst::ICMP_SGT || Stays == CmpInst::ICMP_UGE || Stays == CmpInst::ICMP_SGE) &&
      Stays != CmpInst::ICMP_NE)
    return nullptr;
  Way = SE.getSMaxExpr(Way, SE.getZero(Way->getType()));
  return SE.getUDivExpr(SE.getAddExpr(Way, SE.getMinusSCEV(Each, SE.getOne(Each->getType()))), Each);
}

} // namespace

const SCEV *backedgesOf(Loop *L, ScalarEvolution &SE, Assumed &A) {
  if (!L->isLoopSimplifyForm())
    return nullptr;
  auto Usable = [&](const SCEV *Count) {
    return !isa<SCEVCouldNotCompute>(Count) && Count->getType()->isIntegerTy() &&
           SE.getTypeSizeInBits(Count->getType()) <= 64;
  };
  // Exact when the latch is the exit.
  const SCEV *Count = L->isLoopExiting(L->getLoopLatch()) ? SE.getExitCount(L, L->getLoopLatch())
                                                          : SE.getBackedgeTakenCount(L);
  if (Usable(Count))
    return A.rewrite(Count);
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  for (BasicBlock *Block : Exiting)
    if (Count = SE.getExitCount(L, Block); Usable(Count))
      return A.rewrite(Count);
  for (BasicBlock *Block : Exiting)
    if (const SCEV *Likely = countIgnoringWrap(L, Block, SE, A); Likely && Usable(Likely))
      return Likely;
  return nullptr;
}

} // namespace pagecast
