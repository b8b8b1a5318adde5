// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments: taking expressions apart.

#include "Arguments.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/GlobalVariable.h"

using namespace llvm;

namespace pagecast {

const SCEV *tripsOf(const SCEV *Backedges, ScalarEvolution &SE) {
  Type *I64 = Type::getInt64Ty(SE.getContext());
  return SE.getAddExpr(SE.getNoopOrZeroExtend(Backedges, I64), SE.getOne(I64));
}

Arguments::Arguments(const Nest &N, const Slice &S, ScalarEvolution &SE) : SE(SE) {
  const SCEV *Zero = SE.getZero(Type::getInt64Ty(SE.getContext()));
  for (const SCEV *Count : N.Backedges)
    add(tripsOf(Count, SE));
  for (const Group &G : N.Groups) {
    add(G.Form.Base);
    for (unsigned K = 0; K < N.Loops.size(); ++K)
      add(G.indirect() ? Zero : G.Form.Stride[K]);
  }
  for (const LiveValue &V : S.Live) {
    if (V.Expression)
      add(V.Expression);
    else
      Words.push_back({ConstantInt::get(Type::getInt64Ty(SE.getContext()), 0), 1, pass(V)});
  }
}

uint32_t Arguments::pass(LiveValue V) {
  for (uint32_t I = 0; I < Dynamic.size(); ++I)
    if (Dynamic[I].Expression == V.Expression && Dynamic[I].Direct == V.Direct)
      return I;
  Dynamic.push_back(V);
  return Dynamic.size() - 1;
}

// Narrow expressions wrap at their own width: they are passed whole.
void Arguments::add(const SCEV *S) {
  Type *I64 = Type::getInt64Ty(SE.getContext());
  uint64_t Known = 0;
  int32_t Scale = 1;
  if (SE.getTypeSizeInBits(S->getType()) == 64) {
    if (const auto *Sum = dyn_cast<SCEVAddExpr>(S))
      if (std::optional<int64_t> First = constantOf(Sum->getOperand(0))) {
        Known = uint64_t(*First);
        SmallVector<const SCEV *, 4> Rest(drop_begin(Sum->operands()));
        S = SE.getAddExpr(Rest);
      }
    if (const auto *Product = dyn_cast<SCEVMulExpr>(S))
      if (std::optional<int64_t> Factor = constantOf(Product->getOperand(0)); Factor && isInt<32>(*Factor)) {
        Scale = int32_t(*Factor);
        SmallVector<const SCEV *, 4> Rest(drop_begin(Product->operands()));
        S = SE.getMulExpr(Rest);
      }
  }
  if (const auto *Whole = dyn_cast<SCEVConstant>(S)) {
    uint64_t Value = Whole->getAPInt().getZExtValue();
    Words.push_back({ConstantInt::get(I64, Known + uint64_t(int64_t(Scale)) * Value), 0, 0});
    return;
  }
  if (const auto *Unknown = dyn_cast<SCEVUnknown>(S); Unknown && Scale == 1)
    if (auto *G = dyn_cast<GlobalVariable>(Unknown->getValue());
        G && !G->isThreadLocal() && !G->hasDLLImportStorageClass()) {
      Constant *Address = ConstantExpr::getPtrToInt(G, I64);
      Words.push_back({ConstantExpr::getAdd(Address, ConstantInt::get(I64, Known)), 0, 0});
      return;
    }
  Words.push_back({ConstantInt::get(I64, Known), Scale, pass({S, nullptr})});
}

Constant *Arguments::table(LLVMContext &C) const {
  Type *I32 = Type::getInt32Ty(C);
  SmallVector<Constant *, 16> Entries;
  for (const Word &W : Words) {
    Constant *Fields[] = {W.Known, ConstantInt::getSigned(I32, W.Scale), ConstantInt::get(I32, W.From)};
    Entries.push_back(ConstantStruct::getAnon(Fields));
  }
  return ConstantArray::get(ArrayType::get(Entries.front()->getType(), Entries.size()), Entries);
}

} // namespace pagecast
