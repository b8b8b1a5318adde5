// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "slices/Carried.h"

using namespace llvm;

namespace pagecast {
namespace {

/// The value behind the phis that take it out of a loop.
Value *inside(Value *V) {
  for (auto *Phi = dyn_cast<PHINode>(V); Phi && Phi->getNumIncomingValues() == 1; Phi = dyn_cast<PHINode>(V))
    V = Phi->getIncomingValue(0);
  return V;
}

/// Calls `Each` for all operations that `V` is computed from, in this iteration and, if `Before`, in those before.
template <class Function> void forEachNeeded(const SliceProgram &P, const Operand &V, bool Before, Function Each) {
  SmallVector<unsigned, 16> Open;
  SmallVector<bool, 64> Seen(P.Ops.size(), false);
  auto Add = [&](const Operand &Part) {
    if (Part.Is != Operand::Result || Seen[Part.Number]) return;
    Seen[Part.Number] = true;
    Open.push_back(Part.Number);
  };
  Add(V);
  while (!Open.empty()) {
    const PendingOp &Op = P.Ops[Open.pop_back_val()];
    Each(Op);
    Add(Op.A);
    if (Before || Op.Code != PAGECAST_OP_PREVIOUS) Add(Op.B);
    Add(Op.C);
    Add(Op.Times);
  }
}

/// Results that are nowhere near the operands.
bool scatters(unsigned Code) {
  switch (Code) {
  case PAGECAST_OP_MUL:
  case PAGECAST_OP_XOR:
  case PAGECAST_OP_SHL:
  case PAGECAST_OP_LSHR:
  case PAGECAST_OP_ASHR:
  case PAGECAST_OP_UDIV:
  case PAGECAST_OP_UREM:
  case PAGECAST_OP_SDIV:
  case PAGECAST_OP_SREM:
  case PAGECAST_OP_FMUL:
  case PAGECAST_OP_FDIV: return true;
  default: return false;
  }
}

} // namespace

CarriedStart startOf(PHINode *Phi, const Loop *Root, const LoopInfo &LI) {
  Loop *L = LI.getLoopFor(Phi->getParent());
  Value *Next = Phi->getIncomingValueForBlock(L->getLoopLatch());
  CarriedStart S{Phi->getIncomingValueForBlock(L->getLoopPreheader()), {L}};
  while (L != Root) {
    L = L->getParentLoop();
    auto *Outer = dyn_cast<PHINode>(S.First);
    if (!Outer || !L || Outer->getParent() != L->getHeader()) break;
    if (inside(Outer->getIncomingValueForBlock(L->getLoopLatch())) != Next) break;
    S.First = Outer->getIncomingValueForBlock(L->getLoopPreheader());
    S.Of.push_back(L);
  }
  return S;
}

unsigned neededFor(const SliceProgram &P, unsigned Operation) {
  unsigned Count = 0;
  forEachNeeded(P, {Operand::Result, Operation}, true, [&](const PendingOp &) { ++Count; });
  return Count;
}

bool needsCarried(const SliceProgram &P, const Operand &V) {
  bool Needs = false;
  forEachNeeded(P, V, false, [&](const PendingOp &Op) { Needs |= Op.Code == PAGECAST_OP_PREVIOUS; });
  return Needs;
}

bool carriesApart(ArrayRef<pagecast_op> Ops) {
  auto Is = [](unsigned Code) { return [=](const pagecast_op &Op) { return Op.code == Code; }; };
  unsigned Open = 0;
  for (unsigned I = 0; I < Ops.size(); ++I) {
    Open += Ops[I].code == PAGECAST_OP_SEARCH;
    Open -= Ops[I].code == PAGECAST_OP_FOUND;
    if (Ops[I].code != PAGECAST_OP_PREVIOUS) continue;
    auto Computes = [&](const pagecast_op &Op) {
      return (Op.code <= PAGECAST_OP_LOAD || Op.code == PAGECAST_OP_PREVIOUS || Op.code == PAGECAST_OP_CARRY) &&
             Op.to == Ops[I].b;
    };
    const auto *At = find_if(Ops, Computes);
    if (Open || At == Ops.end() || any_of(make_range(At + 1, Ops.end()), Computes)) return false;
    if (At > &Ops[I] && any_of(make_range(&Ops[I], At), Is(PAGECAST_OP_SEARCH))) return false;
  }
  return true;
}

bool walks(const SliceProgram &P, const Operand &V) {
  bool Walks = false;
  forEachNeeded(P, V, true, [&](const PendingOp &Op) {
    if (Op.Code != PAGECAST_OP_PREVIOUS) return;
    bool Scattered = false;
    forEachNeeded(P, Op.B, true, [&](const PendingOp &Part) {
      Scattered |= scatters(Part.Code) && (needsCarried(P, Part.A) || needsCarried(P, Part.B));
    });
    Walks |= !Scattered;
  });
  return Walks;
}

} // namespace pagecast
