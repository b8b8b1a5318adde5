// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices: floating-point numbers. Cells of particles, bins of histograms, coordinates that images and fields are looked up by, keys
// of searches. What scalar evolution knows nothing of is traced from instruction to instruction.

#include "slices/Operations.h"
#include "slices/SliceBuilder.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pagecast {

std::optional<Operand> SliceBuilder::number(Value *V) {
  if (auto *C = dyn_cast<ConstantFP>(V)) return constant(C->getValueAPF().bitcastToAPInt().getZExtValue());
  auto *I = dyn_cast<Instruction>(V);
  if (I && X.Chain.front()->contains(I)) return unknown(I);
  Value *Bits = isa<Constant>(V) ? nullptr : X.Speculated.bits(V);
  return Bits ? value(SE.getUnknown(Bits)) : refuse(Refusal::NonAffine);
}

/// What leads to numbers and from them, but for arithmetic on two.
std::optional<Operand> SliceBuilder::numberInstruction(Instruction *I) {
  if (auto *Compare = dyn_cast<FCmpInst>(I)) return numberCompare(Compare);
  if (auto *Call = dyn_cast<CallBase>(I)) return numberFunction(Call);
  if (!isSliceType(I->getType()) || !isSliceType(I->getOperand(0)->getType())) return refuse(Refusal::NonAffine);
  const unsigned Width = widthOf(I->getType()), From = widthOf(I->getOperand(0)->getType());
  if (I->getOpcode() == Instruction::FNeg) return sign(I->getOperand(0), I, PAGECAST_OP_XOR);
  if (isa<BitCastInst>(I) && Width == From) return valueOf(I->getOperand(0));
  std::optional<unsigned> Cast = floatingCastOf(*I);
  if (!Cast) return refuse(Refusal::NonAffine);
  std::optional<Operand> A = valueOf(I->getOperand(0));
  return A ? std::optional(operation(*Cast, Width, *A, {}, {}, From)) : std::nullopt;
}

/// The sign bit changed (XOR) or taken away (AND).
std::optional<Operand> SliceBuilder::sign(Value *Of, Instruction *I, unsigned Code) {
  std::optional<Operand> A = valueOf(Of);
  if (!A) return std::nullopt;
  const unsigned Width = widthOf(I->getType());
  const uint64_t Sign = 1ull << (Width - 1);
  return operation(Code, Width, *A, constant(Code == PAGECAST_OP_XOR ? Sign : Sign - 1));
}

std::optional<Operand> SliceBuilder::numberCompare(FCmpInst *I) {
  std::optional<FloatingComparison> C = floatingComparisonOf(I->getPredicate());
  if (!C || !isSliceType(I->getOperand(0)->getType())) return refuse(Refusal::NonAffine);
  std::optional<Operand> A = valueOf(I->getOperand(0)), B = A ? valueOf(I->getOperand(1)) : std::nullopt;
  if (!B) return std::nullopt;
  if (C->Swapped) std::swap(A, B);
  Operand Holds = operation(C->Code, widthOf(I->getOperand(0)->getType()), *A, *B);
  return C->Negated ? operation(PAGECAST_OP_EQ, 1, Holds, constant(0)) : Holds;
}

std::optional<Operand> SliceBuilder::numberFunction(CallBase *I) {
  if (I->arg_empty() || !isSliceType(I->getType()) || !isSliceType(I->getArgOperand(0)->getType()))
    return refuse(Refusal::NonAffine);
  Value *First = I->getArgOperand(0);
  const Intrinsic::ID ID = I->getIntrinsicID();
  if (ID == Intrinsic::fabs) return sign(First, I, PAGECAST_OP_AND);
  std::optional<FloatingFunction> F = floatingFunctionOf(*I);
  const bool Fused = ID == Intrinsic::fma || ID == Intrinsic::fmuladd;
  if (!F && !Fused) return refuse(Refusal::NonAffine);
  std::optional<Operand> A = valueOf(First);
  std::optional<Operand> B = A && I->arg_size() > 1 ? valueOf(I->getArgOperand(1)) : A;
  if (!B) return std::nullopt;
  const unsigned From = widthOf(First->getType());
  if (Fused) {
    std::optional<Operand> C = valueOf(I->getArgOperand(2));
    if (!C) return std::nullopt;
    return operation(PAGECAST_OP_FADD, From, operation(PAGECAST_OP_FMUL, From, *A, *B), *C);
  }
  Operand Result = operation(F->Code, From, *A, I->arg_size() > 1 ? *B : Operand{}, {}, F->How);
  return F->ToInteger ? operation(PAGECAST_OP_FTOS, widthOf(I->getType()), Result, {}, {}, From) : Result;
}

} // namespace pagecast
