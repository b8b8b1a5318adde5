// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Affine forms: taking recurrences apart, one loop at a time.

#include "loops/Affine.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>

using namespace llvm;

namespace pagecast {
namespace {

/// A counter of so few bits is the rest of another one, which comes round again and again: t & 1, t % 4.
constexpr unsigned MostRestBits = 7;
/// An access that is at most so many bytes away from its place is as good as there.
constexpr uint64_t MostAround = 4096;

// Works on the type of the expression at hand: strides are widened to i64 only at the end, so that
// an extension can be applied to each part of what it extends. No stride leads to where rests do: they are taken
// to stay what they are at first, if that is near enough.
class Decomposer {
public:
  Decomposer(ArrayRef<Loop *> Loops, ScalarEvolution &SE) : Loops(Loops), SE(SE) {}

  std::optional<AffineForm> run(const SCEV *S) {
    std::optional<AffineForm> Form = visit(S);
    if (!Form) return std::nullopt;
    if (Form->Around > MostAround) return fail(AffineFailure::NonAffine);
    Type *I64 = Type::getInt64Ty(SE.getContext());
    for (const SCEV *&Stride : Form->Stride) Stride = SE.getTruncateOrSignExtend(Stride, I64);
    return Form;
  }

  AffineFailure Why = AffineFailure::None;

private:
  ArrayRef<Loop *> Loops;
  ScalarEvolution &SE;

  std::nullopt_t fail(AffineFailure Reason) {
    Why = Reason;
    return std::nullopt;
  }

  AffineForm constant(const SCEV *S) {
    const SCEV *Zero = SE.getZero(SE.getEffectiveSCEVType(S->getType()));
    AffineForm Form;
    Form.Base = S;
    Form.Stride.assign(Loops.size(), Zero);
    return Form;
  }

  std::optional<AffineForm> visit(const SCEV *S) {
    if (isa<SCEVCouldNotCompute>(S)) return fail(AffineFailure::NonAffine);
    if (SE.isLoopInvariant(S, Loops.front())) return constant(S);
    switch (S->getSCEVType()) {
    case scAddRecExpr: return recurrence(cast<SCEVAddRecExpr>(S));
    case scAddExpr: return sum(cast<SCEVAddExpr>(S));
    case scMulExpr: return product(cast<SCEVMulExpr>(S));
    case scZeroExtend:
    case scSignExtend:
    case scTruncate:
    case scPtrToInt: return extension(cast<SCEVCastExpr>(S));
    default: return fail(AffineFailure::NonAffine);
    }
  }

  std::optional<AffineForm> recurrence(const SCEVAddRecExpr *S) {
    const auto *Level = find(Loops, S->getLoop());
    if (Level == Loops.end() || !S->isAffine()) return fail(AffineFailure::NonAffine);
    const SCEV *Step = S->getStepRecurrence(SE);
    if (!SE.isLoopInvariant(Step, Loops.front())) return fail(AffineFailure::VariantStride);
    std::optional<AffineForm> Form = visit(S->getStart());
    if (!Form) return std::nullopt;
    const SCEV *&Stride = Form->Stride[Level - Loops.begin()];
    Stride = SE.getAddExpr(Stride, Step);
    return Form;
  }

  std::optional<AffineForm> sum(const SCEVAddExpr *S) {
    std::optional<AffineForm> Total;
    for (const SCEV *Operand : S->operands()) {
      std::optional<AffineForm> Part = visit(Operand);
      if (!Part) return std::nullopt;
      if (!Total) {
        Total = std::move(Part);
        continue;
      }
      Total->Base = SE.getAddExpr(Total->Base, Part->Base);
      Total->Around = SaturatingAdd(Total->Around, Part->Around);
      for (unsigned K = 0; K < Loops.size(); ++K) Total->Stride[K] = SE.getAddExpr(Total->Stride[K], Part->Stride[K]);
    }
    return Total;
  }

  std::optional<AffineForm> product(const SCEVMulExpr *S) {
    const SCEV *Varying = nullptr;
    SmallVector<const SCEV *, 4> Invariant;
    for (const SCEV *Operand : S->operands()) {
      if (SE.isLoopInvariant(Operand, Loops.front())) Invariant.push_back(Operand);
      else if (Varying) return fail(AffineFailure::NonAffine); // a product of induction variables
      else Varying = Operand;
    }
    std::optional<AffineForm> Form = visit(Varying);
    if (!Form) return std::nullopt;
    const SCEV *Factor = Invariant.empty() ? SE.getOne(S->getType()) : SE.getMulExpr(Invariant);
    Form->Base = SE.getMulExpr(Form->Base, Factor);
    const std::optional<int64_t> Times = constantOf(Factor);
    if (Form->Around) Form->Around = Times ? SaturatingMultiply<uint64_t>(Form->Around, std::abs(*Times)) : UINT64_MAX;
    for (const SCEV *&Stride : Form->Stride) Stride = SE.getMulExpr(Stride, Factor);
    return Form;
  }

  /// Whether it moves, but not in the innermost loop: there, the address has no other form, and the loops around have it.
  bool movesOutside(const AffineForm &Form) { return !Form.invariant() && Form.Stride.back()->isZero(); }

  // A wrapping narrow counter is rare, and a hint after it wraps is merely wasted. Strides are
  // signed whatever the extension: a loop counting down in an unsigned type has stride -1.
  std::optional<AffineForm> extension(const SCEVCastExpr *S) {
    std::optional<AffineForm> Form = visit(S->getOperand());
    if (!Form) return std::nullopt;
    Type *To = S->getType();
    switch (S->getSCEVType()) {
    case scZeroExtend: Form->Base = SE.getZeroExtendExpr(Form->Base, To); break;
    case scSignExtend: Form->Base = SE.getSignExtendExpr(Form->Base, To); break;
    case scTruncate: Form->Base = SE.getTruncateExpr(Form->Base, To); break;
    default:
      Form->Base = SE.getPtrToIntExpr(Form->Base, To);
      if (isa<SCEVCouldNotCompute>(Form->Base)) return fail(AffineFailure::NonAffine);
      break;
    }
    const uint64_t Bits = SE.getTypeSizeInBits(S->getOperand()->getType());
    const bool Rest = Bits <= MostRestBits && SE.getTypeSizeInBits(To) > Bits && movesOutside(*Form);
    if (Rest) Form->Around = (1u << Bits) - 1;
    for (const SCEV *&Stride : Form->Stride) Stride = Rest ? SE.getZero(To) : SE.getTruncateOrSignExtend(Stride, To);
    return Form;
  }
};

} // namespace

std::optional<AffineForm> affineForm(const SCEV *S, ArrayRef<Loop *> Loops, ScalarEvolution &SE, AffineFailure *Why) {
  Decomposer D(Loops, SE);
  std::optional<AffineForm> Form = D.run(S);
  if (Why) *Why = D.Why;
  return Form;
}

std::optional<int64_t> constantOf(const SCEV *S) {
  const auto *C = dyn_cast<SCEVConstant>(S);
  if (!C || C->getAPInt().getSignificantBits() > 64) return std::nullopt;
  return C->getAPInt().getSExtValue();
}

std::optional<int64_t> constantDifference(const SCEV *From, const SCEV *To, ScalarEvolution &SE) {
  if (From->getType() != To->getType()) return std::nullopt;
  const SCEV *Difference = SE.getMinusSCEV(To, From);
  return isa<SCEVCouldNotCompute>(Difference) ? std::nullopt : constantOf(Difference);
}

bool movesBySymbol(const SCEV *S, const Loop *L) {
  const auto *Walk = dyn_cast<SCEVAddRecExpr>(S);
  return Walk && Walk->getLoop() == L && !isa<SCEVConstant>(Walk->getOperand(1));
}

bool hasLoaded(const SCEV *S, const Loop *L) {
  return SCEVExprContains(S, [&](const SCEV *Part) {
    const auto *Unknown = dyn_cast<SCEVUnknown>(Part);
    const auto *Load = Unknown ? dyn_cast<LoadInst>(Unknown->getValue()) : nullptr;
    return Load && L->contains(Load);
  });
}

} // namespace pagecast
