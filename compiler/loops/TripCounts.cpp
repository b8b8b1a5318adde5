// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trip counts: from scalar evolution, or read off exit tests.

#include "loops/TripCounts.h"

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
  const SCEV *From, *To, *Step;
  bool Index; ///< an integer, whose bound stays
};

bool isAbove(CmpInst::Predicate P) {
  return P == CmpInst::ICMP_UGT || P == CmpInst::ICMP_SGT || P == CmpInst::ICMP_UGE || P == CmpInst::ICMP_SGE;
}

/// The test `Compare`, of which `L` goes on while `Stays`, as a walk. Where both sides move, as in
/// for (i = 0, j = n - 1; i < j; i++, j--), they are taken to come towards each other: the one walks by both steps, and
/// the other stays.
std::optional<ExitWalk> exitWalk(Loop *L, const ICmpInst *Compare, CmpInst::Predicate Stays, ScalarEvolution &SE,
                                 SpeculatedValues &Speculated) {
  if (!SE.isSCEVable(Compare->getOperand(0)->getType())) return std::nullopt;
  const SCEV *Moving = Speculated.scev(Compare->getOperand(0)), *Bound = Speculated.scev(Compare->getOperand(1));
  auto StepOf = [&](const SCEV *S) -> const SCEV * {
    const auto *Walk = dyn_cast<SCEVAddRecExpr>(S);
    return Walk && Walk->getLoop() == L && Walk->isAffine() ? Walk->getStepRecurrence(SE) : nullptr;
  };
  if (!StepOf(Moving)) {
    std::swap(Moving, Bound);
    Stays = CmpInst::getSwappedPredicate(Stays);
  }
  const SCEV *Step = StepOf(Moving), *Other = StepOf(Bound);
  if (!Step || !(Other || SE.isLoopInvariant(Bound, L))) return std::nullopt;
  if (Other) {
    if (SE.getTypeSizeInBits(Step->getType()) != SE.getTypeSizeInBits(Other->getType())) return std::nullopt;
    Step = SE.getMinusSCEV(Step, Other);
    Bound = cast<SCEVAddRecExpr>(Bound)->getStart();
  }
  if (Step->isZero()) return std::nullopt;
  // Scalar evolution has no difference of two pointers unless it knows that they are of one object.
  auto Number = [&](const SCEV *S) { return S->getType()->isPointerTy() ? SE.getLosslessPtrToIntExpr(S) : S; };
  const SCEV *From = Number(cast<SCEVAddRecExpr>(Moving)->getStart()), *To = Number(Bound);
  if (isa<SCEVCouldNotCompute>(From) || isa<SCEVCouldNotCompute>(To)) return std::nullopt;
  return ExitWalk{Stays, From, To, Step, !Other && !Moving->getType()->isPointerTy()};
}

/// How often it steps before the test fails, as if nothing could wrap around: in for (i = 0; i < n; i += 16) scalar
/// evolution has to think of an n near the type's end. But where an unsigned counter goes down and has to be below its
/// bound, it is below zero that it ends: for (i = n - 1; i < n; i--). A step that only the program knows is taken to go
/// towards the bound, whichever way that is.
const SCEV *stepsOf(const ExitWalk &W, ScalarEvolution &SE) {
  const bool Above = isAbove(W.Stays), Either = W.Stays == CmpInst::ICMP_NE;
  const auto *Known = dyn_cast<SCEVConstant>(W.Step);
  const bool Down = Known ? Known->getAPInt().isNegative() : Above;
  const bool ToZero = Known && Down && W.Index && (W.Stays == CmpInst::ICMP_ULT || W.Stays == CmpInst::ICMP_ULE);
  if (W.Stays == CmpInst::ICMP_EQ || (!ToZero && Down != Above && !Either)) return nullptr;
  const SCEV *Way = ToZero ? W.From : Down ? SE.getMinusSCEV(W.From, W.To) : SE.getMinusSCEV(W.To, W.From);
  if (isa<SCEVCouldNotCompute>(Way) || !Way->getType()->isIntegerTy()) return nullptr;
  if (ToZero || CmpInst::isNonStrictPredicate(W.Stays)) Way = SE.getAddExpr(Way, SE.getOne(Way->getType()));
  Type *Wide = Way->getType();
  const SCEV *Each = SE.getTruncateOrSignExtend(Down ? SE.getNegativeSCEV(W.Step) : W.Step, Wide);
  if (!Known && Either) {
    Way = SE.getAbsExpr(Way, false);
    Each = SE.getAbsExpr(Each, false);
  }
  Way = SE.getSMaxExpr(Way, SE.getZero(Wide));
  if (!Known) Each = SE.getUMaxExpr(Each, SE.getOne(Wide)); // a division by zero traps
  return SE.getUDivExpr(SE.getAddExpr(Way, SE.getMinusSCEV(Each, SE.getOne(Wide))), Each);
}

/// Trip count - 1 from a test of which `L` goes on while it is `While`. Where it is one of two tests, and which one is
/// known before the loop, as in for (i = up ? 0 : n - 1; up ? i < n : i >= 0; i += step), the count is of that one.
const SCEV *countWhile(Loop *L, Value *Test, bool While, ScalarEvolution &SE, SpeculatedValues &Speculated) {
  if (const auto *Compare = dyn_cast<ICmpInst>(Test)) {
    const CmpInst::Predicate Stays = While ? Compare->getPredicate() : Compare->getInversePredicate();
    const std::optional<ExitWalk> W = exitWalk(L, Compare, Stays, SE, Speculated);
    return W ? stepsOf(*W, SE) : nullptr;
  }
  auto *Choice = dyn_cast<SelectInst>(Test);
  if (!Choice || !L->isLoopInvariant(Choice->getCondition())) return nullptr;
  const SCEV *Yes =
      isa<ICmpInst>(Choice->getTrueValue()) ? countWhile(L, Choice->getTrueValue(), While, SE, Speculated) : nullptr;
  const SCEV *No =
      isa<ICmpInst>(Choice->getFalseValue()) ? countWhile(L, Choice->getFalseValue(), While, SE, Speculated) : nullptr;
  if (!Yes || !No) return nullptr;
  Type *Wide = SE.getWiderType(Yes->getType(), No->getType());
  return choiceAsSum(Choice->getCondition(), SE.getNoopOrZeroExtend(Yes, Wide), SE.getNoopOrZeroExtend(No, Wide), SE);
}

/// Trip count - 1 from the exit test of `Block`, as if nothing could wrap around.
const SCEV *countIgnoringWrap(Loop *L, BasicBlock *Block, ScalarEvolution &SE, SpeculatedValues &Speculated) {
  auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
  if (!Branch || !Branch->isConditional()) return nullptr;
  return countWhile(L, Branch->getCondition(), L->contains(Branch->getSuccessor(0)), SE, Speculated);
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

const SCEV *backedgesOf(Loop *L, ScalarEvolution &SE, SpeculatedValues &Speculated) {
  if (!L->isLoopSimplifyForm()) return nullptr;
  auto Usable = [&](const SCEV *Count) {
    return !isa<SCEVCouldNotCompute>(Count) && Count->getType()->isIntegerTy() && SE.getTypeSizeInBits(Count->getType()) <= 64;
  };
  // Exact when the latch is the exit.
  const SCEV *Count = L->isLoopExiting(L->getLoopLatch()) ? SE.getExitCount(L, L->getLoopLatch()) : SE.getBackedgeTakenCount(L);
  if (Usable(Count)) return Speculated.rewrite(Count);
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  for (BasicBlock *Block : Exiting)
    if (Count = SE.getExitCount(L, Block); Usable(Count)) return Speculated.rewrite(Count);
  for (BasicBlock *Block : Exiting)
    if (const SCEV *Likely = countIgnoringWrap(L, Block, SE, Speculated); Likely && Usable(Likely)) return Likely;
  return nullptr;
}

const SCEV *tripsOf(const SCEV *Backedges, ScalarEvolution &SE) {
  Type *I64 = Type::getInt64Ty(SE.getContext());
  return SE.getAddExpr(SE.getNoopOrZeroExtend(Backedges, I64), SE.getOne(I64));
}

TripCounts::TripCounts(Function &F, const LoopInfo &LI, ScalarEvolution &SE, SpeculatedValues &Speculated)
    : LI(LI), SE(SE), Speculated(Speculated) {
  for (Instruction &I : instructions(F))
    if (I.getOpcode() == Instruction::UDiv && SE.isSCEVable(I.getType())) Quotients.try_emplace(SE.getSCEV(&I), &I);
}

const SCEV *TripCounts::backedges(Loop *L) {
  const SCEV *Count = backedgesOf(L, SE, Speculated);
  return Count ? definedCount(Count, L) : nullptr;
}

const SCEV *TripCounts::defined(const SCEV *S) { return SafeDivisions(SE, Quotients).visit(S); }

const SCEV *TripCounts::exact(Loop *L) {
  const SCEV *Count = SE.getExitCount(L, L->getLoopLatch());
  return isa<SCEVCouldNotCompute>(Count) ? nullptr : definedCount(Count, L);
}

bool TripCounts::isExact(Loop *L, const SCEV *Backedges) { return Backedges == exact(L); }

/// The count without divisions by zero. Where it takes a division, the bound in the exit test is taken if the program has that
/// anyway.
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
