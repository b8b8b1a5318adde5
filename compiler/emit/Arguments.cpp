// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments: taking expressions apart.

#include "emit/Arguments.h"
#include "slices/Operations.h"
#include "loops/TripCounts.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/GlobalVariable.h"

using namespace llvm;

namespace pagecast {

Arguments::Arguments(const Nest &N, ScalarEvolution &SE, ArrayRef<Value *> Anyway) : SE(SE) {
  for (Value *V : Anyway) {
    const Register Passed{Register::Dynamic, unsigned(Dynamic.size())};
    Dynamic.push_back(SE.getSCEV(V));
    Computed.try_emplace(Dynamic.back(), Passed);
    Computed.try_emplace(SE.getUnknown(V), Passed); // bounds may be known as that
  }
  const SCEV *Zero = SE.getZero(Type::getInt64Ty(SE.getContext()));
  for (const SCEV *Count : N.Backedges) add(tripsOf(Count, SE));
  for (const Group &G : N.Groups) {
    add(G.Form.Base);
    for (unsigned K = 0; K < N.Loops.size(); ++K) add(G.indirect() ? Zero : G.Form.Stride[K]);
  }
  for (const SCEV *S : N.Code.Live) add(S);
}

Arguments::Register Arguments::pass(const SCEV *S) {
  const auto *Found = find(Dynamic, S);
  unsigned Number = Found - Dynamic.begin();
  if (Found == Dynamic.end()) Dynamic.push_back(S);
  return {Register::Dynamic, Number};
}

Arguments::Register Arguments::constant(Constant *C) {
  const auto *Found = find(Constants, C);
  unsigned Number = Found - Constants.begin();
  if (Found == Constants.end()) Constants.push_back(C);
  return {Register::Constant, Number};
}

uint32_t Arguments::number(Register R) const {
  switch (R.Is) {
  case Register::Dynamic: return R.Number;
  case Register::Constant: return Dynamic.size() + R.Number;
  case Register::Result: return Dynamic.size() + Constants.size() + R.Number;
  }
  return 0;
}

SmallVector<pagecast_op, 16> Arguments::prologue() const {
  SmallVector<pagecast_op, 16> Ops;
  for (unsigned I = 0; I < Operations.size(); ++I) {
    const Operation &O = Operations[I];
    Ops.push_back({uint8_t(O.Code), 1, uint8_t(O.Width), 0, uint16_t(number({Register::Result, I})), uint16_t(number(O.A)),
                   uint16_t(number(O.B)), PAGECAST_NONE, O.Extra});
  }
  return Ops;
}

Arguments::Register Arguments::operate(const SCEV *S) {
  unsigned Width = SE.getTypeSizeInBits(S->getType());
  auto Append = [&](Operation O) {
    Operations.push_back(O);
    return Register{Register::Result, unsigned(Operations.size() - 1)};
  };
  if (isa<SCEVZeroExtendExpr, SCEVPtrToIntExpr>(S)) return compute(S->operands()[0]);
  if (isa<SCEVTruncateExpr, SCEVSignExtendExpr>(S)) {
    Register From = compute(S->operands()[0]);
    unsigned Bits = SE.getTypeSizeInBits(S->operands()[0]->getType());
    return Append({isa<SCEVTruncateExpr>(S) ? unsigned(PAGECAST_OP_TRUNC) : unsigned(PAGECAST_OP_SEXT), Width, Bits, From, From});
  }
  Register Sum = compute(S->operands()[0]);
  for (const SCEV *Part : drop_begin(S->operands())) {
    Register Next = compute(Part);
    Sum = Append({*operationOf(S->getSCEVType()), Width, 0, Sum, Next});
  }
  return Sum;
}

Arguments::Register Arguments::compute(const SCEV *S) {
  constexpr unsigned MostOperations = 160;
  Type *I64 = Type::getInt64Ty(SE.getContext());
  if (auto Found = Computed.find(S); Found != Computed.end()) return Found->second;
  Register R;
  if (const auto *Whole = dyn_cast<SCEVConstant>(S)) R = constant(ConstantInt::get(I64, Whole->getAPInt().getZExtValue()));
  else if (auto *Unknown = dyn_cast<SCEVUnknown>(S); Unknown && isa<GlobalVariable>(Unknown->getValue()) &&
                                                     !cast<GlobalVariable>(Unknown->getValue())->isThreadLocal() &&
                                                     !cast<GlobalVariable>(Unknown->getValue())->hasDLLImportStorageClass())
    R = constant(ConstantExpr::getPtrToInt(cast<Constant>(Unknown->getValue()), I64));
  else if (Operations.size() < MostOperations && (operationOf(S->getSCEVType()) || isa<SCEVCastExpr>(S))) R = operate(S);
  else R = pass(S);
  Computed[S] = R;
  return R;
}

// Narrow expressions wrap at their own width: they are passed whole.
void Arguments::add(const SCEV *S) {
  Type *I64 = Type::getInt64Ty(SE.getContext());
  if (auto Found = Computed.find(S); Found != Computed.end() && Found->second.Is == Register::Dynamic)
    return Words.push_back({ConstantInt::get(I64, 0), 1, Found->second});
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
    Words.push_back({ConstantInt::get(I64, Known + uint64_t(int64_t(Scale)) * Value), 0, {Register::Dynamic, 0}});
    return;
  }
  if (const auto *Unknown = dyn_cast<SCEVUnknown>(S); Unknown && Scale == 1)
    if (auto *G = dyn_cast<GlobalVariable>(Unknown->getValue()); G && !G->isThreadLocal() && !G->hasDLLImportStorageClass()) {
      Constant *Address = ConstantExpr::getPtrToInt(G, I64);
      Words.push_back({ConstantExpr::getAdd(Address, ConstantInt::get(I64, Known)), 0, {Register::Dynamic, 0}});
      return;
    }
  Words.push_back({ConstantInt::get(I64, Known), Scale, compute(S)});
}

Constant *Arguments::table(LLVMContext &C) const {
  Type *I32 = Type::getInt32Ty(C);
  SmallVector<Constant *, 16> Entries;
  for (const Word &W : Words) {
    Constant *Fields[] = {W.Known, ConstantInt::getSigned(I32, W.Scale), ConstantInt::get(I32, number(W.From))};
    Entries.push_back(ConstantStruct::getAnon(Fields));
  }
  return ConstantArray::get(ArrayType::get(Entries.front()->getType(), Entries.size()), Entries);
}

} // namespace pagecast
