// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices: writing them down. Operations get their register numbers when it is known which nodes became loops and which
// of those are vector loops.

#include "slices/SliceProgram.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace pagecast {
namespace {

class Encoder {
public:
  Encoder(const SliceProgram &P, unsigned LiveValues, unsigned Outer) : P(P), LiveValues(LiveValues), Outer(Outer) {}

  Slice run() {
    Slice S;
    findWanted();
    Written.assign(P.Ops.size(), false);
    NodeOf.assign(P.Ops.size(), 0);
    for (unsigned N = 0; N < P.Nodes.size(); ++N)
      for (unsigned I : P.Nodes[N].Ops) NodeOf[I] = N;
    IterationOf.assign(P.Nodes.size(), PAGECAST_NONE);
    S.Scalars = LiveValues + Outer;
    S.HasLoops = HasLoops[0];
    IterationOf[0] = newRegister(S, 0);
    emitNode(S, 0);
    for (const auto &[At, HandedOn] : Carried) S.Ops[At].b = registerOf(HandedOn);
    return S;
  }

private:
  const SliceProgram &P;
  unsigned LiveValues, Outer;
  SmallVector<bool, 64> Wanted;                 ///< of an operation
  SmallVector<bool, 4> Used;                    ///< of a node: something in it or below it is wanted
  SmallVector<bool, 4> HasLoops;                ///< of a node
  SmallVector<int, 64> NodeOf;                  ///< of an operation
  SmallVector<bool, 64> Written;                ///< of an operation
  SmallVector<std::pair<unsigned, Operand>, 4> Carried; ///< where the PREVIOUS are, and what they hand on
  DenseMap<unsigned, uint16_t> RegisterOf;      ///< of the result of an operation
  SmallVector<uint16_t, 4> IterationOf;         ///< of a node

  void want(const Operand &V) {
    if (V.Is != Operand::Result || Wanted[V.Number]) return;
    Wanted[V.Number] = true;
    for (const Operand *Part : {&P.Ops[V.Number].A, &P.Ops[V.Number].B, &P.Ops[V.Number].C, &P.Ops[V.Number].Times}) want(*Part);
  }

  void findWanted() {
    Wanted.assign(P.Ops.size(), false);
    Used.assign(P.Nodes.size(), false);
    HasLoops.assign(P.Nodes.size(), false);
    for (unsigned I = 0; I < P.Ops.size(); ++I)
      if (P.Ops[I].Code == PAGECAST_OP_RANGE || P.Ops[I].Code == PAGECAST_OP_TOUCH) want({Operand::Result, I});
    // Loops are there for what is in them; searches also for what they find.
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (unsigned N = P.Nodes.size(); N-- > 1;) {
        const LoopNode &Node = P.Nodes[N];
        if (Node.Search && Used[N]) Changed |= wantCarried(Node);
        if (Used[N] || !isUsed(N)) continue;
        Changed = Used[N] = true;
        if (!Node.Search) HasLoops[Node.Parent] = true;
        want(Node.Trips);
        want(Node.When);
        for (const Operand &Until : Node.Until) want(Until);
      }
    }
  }

  bool isUsed(unsigned N) const {
    const LoopNode &Node = P.Nodes[N];
    for (unsigned Inner = N + 1; Inner < P.Nodes.size(); ++Inner)
      if (Used[Inner] && P.Nodes[Inner].Parent == int(N)) return true;
    return HasLoops[N] || any_of(Node.Ops, [&](unsigned I) { return Wanted[I]; }) ||
           any_of(Node.Carries, [&](const Carry &C) { return C.Result && Wanted[C.To]; });
  }

  /// What is wanted in the next time round, or after the search. True if that is more than was known.
  bool wantCarried(const LoopNode &Node) {
    const auto Before = count(Wanted, true);
    for (const Carry &C : Node.Carries)
      if (Wanted[C.To]) want(C.From);
    return count(Wanted, true) != Before;
  }

  uint16_t registerOf(const Operand &V) {
    switch (V.Is) {
    case Operand::Nothing: return PAGECAST_NONE;
    case Operand::Live: return V.Number;
    case Operand::Outer: return LiveValues + V.Number;
    case Operand::Iteration: return IterationOf[V.Node];
    case Operand::Result: return RegisterOf.lookup(V.Number);
    }
    return PAGECAST_NONE;
  }

  uint16_t newRegister(Slice &S, int Node) {
    while (P.Nodes[Node].Search) Node = P.Nodes[Node].Parent;
    return HasLoops[Node] ? S.Scalars++ : PAGECAST_VECTOR + S.Vectors++;
  }

  pagecast_op encode(unsigned Code, unsigned Depth, unsigned Width, uint16_t To, uint16_t A, uint16_t B, uint16_t C,
                     uint32_t Extra) {
    return {uint8_t(Code), uint8_t(Depth), uint8_t(Width), 0, To, A, B, C, Extra};
  }

  void emitOperation(Slice &S, unsigned I) {
    const PendingOp &Op = P.Ops[I];
    uint16_t To = PAGECAST_NONE;
    if (Op.Code == PAGECAST_OP_RANGE || Op.Code == PAGECAST_OP_TOUCH) To = registerOf(Op.Times);
    else To = RegisterOf[I] = newRegister(S, NodeOf[I]);
    S.Depths = std::max(S.Depths, Op.Depth);
    const bool Previous = Op.Code == PAGECAST_OP_PREVIOUS;
    if (Previous) Carried.push_back({S.Ops.size(), Op.B});
    S.Ops.push_back(encode(Op.Code, Op.Depth, Op.Width, To, registerOf(Op.A), Previous ? 0 : registerOf(Op.B), registerOf(Op.C),
                           Previous ? S.Carried++ : Op.Extra));
    Written[I] = true;
  }

  /// What something in a search, which is written down before its time, needs of the node around it.
  void emitNeeded(Slice &S, const Operand &V, int Around) {
    if (V.Is != Operand::Result || Written[V.Number] || NodeOf[V.Number] != Around) return;
    const PendingOp &Op = P.Ops[V.Number];
    for (const Operand *Part : {&Op.A, &Op.B, &Op.C, &Op.Times})
      if (Op.Code != PAGECAST_OP_PREVIOUS || Part != &Op.B) emitNeeded(S, *Part, Around); // that is made after it
    emitOperation(S, V.Number);
  }

  /// Whether an operation of a search needs what is not loaded, or found, yet.
  bool waits(const Operand &V, int Node) const {
    if (V.Is != Operand::Result || Written[V.Number] || NodeOf[V.Number] != Node) return false;
    const PendingOp &Op = P.Ops[V.Number];
    return Op.Code == PAGECAST_OP_LOAD || Op.Code == PAGECAST_OP_CARRY || Op.Code == PAGECAST_OP_PREVIOUS || waits(Op.A, Node) ||
           waits(Op.B, Node) || waits(Op.C, Node);
  }

  /// In a search what is touched comes before what is loaded: where a load finds nothing, nothing behind it is done.
  void emitTouches(Slice &S, int Number) {
    for (unsigned I : P.Nodes[Number].Ops) {
      const PendingOp &Op = P.Ops[I];
      if (Op.Code != PAGECAST_OP_TOUCH || Written[I] || waits(Op.A, Number) || waits(Op.C, Number)) continue;
      emitNeeded(S, Op.A, Number);
      emitNeeded(S, Op.C, Number);
      emitOperation(S, I);
    }
  }

  void emitNeededIn(Slice &S, int Search, int Around) {
    const LoopNode &Node = P.Nodes[Search];
    for (unsigned I : Node.Ops)
      if (Wanted[I])
        for (const Operand *Part : {&P.Ops[I].A, &P.Ops[I].B, &P.Ops[I].C, &P.Ops[I].Times}) emitNeeded(S, *Part, Around);
    for (const Carry &C : Node.Carries)
      if (Wanted[C.To]) emitNeeded(S, C.From, Around);
    for (const Operand &Until : Node.Until) emitNeeded(S, Until, Around);
    emitNeeded(S, Node.When, Around);
    for (unsigned N = 1; N < P.Nodes.size(); ++N)
      if (P.Nodes[N].Parent == Search && Used[N]) emitNeededIn(S, N, Around);
  }

  void emitCarries(Slice &S, const LoopNode &Node, bool Results) {
    for (const Carry &C : Node.Carries)
      if (C.Result == Results && Wanted[C.To])
        S.Ops.push_back(encode(PAGECAST_OP_CARRY, Node.Depth, 64, RegisterOf.lookup(C.To), registerOf(C.From), PAGECAST_NONE,
                               PAGECAST_NONE, 0));
  }

  unsigned emitSearch(Slice &S, int Number) {
    const LoopNode &Node = P.Nodes[Number];
    emitNeededIn(S, Number, Node.Parent);
    for (const Carry &C : Node.Carries) // what no search finds is nothing
      if (C.Result && Wanted[C.To]) {
        RegisterOf[C.To] = newRegister(S, Node.Parent);
        Written[C.To] = true;
        S.Ops.push_back(encode(PAGECAST_OP_ADD, Node.Depth, 64, RegisterOf[C.To], registerOf(Node.Zero), registerOf(Node.Zero),
                               PAGECAST_NONE, 0));
      }
    const unsigned Begin = S.Ops.size();
    IterationOf[Number] = newRegister(S, Number);
    S.Ops.push_back(
        encode(PAGECAST_OP_SEARCH, Node.Depth, 64, IterationOf[Number], PAGECAST_NONE, PAGECAST_NONE, registerOf(Node.When), 0));
    emitNode(S, Number);
    emitCarries(S, Node, /*Results=*/true);
    for (const Operand &Until : Node.Until)
      S.Ops.push_back(
          encode(PAGECAST_OP_UNTIL, Node.Depth, 64, PAGECAST_NONE, registerOf(Until), PAGECAST_NONE, PAGECAST_NONE, 0));
    emitCarries(S, Node, /*Results=*/false);
    S.Ops[Begin].extra = S.Ops.size();
    S.Ops.push_back(encode(PAGECAST_OP_FOUND, Node.Depth, 64, PAGECAST_NONE, PAGECAST_NONE, PAGECAST_NONE, PAGECAST_NONE, 0));
    return Node.Depth;
  }

  /// Returns the least depth of a touch in it.
  unsigned emitNode(Slice &S, int Number) {
    const LoopNode &Node = P.Nodes[Number];
    unsigned Least = PAGECAST_MAX_DEPTH;
    for (unsigned I : Node.Ops) {
      const PendingOp &Op = P.Ops[I];
      if (Node.Search && (Op.Code == PAGECAST_OP_SEARCH || Op.Code == PAGECAST_OP_LOAD)) emitTouches(S, Number);
      if (Op.Code == PAGECAST_OP_SEARCH && Used[Op.Extra]) Least = std::min(Least, emitSearch(S, Op.Extra));
      if (!Wanted[I] || Written[I]) continue;
      if (Op.Code == PAGECAST_OP_RANGE || Op.Code == PAGECAST_OP_TOUCH) Least = std::min(Least, Op.Depth);
      emitOperation(S, I);
    }
    for (unsigned Child = 1; Child < P.Nodes.size(); ++Child)
      if (P.Nodes[Child].Parent == Number && Used[Child] && !P.Nodes[Child].Search) Least = std::min(Least, emitLoop(S, Child));
    return Least;
  }

  unsigned emitLoop(Slice &S, int Number) {
    const LoopNode &Node = P.Nodes[Number];
    unsigned Begin = S.Ops.size();
    IterationOf[Number] = newRegister(S, Number);
    S.Ops.push_back(
        encode(PAGECAST_OP_LOOP, 1, 64, IterationOf[Number], registerOf(Node.Trips), PAGECAST_NONE, registerOf(Node.When), 0));
    unsigned Least = emitNode(S, Number);
    unsigned Own = std::max({Node.Trips.Depth, Node.When.Depth, Least, 1u});
    S.Ops[Begin].depth = Own;
    S.Ops[Begin].extra = S.Ops.size();
    S.Ops.push_back(encode(PAGECAST_OP_END, Own, 64, PAGECAST_NONE, PAGECAST_NONE, PAGECAST_NONE, PAGECAST_NONE, 0));
    return Own;
  }
};

} // namespace

Slice encodeSlice(const SliceProgram &P, unsigned LiveValues, unsigned Outer) { return Encoder(P, LiveValues, Outer).run(); }

} // namespace pagecast
