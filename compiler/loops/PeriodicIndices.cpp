// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Periodic indices: where a counter begins and ends, against what it is compared with or divided by.

#include "loops/PeriodicIndices.h"
#include "loops/Affine.h"
#include "loops/TripCounts.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

#include <cstdlib>
#include <optional>

using namespace llvm;

namespace pagecast {
namespace {

/// Iterations that count as being at an end. A loop of fewer than twice as many has nothing between its ends.
constexpr uint64_t Few = 8;
/// Narrower counters come round themselves.
constexpr uint64_t LeastBits = 32;

/// A counter of a loop of some length, with a constant step.
struct Counter {
  const SCEVAddRecExpr *Walk = nullptr;
  int64_t Step = 0;
  explicit operator bool() const { return Walk; }
};

Counter counter(const SCEV *S, ScalarEvolution &SE) {
  const auto *Walk = dyn_cast<SCEVAddRecExpr>(S);
  if (!Walk || !Walk->isAffine() || !Walk->getType()->isIntegerTy() || SE.getTypeSizeInBits(Walk->getType()) < LeastBits)
    return {};
  const std::optional<int64_t> Step = constantOf(Walk->getStepRecurrence(SE));
  if (!Step || *Step == 0 || fewTrips(const_cast<Loop *>(Walk->getLoop()), 2 * Few, SE)) return {};
  return {Walk, *Step};
}

/// Lengths are not negative: however they were made wider, it is the same. LLVM has both of one length.
class OneWidening : public SCEVRewriteVisitor<OneWidening> {
public:
  explicit OneWidening(ScalarEvolution &SE) : SCEVRewriteVisitor(SE) {}

  const SCEV *visitZeroExtendExpr(const SCEVZeroExtendExpr *S) {
    const SCEV *Number = visit(S->getOperand());
    return SE.getTypeSizeInBits(Number->getType()) < LeastBits ? SE.getZeroExtendExpr(Number, S->getType())
                                                               : SE.getSignExtendExpr(Number, S->getType());
  }
};

/// Whether from `At` to `Place` it is a few steps, either way.
bool isNear(const SCEV *At, const SCEV *Place, const Counter &C, ScalarEvolution &SE) {
  if (!At || !Place) return false;
  OneWidening Alike(SE);
  const std::optional<int64_t> Way = constantDifference(Alike.visit(At), Alike.visit(Place), SE);
  return Way && uint64_t(std::abs(*Way)) / uint64_t(std::abs(C.Step)) <= Few;
}

/// About where the counter is when the loop ends, from a test of another counter, which goes beside it; null if there is none.
const SCEV *lastOf(const Counter &C, ScalarEvolution &SE) {
  const Loop *L = C.Walk->getLoop();
  Type *const T = C.Walk->getType();
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  for (const BasicBlock *Block : Exiting) {
    const auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
    const auto *Test = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
    if (!Test || !Test->getOperand(0)->getType()->isIntegerTy()) continue;
    const SCEV *Walk = SE.getSCEV(Test->getOperand(0)), *Bound = SE.getSCEV(Test->getOperand(1));
    if (!isa<SCEVAddRecExpr>(Walk)) std::swap(Walk, Bound);
    const Counter Beside = counter(Walk, SE);
    if (!Beside || Beside.Walk->getLoop() != L || Beside.Step != C.Step || !SE.isLoopInvariant(Bound, L)) continue;
    const SCEV *Length = SE.getMinusSCEV(Bound, Beside.Walk->getStart());
    return SE.getAddExpr(C.Walk->getStart(), SE.getTruncateOrSignExtend(Length, T));
  }
  return nullptr;
}

/// What the test is in all iterations but a few at the ends, or one between; nothing if it is not known to be either.
std::optional<bool> usually(const ICmpInst *Test, ScalarEvolution &SE) {
  if (!Test->getOperand(0)->getType()->isIntegerTy()) return std::nullopt;
  const SCEV *Walk = SE.getSCEV(Test->getOperand(0)), *Place = SE.getSCEV(Test->getOperand(1));
  CmpInst::Predicate P = Test->getPredicate();
  if (!isa<SCEVAddRecExpr>(Walk)) {
    std::swap(Walk, Place);
    P = CmpInst::getSwappedPredicate(P);
  }
  const Counter C = counter(Walk, SE);
  if (!C || !SE.isLoopInvariant(Place, C.Walk->getLoop())) return std::nullopt;
  if (Test->isEquality()) return P == CmpInst::ICMP_NE;
  const bool AtFirst = isNear(C.Walk->getStart(), Place, C, SE), AtLast = isNear(lastOf(C, SE), Place, C, SE);
  if (AtFirst == AtLast) return std::nullopt;
  const bool Beyond = AtFirst == (C.Step > 0); // the place is below the counter
  return Beyond == (ICmpInst::isGT(P) || ICmpInst::isGE(P));
}

/// The whole part of `Number` / `Divisor` in all iterations but a few at the ends; nothing if it is not known to be the same.
std::optional<int64_t> usualQuotient(const SCEV *Number, const SCEV *Divisor, ScalarEvolution &SE) {
  const Counter C = counter(Number, SE);
  if (!C || Number->getType() != Divisor->getType() || !SE.isLoopInvariant(Divisor, C.Walk->getLoop())) return std::nullopt;
  const SCEV *Least = C.Walk->getStart(), *Most = lastOf(C, SE);
  if (C.Step < 0) std::swap(Least, Most);
  const SCEV *Below = SE.getZero(Divisor->getType());
  for (int64_t Whole = 0; Whole < 2; ++Whole, Below = Divisor)
    if (isNear(Least, Below, C, SE) && isNear(Most, SE.getAddExpr(Below, Divisor), C, SE)) return Whole;
  return std::nullopt;
}

class UsualQuotients : public SCEVRewriteVisitor<UsualQuotients> {
public:
  explicit UsualQuotients(ScalarEvolution &SE) : SCEVRewriteVisitor(SE) {}

  const SCEV *visitUDivExpr(const SCEVUDivExpr *S) {
    const SCEV *Number = visit(S->getLHS()), *Divisor = visit(S->getRHS());
    if (const std::optional<int64_t> Whole = usualQuotient(Number, Divisor, SE))
      return SE.getConstant(S->getType(), uint64_t(*Whole));
    return SE.getUDivExpr(Number, Divisor);
  }
};

/// What LLVM makes of a product of a narrow counter and a constant that becomes wider, a shift to the end of the word and back:
/// as if it were wide from the start. Null for anything else.
const SCEV *widened(const Instruction *Shift, ScalarEvolution &SE) {
  const auto *Bits = Shift->getOpcode() == Instruction::AShr ? dyn_cast<ConstantInt>(Shift->getOperand(1)) : nullptr;
  if (!Bits || !Shift->isExact() || Bits->getValue().uge(63)) return nullptr;
  const auto *Walk = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(Shift->getOperand(0)));
  const std::optional<int64_t> First = Walk && Walk->isAffine() ? constantOf(Walk->getStart()) : std::nullopt;
  const std::optional<int64_t> Step = First ? constantOf(Walk->getStepRecurrence(SE)) : std::nullopt;
  const int64_t Unit = int64_t{1} << Bits->getZExtValue();
  if (!Step || *First % Unit || *Step % Unit) return nullptr;
  auto Number = [&](int64_t Value) { return SE.getConstant(Shift->getType(), uint64_t(Value / Unit), /*isSigned=*/true); };
  return SE.getAddRecExpr(Number(*First), Number(*Step), Walk->getLoop(), SCEV::FlagAnyWrap);
}

} // namespace

/// Pointers are left alone: the other one is another array, which may be the larger one.
const SCEV *usualIndex(Instruction &I, function_ref<const SCEV *(Value *)> Read, ScalarEvolution &SE) {
  if (!I.getType()->isIntegerTy() || !SE.isSCEVable(I.getType()) || !isa<SCEVUnknown>(SE.getSCEV(&I))) return nullptr;
  if (const auto *Choice = dyn_cast<SelectInst>(&I)) {
    const auto *Test = dyn_cast<ICmpInst>(Choice->getCondition());
    const std::optional<bool> Usual = Test ? usually(Test, SE) : std::nullopt;
    return Usual ? Read(I.getOperand(*Usual ? 1 : 2)) : nullptr;
  }
  if (I.getOpcode() != Instruction::SRem) return widened(&I, SE);
  const SCEV *Number = Read(I.getOperand(0)), *Divisor = Read(I.getOperand(1));
  const std::optional<int64_t> Whole = usualQuotient(Number, Divisor, SE);
  return Whole ? SE.getMinusSCEV(Number, SE.getMulExpr(Divisor, SE.getConstant(I.getType(), uint64_t(*Whole)))) : nullptr;
}

const SCEV *withUsualQuotients(const SCEV *S, ScalarEvolution &SE) {
  const bool Divides = SCEVExprContains(S, [](const SCEV *Part) { return isa<SCEVUDivExpr>(Part); });
  return Divides ? UsualQuotients(SE).visit(S) : S;
}

} // namespace pagecast
