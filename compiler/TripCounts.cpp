// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trip counts: from scalar evolution, or read off exit tests.

#include "TripCounts.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>
#include <optional>
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

/// A loop stays while `Stays` holds of `From`, `From` + `Step`, ... and `To`, which does not move.
struct ExitWalk {
  CmpInst::Predicate Stays;
  const SCEV *From, *To;
  APInt Step;
  bool Index; ///< an integer, whose bound stays
};

bool isAbove(CmpInst::Predicate P) {
  return P == CmpInst::ICMP_UGT || P == CmpInst::ICMP_SGT || P == CmpInst::ICMP_UGE || P == CmpInst::ICMP_SGE;
}

/// The exit test of `Block` as a walk. Where both sides move, as in for (i = 0, j = n - 1; i < j; i++, j--), they are taken
/// to come towards each other: the one walks by both steps, and the other stays.
std::optional<ExitWalk> exitWalk(Loop *L, BasicBlock *Block, ScalarEvolution &SE, Assumed &A) {
  auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
  auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
  if (!Compare || !SE.isSCEVable(Compare->getOperand(0)->getType())) return std::nullopt;
  CmpInst::Predicate Stays = Compare->getPredicate();
  if (!L->contains(Branch->getSuccessor(0))) Stays = CmpInst::getInversePredicate(Stays);
  const SCEV *Moving = A.scev(Compare->getOperand(0)), *Bound = A.scev(Compare->getOperand(1));
  auto StepOf = [&](const SCEV *S) -> const SCEVConstant * {
    const auto *Walk = dyn_cast<SCEVAddRecExpr>(S);
    return Walk && Walk->getLoop() == L && Walk->isAffine() ? dyn_cast<SCEVConstant>(Walk->getStepRecurrence(SE)) : nullptr;
  };
  if (!StepOf(Moving)) {
    std::swap(Moving, Bound);
    Stays = CmpInst::getSwappedPredicate(Stays);
  }
  const SCEVConstant *Step = StepOf(Moving), *Other = StepOf(Bound);
  if (!Step || !(Other || SE.isLoopInvariant(Bound, L))) return std::nullopt;
  APInt By = Step->getAPInt();
  if (Other) {
    if (By.getBitWidth() != Other->getAPInt().getBitWidth()) return std::nullopt;
    By -= Other->getAPInt();
    Bound = cast<SCEVAddRecExpr>(Bound)->getStart();
  }
  if (By.isZero()) return std::nullopt;
  // Of two pointers scalar evolution has no difference unless it knows that they are of one object.
  auto Number = [&](const SCEV *S) { return S->getType()->isPointerTy() ? SE.getLosslessPtrToIntExpr(S) : S; };
  const SCEV *From = Number(cast<SCEVAddRecExpr>(Moving)->getStart()), *To = Number(Bound);
  if (isa<SCEVCouldNotCompute>(From) || isa<SCEVCouldNotCompute>(To)) return std::nullopt;
  return ExitWalk{Stays, From, To, By, !Other && !Moving->getType()->isPointerTy()};
}

/// Trip count - 1 from the exit test of `Block`, as if nothing could wrap around: in
/// for (i = 0; i < n; i += 16) scalar evolution has to think of an n near the type's end. But where an unsigned counter
/// goes down and has to be below its bound, it is below zero that it ends: for (i = n - 1; i < n; i--).
const SCEV *countIgnoringWrap(Loop *L, BasicBlock *Block, ScalarEvolution &SE, Assumed &A) {
  const std::optional<ExitWalk> W = exitWalk(L, Block, SE, A);
  if (!W || W->Stays == CmpInst::ICMP_EQ) return nullptr;
  const bool Down = W->Step.isNegative(), Above = isAbove(W->Stays);
  const bool ToZero = Down && W->Index && (W->Stays == CmpInst::ICMP_ULT || W->Stays == CmpInst::ICMP_ULE);
  if (!ToZero && Down != Above && W->Stays != CmpInst::ICMP_NE) return nullptr;
  const SCEV *Way = ToZero ? W->From : Down ? SE.getMinusSCEV(W->From, W->To) : SE.getMinusSCEV(W->To, W->From);
  if (isa<SCEVCouldNotCompute>(Way) || !Way->getType()->isIntegerTy()) return nullptr;
  if (ToZero || CmpInst::isNonStrictPredicate(W->Stays)) Way = SE.getAddExpr(Way, SE.getOne(Way->getType()));
  const SCEV *Each =
      SE.getConstant(Way->getType(), W->Step.abs().sextOrTrunc(SE.getTypeSizeInBits(Way->getType())).getZExtValue());
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
