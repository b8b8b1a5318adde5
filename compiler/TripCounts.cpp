// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trip counts: from scalar evolution, or read off exit tests.

#include "TripCounts.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>
#include <utility>

using namespace llvm;

namespace pagecast {
namespace {

/// Divisions by what may be zero cannot be computed early. Where the program has the quotient already,
/// that is taken; else the divisor becomes umax(it, 1), which is the same wherever the program divides.
class SafeDivisions : public SCEVRewriteVisitor<SafeDivisions> {
public:
  SafeDivisions(ScalarEvolution &SE, const DenseMap<const SCEV *, Value *> &Quotients)
      : SCEVRewriteVisitor(SE), Quotients(Quotients) {}

  const SCEV *visitUDivExpr(const SCEVUDivExpr *S) {
    const SCEV *Divisor = S->getRHS();
    if (SE.isKnownNonZero(Divisor)) return S;
    if (Value *Known = Quotients.lookup(S)) return SE.getUnknown(Known);
    Divisor = SE.getUMaxExpr(visit(Divisor), SE.getOne(Divisor->getType()));
    return SE.getUDivExpr(visit(S->getLHS()), Divisor);
  }

private:
  const DenseMap<const SCEV *, Value *> &Quotients;
};

/// Trip count - 1 from the exit test of `Block`, as if nothing could wrap around: in
/// for (i = 0; i < n; i += 16) scalar evolution has to think of an n near the type's end.
const SCEV *countIgnoringWrap(Loop *L, BasicBlock *Block, ScalarEvolution &SE, Assumed &A) {
  auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
  auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
  if (!Compare || !SE.isSCEVable(Compare->getOperand(0)->getType())) return nullptr;
  CmpInst::Predicate Stays = Compare->getPredicate();
  if (!L->contains(Branch->getSuccessor(0))) Stays = CmpInst::getInversePredicate(Stays);
  const SCEV *Moving = A.scev(Compare->getOperand(0)), *Bound = A.scev(Compare->getOperand(1));
  if (!isa<SCEVAddRecExpr>(Moving)) {
    std::swap(Moving, Bound);
    Stays = CmpInst::getSwappedPredicate(Stays);
  }
  const auto *Walk = dyn_cast<SCEVAddRecExpr>(Moving);
  if (!Walk || Walk->getLoop() != L || !Walk->isAffine() || !SE.isLoopInvariant(Bound, L)) return nullptr;
  const auto *Step = dyn_cast<SCEVConstant>(Walk->getStepRecurrence(SE));
  if (!Step || Step->isZero()) return nullptr;
  bool Down = Step->getAPInt().isNegative();
  // Of two pointers scalar evolution has no difference unless it knows that they are of one object.
  auto Number = [&](const SCEV *S) { return S->getType()->isPointerTy() ? SE.getLosslessPtrToIntExpr(S) : S; };
  const SCEV *From = Number(Walk->getStart()), *To = Number(Bound);
  if (isa<SCEVCouldNotCompute>(From) || isa<SCEVCouldNotCompute>(To)) return nullptr;
  const SCEV *Way = Down ? SE.getMinusSCEV(From, To) : SE.getMinusSCEV(To, From);
  if (isa<SCEVCouldNotCompute>(Way) || !Way->getType()->isIntegerTy()) return nullptr;
  const SCEV *Each =
      SE.getConstant(Way->getType(), Step->getAPInt().abs().sextOrTrunc(SE.getTypeSizeInBits(Way->getType())).getZExtValue());
  switch (Stays) {
  case CmpInst::ICMP_ULT:
  case CmpInst::ICMP_SLT:
  case CmpInst::ICMP_UGT:
  case CmpInst::ICMP_SGT:
  case CmpInst::ICMP_NE: break;
  case CmpInst::ICMP_ULE:
  case CmpInst::ICMP_SLE:
  case CmpInst::ICMP_UGE:
  case CmpInst::ICMP_SGE: Way = SE.getAddExpr(Way, SE.getOne(Way->getType())); break;
  default: return nullptr;
  }
  if (Down != (Stays == CmpInst::ICMP_UGT || Stays == CmpInst::ICMP_SGT || Stays == CmpInst::ICMP_UGE ||
               Stays == CmpInst::ICMP_SGE) &&
      Stays != CmpInst::ICMP_NE)
    return nullptr;
  Way = SE.getSMaxExpr(Way, SE.getZero(Way->getType()));
  return SE.getUDivExpr(SE.getAddExpr(Way, SE.getMinusSCEV(Each, SE.getOne(Each->getType()))), Each);
}

} // namespace

uint64_t fewTrips(Loop *L, uint64_t Most, ScalarEvolution &SE) {
  if (const auto *Last = dyn_cast<SCEVConstant>(SE.getConstantMaxBackedgeTakenCount(L)); Last && Last->getAPInt().ult(Most))
    return Last->getAPInt().getZExtValue() + 1;
  // for (i = 0; i < 5; i++) for (j = i + 1; j < 5; j++): 3 - i, which is -1 where the loop is not entered.
  const auto *Walk = dyn_cast<SCEVAddRecExpr>(SE.getBackedgeTakenCount(L));
  if (!Walk || !Walk->isAffine()) return 0;
  const auto *First = dyn_cast<SCEVConstant>(Walk->getStart()), *Step = dyn_cast<SCEVConstant>(Walk->getOperand(1));
  uint64_t Times = First && Step ? fewTrips(const_cast<Loop *>(Walk->getLoop()), Most, SE) : 0;
  if (!Times || First->getAPInt().getSignificantBits() > 32 || Step->getAPInt().getSignificantBits() > 32) return 0;
  int64_t Begin = First->getAPInt().getSExtValue(), End = Begin + Step->getAPInt().getSExtValue() * int64_t(Times - 1);
  int64_t Largest = std::max(Begin, End);
  return Largest < int64_t(Most) ? uint64_t(std::max<int64_t>(Largest, 0)) + 1 : 0;
}

const SCEV *backedgesOf(Loop *L, ScalarEvolution &SE, Assumed &A) {
  if (!L->isLoopSimplifyForm()) return nullptr;
  auto Usable = [&](const SCEV *Count) {
    return !isa<SCEVCouldNotCompute>(Count) && Count->getType()->isIntegerTy() && SE.getTypeSizeInBits(Count->getType()) <= 64;
  };
  // Exact when the latch is the exit.
  const SCEV *Count = L->isLoopExiting(L->getLoopLatch()) ? SE.getExitCount(L, L->getLoopLatch()) : SE.getBackedgeTakenCount(L);
  if (Usable(Count)) return A.rewrite(Count);
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  for (BasicBlock *Block : Exiting)
    if (Count = SE.getExitCount(L, Block); Usable(Count)) return A.rewrite(Count);
  for (BasicBlock *Block : Exiting)
    if (const SCEV *Likely = countIgnoringWrap(L, Block, SE, A); Likely && Usable(Likely)) return Likely;
  return nullptr;
}

const SCEV *tripsOf(const SCEV *Backedges, ScalarEvolution &SE) {
  Type *I64 = Type::getInt64Ty(SE.getContext());
  return SE.getAddExpr(SE.getNoopOrZeroExtend(Backedges, I64), SE.getOne(I64));
}

TripCounts::TripCounts(Function &F, const LoopInfo &LI, ScalarEvolution &SE, Assumed &A) : LI(LI), SE(SE), A(A) {
  for (Instruction &I : instructions(F))
    if (I.getOpcode() == Instruction::UDiv && SE.isSCEVable(I.getType())) Quotients.try_emplace(SE.getSCEV(&I), &I);
}

const SCEV *TripCounts::backedges(Loop *L) {
  const SCEV *Count = backedgesOf(L, SE, A);
  return Count ? definedCount(Count, L) : nullptr;
}

const SCEV *TripCounts::defined(const SCEV *S) { return SafeDivisions(SE, Quotients).visit(S); }

const SCEV *TripCounts::exact(Loop *L) {
  const SCEV *Count = SE.getExitCount(L, L->getLoopLatch());
  return isa<SCEVCouldNotCompute>(Count) ? nullptr : definedCount(Count, L);
}

bool TripCounts::isExact(Loop *L, const SCEV *Backedges) { return Backedges == exact(L); }

/// Where it takes a division, from the bound in the exit test if the program has that anyway.
const SCEV *TripCounts::definedCount(const SCEV *Count, Loop *L) {
  const SCEV *Safe = defined(Count), *One = SE.getOne(Count->getType());
  if (const ICmpInst *Test = Safe == Count ? nullptr : L->getLatchCmpInst())
    for (Value *V : Test->operands())
      if (const auto *I = dyn_cast<Instruction>(V);
          I && !LI.getLoopFor(I->getParent()) && SE.isSCEVable(V->getType()) && SE.getSCEV(V) == SE.getAddExpr(Count, One))
        return SE.getMinusSCEV(SE.getUnknown(V), One);
  return Safe;
}

} // namespace pagecast
