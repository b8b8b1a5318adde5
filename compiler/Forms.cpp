// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms: recognition.

#include "Forms.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace pagecast {
namespace {

/// The group that the index load belongs to, and where in it the load reads.
bool findIndex(const Nest &N, LoadInst *Load, ScalarEvolution &SE, Form &F) {
  for (unsigned I = 0; I < N.Groups.size(); ++I) {
    const Group &G = N.Groups[I];
    if (G.indirect() || !is_contained(G.Members, Load))
      continue;
    std::optional<AffineForm> Address = affineForm(SE.getSCEV(Load->getPointerOperand()), N.Loops, SE);
    if (!Address || Address->Stride != G.Form.Stride || Address->Base->getType() != G.Form.Base->getType())
      return false;
    const SCEV *Distance = SE.getMinusSCEV(Address->Base, G.Form.Base);
    std::optional<int64_t> Offset =
        isa<SCEVCouldNotCompute>(Distance) ? std::nullopt : constantOf(Distance);
    if (!Offset)
      return false;
    F.IndexGroup = I;
    F.IndexOffset = *Offset;
    return true;
  }
  return false;
}

bool match(const Nest &N, unsigned Number, ScalarEvolution &SE, Form &F) {
  const Group &G = N.Groups[Number];
  if (G.Tree.Index.size() != 1)
    return false;
  LoadInst *Load = G.Tree.Index.front();
  const SCEV *S = SE.getMinusSCEV(SE.getSCEV(G.Tree.Address), G.Tree.Target);
  if (isa<SCEVCouldNotCompute>(S))
    return false;
  F = {Number, 0, 0, true, 0, 1, 0};
  if (const auto *Sum = dyn_cast<SCEVAddExpr>(S); Sum && Sum->getNumOperands() == 2)
    if (std::optional<int64_t> Offset = constantOf(Sum->getOperand(0))) {
      F.Offset = *Offset;
      S = Sum->getOperand(1);
    }
  if (const auto *Product = dyn_cast<SCEVMulExpr>(S); Product && Product->getNumOperands() == 2)
    if (std::optional<int64_t> Scale = constantOf(Product->getOperand(0))) {
      F.Scale = *Scale;
      S = Product->getOperand(1);
    }
  if (const auto *Extension = dyn_cast<SCEVIntegralCastExpr>(S); Extension && !isa<SCEVTruncateExpr>(S)) {
    F.IsSigned = isa<SCEVSignExtendExpr>(S);
    S = Extension->getOperand();
  }
  const auto *Value = dyn_cast<SCEVUnknown>(S);
  if (!Value || Value->getValue() != Load || !Load->getType()->isIntegerTy())
    return false;
  unsigned Bits = Load->getType()->getIntegerBitWidth();
  if (Bits != 8 && Bits != 16 && Bits != 32 && Bits != 64)
    return false;
  F.Width = Bits / 8;
  return findIndex(N, Load, SE, F);
}

} // namespace

SmallVector<Form, 4> formsOf(const Nest &N, ScalarEvolution &SE) {
  SmallVector<Form, 4> Forms;
  for (unsigned I = 0; I < N.Groups.size(); ++I) {
    if (!N.Groups[I].indirect())
      continue;
    Form F;
    if (!match(N, I, SE, F))
      return {};
    Forms.push_back(F);
  }
  return Forms;
}

} // namespace pagecast
