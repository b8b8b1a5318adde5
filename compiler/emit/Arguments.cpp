// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments: taking expressions apart.

#include "emit/Arguments.h"
#include "slices/Operations.h"
#include "loops/TripCounts.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

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
  SmallVector<const SCEV *, 32> Wanted;
  for (const SCEV *Count : N.Backedges) Wanted.push_back(tripsOf(Count, SE));
  for (const Group &G : N.Groups) {
    Wanted.push_back(G.Form.Base);
    for (unsigned K = 0; K < N.Loops.size(); ++K) Wanted.push_back(G.indirect() ? Zero : G.Form.Stride[K]);
  }
  append_range(Wanted, N.Code.Live);
  if (Anyway.empty()) choose(Wanted, N);
  for (const SCEV *S : Wanted) add(S);
}

void Arguments::choose(ArrayRef<const SCEV *> Wanted, const Nest &N) {
  const ArrayRef<const SCEV *> Trips = Wanted.take_front(N.Backedges.size());
  for (const SCEV *Count : Trips) Chosen.want(Count);
  for (const SCEV *S : Wanted.drop_front(Trips.size())) Chosen.want(partsOf(S).Rest);
  Chosen.choose(Trips.drop_back(N.Beside)); // the gate has no use for those of loops beside
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

Arguments::Register Arguments::polynomial(const PassedWords::Polynomial &P) {
  const unsigned Width = 64;
  auto Append = [&](unsigned Code, Register A, Register B) {
    Operations.push_back({Code, Width, 0, A, B});
    return Register{Register::Result, unsigned(Operations.size() - 1)};
  };
  auto Number = [&](int64_t N) { return constant(ConstantInt::getSigned(Type::getInt64Ty(SE.getContext()), N)); };
  const Register Of = compute(P.Of);
  Register Factor = Number(P.Linear); // constant + of * (linear + of * square)
  if (P.Square) {
    Factor = Append(PAGECAST_OP_MUL, Number(P.Square), Of);
    if (P.Linear) Factor = Append(PAGECAST_OP_ADD, Factor, Number(P.Linear));
  }
  const Register Product = P.Square || P.Linear != 1 ? Append(PAGECAST_OP_MUL, Factor, Of) : Of;
  return P.Constant ? Append(PAGECAST_OP_ADD, Product, Number(P.Constant)) : Product;
}

Arguments::Register Arguments::compute(const SCEV *S) {
  constexpr unsigned MostOperations = 160;
  Type *I64 = Type::getInt64Ty(SE.getContext());
  if (auto Found = Computed.find(S); Found != Computed.end()) return Found->second;
  Register R;
  auto *Unknown = dyn_cast<SCEVUnknown>(S);
  if (const auto *Whole = dyn_cast<SCEVConstant>(S)) R = constant(ConstantInt::get(I64, Whole->getAPInt().getZExtValue()));
  else if (Unknown && isKnownToTables(S)) R = constant(ConstantExpr::getPtrToInt(cast<Constant>(Unknown->getValue()), I64));
  else if (std::optional<PassedWords::Polynomial> P = Chosen.byAnother(S)) R = polynomial(*P);
  else if (!Chosen.isWhole(S) && Operations.size() < MostOperations && (operationOf(S->getSCEVType()) || isa<SCEVCastExpr>(S)))
    R = operate(S);
  else R = pass(S);
  Computed[S] = R;
  return R;
}

// Narrow expressions wrap at their own width: they are passed whole.
Arguments::Parts Arguments::partsOf(const SCEV *S) const {
  Parts P{0, 1, S};
  if (SE.getTypeSizeInBits(S->getType()) != 64 || Chosen.isWhole(S)) return P;
  if (const auto *Sum = dyn_cast<SCEVAddExpr>(P.Rest))
    if (std::optional<int64_t> First = constantOf(Sum->getOperand(0))) {
      P.Known = uint64_t(*First);
      SmallVector<const SCEV *, 4> Rest(drop_begin(Sum->operands()));
      P.Rest = SE.getAddExpr(Rest);
    }
  if (const auto *Product = dyn_cast<SCEVMulExpr>(P.Rest))
    if (std::optional<int64_t> Factor = constantOf(Product->getOperand(0)); Factor && isInt<32>(*Factor)) {
      P.Scale = int32_t(*Factor);
      SmallVector<const SCEV *, 4> Rest(drop_begin(Product->operands()));
      P.Rest = SE.getMulExpr(Rest);
    }
  return P;
}

void Arguments::add(const SCEV *S) {
  Type *I64 = Type::getInt64Ty(SE.getContext());
  if (auto Found = Computed.find(S); Found != Computed.end() && Found->second.Is == Register::Dynamic)
    return Words.push_back({ConstantInt::get(I64, 0), 1, Found->second});
  const Parts P = partsOf(S);
  if (const auto *Whole = dyn_cast<SCEVConstant>(P.Rest)) {
    uint64_t Value = Whole->getAPInt().getZExtValue();
    Words.push_back({ConstantInt::get(I64, P.Known + uint64_t(int64_t(P.Scale)) * Value), 0, {Register::Dynamic, 0}});
  } else if (P.Scale == 1 && isKnownToTables(P.Rest)) {
    Constant *Address = ConstantExpr::getPtrToInt(cast<Constant>(cast<SCEVUnknown>(P.Rest)->getValue()), I64);
    Words.push_back({ConstantExpr::getAdd(Address, ConstantInt::get(I64, P.Known)), 0, {Register::Dynamic, 0}});
  } else {
    Words.push_back({ConstantInt::get(I64, P.Known), P.Scale, compute(P.Rest)});
  }
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
