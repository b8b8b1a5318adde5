// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices: writing them down. Operations get their register numbers when it is known which nodes became loops and which
// of those are vector loops.

#include "SliceProgram.h"

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
    IterationOf.assign(P.Nodes.size(), PAGECAST_NONE);
    S.Scalars = LiveValues + Outer;
    S.HasLoops = HasLoops[0];
    IterationOf[0] = newRegister(S, 0);
    emitNode(S, 0);
    return S;
  }

private:
  const SliceProgram &P;
  unsigned LiveValues, Outer;
  SmallVector<bool, 64> Wanted;                 ///< of an operation
  SmallVector<bool, 4> Used;                    ///< of a node: something in it or below it is wanted
  SmallVector<bool, 4> HasLoops;                ///< of a node
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
    // Loops are there for what is in them.
    for (unsigned N = P.Nodes.size(); N-- > 1;) {
      const LoopNode &Node = P.Nodes[N];
      Used[N] = HasLoops[N] || any_of(Node.Ops, [&](unsigned I) { return Wanted[I]; });
      if (!Used[N]) continue;
      HasLoops[Node.Parent] = true;
      want(Node.Trips);
      want(Node.When);
    }
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

  uint16_t newRegister(Slice &S, int Node) { return HasLoops[Node] ? S.Scalars++ : PAGECAST_VECTOR + S.Vectors++; }

  pagecast_op encode(unsigned Code, unsigned Depth, unsigned Width, uint16_t To, uint16_t A, uint16_t B, uint16_t C,
                     uint32_t Extra) {
    return {uint8_t(Code), uint8_t(Depth), uint8_t(Width), 0, To, A, B, C, Extra};
  }

  /// Returns the least depth of a touch in it.
  unsigned emitNode(Slice &S, int Number) {
    const LoopNode &Node = P.Nodes[Number];
    unsigned Least = PAGECAST_MAX_DEPTH;
    SmallVector<std::pair<unsigned, Operand>, 4> Carried; // where the PREVIOUS are, and what they hand on
    for (unsigned I : Node.Ops) {
      if (!Wanted[I]) continue;
      const PendingOp &Op = P.Ops[I];
      const bool Previous = Op.Code == PAGECAST_OP_PREVIOUS;
      if (Previous) Carried.push_back({S.Ops.size(), Op.B});
      uint16_t To = PAGECAST_NONE;
      if (Op.Code == PAGECAST_OP_RANGE || Op.Code == PAGECAST_OP_TOUCH) {
        Least = std::min(Least, Op.Depth);
        To = registerOf(Op.Times);
      } else {
        To = RegisterOf[I] = newRegister(S, Number);
      }
      S.Depths = std::max(S.Depths, Op.Depth);
      S.Ops.push_back(encode(Op.Code, Op.Depth, Op.Width, To, registerOf(Op.A), Previous ? 0 : registerOf(Op.B), registerOf(Op.C),
                             Previous ? S.Carried++ : Op.Extra));
    }
    for (const auto &[At, HandedOn] : Carried) S.Ops[At].b = registerOf(HandedOn);
    for (unsigned Child = 1; Child < P.Nodes.size(); ++Child)
      if (P.Nodes[Child].Parent == Number && Used[Child]) Least = std::min(Least, emitLoop(S, Child));
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
