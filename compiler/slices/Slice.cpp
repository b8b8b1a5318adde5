// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices: construction of targets, and of the loops and conditions around them.

#include "slices/Slice.h"
#include "loops/Control.h"
#include "slices/SliceBuilder.h"
#include "loops/TripCounts.h"

#include <algorithm>

using namespace llvm;

namespace pagecast {

/// More operations than this for one reference are not an address computation any more.
constexpr unsigned MostOpsEach = 96;

Refusal SliceBuilder::add(unsigned Group, const SliceTarget &T) {
  Why = Refusal::NonAffine;
  Astray = false;
  if (Loop *L = X.LI.getLoopFor(T.At); X.S.traces(L) && nodeOf(L) < 0) return Refusal::UnknownTripCount;
  std::optional<Operand> Address = value(T.Address);
  if (!Address) return Why;
  Moves = Counted || T.Step;
  Operand Step, Times, When;
  Loop *At = X.LI.getLoopFor(T.At);
  BasicBlock *Block = T.At;
  if (T.Step) {
    std::optional<Operand> S = value(T.Step), N = tripsOf(T.Over);
    if (!S || !N) return Why;
    Step = *S, Times = *N;
    At = T.Over->getParentLoop();
    Block = T.Over->getLoopPreheader();
  }
  if (walks(Program, *Address) || walks(Program, Times)) return Refusal::LoopCarried;
  int Node = nodeOf(At);
  if (Node < 0) return Refusal::UnknownTripCount;
  When = predicate(Block, At);
  PendingOp Op{T.Step ? unsigned(PAGECAST_OP_RANGE) : unsigned(PAGECAST_OP_TOUCH), 0, 64, Group, *Address, Step, When, Times};
  emit(Op, Node);
  if (Astray) return Refusal::LoopCarried;
  if (neededFor(Program, Ops.size() - 1) > MostOpsEach || LiveValues.size() > PAGECAST_MAX_LIVE) return Refusal::SliceTooLarge;
  if (Ops.back().Depth > PAGECAST_MAX_DEPTH) return Refusal::IndirectDepth;
  return Refusal::None;
}

Slice SliceBuilder::finish() {
  Slice S = encodeSlice(Program, LiveValues.size(), X.Chain.size() - 1);
  S.Live = LiveValues;
  S.Index.assign(Index.begin(), Index.end());
  return S;
}

/// The node that an operation stands in: the innermost among its parts, but behind a search where another begins after it.
int SliceBuilder::placeOf(const PendingOp &Op, int Node) const {
  for (const Operand *Part : {&Op.A, &Op.B, &Op.C, &Op.Times}) {
    if (Part->Node < 0 || encloses(Part->Node, Node)) continue;
    const bool Later = X.DT.dominates(Nodes[Node].L->getHeader(), Nodes[Part->Node].L->getHeader());
    if (encloses(Node, Part->Node) || (Program.searchOf(Node) >= 0 && Later)) Node = Part->Node;
  }
  return Node;
}

std::nullopt_t SliceBuilder::refuse(Refusal Reason) {
  Why = Reason;
  return std::nullopt;
}

/// The node of a loop; -1 when its trip count is unknown.
int SliceBuilder::nodeOf(Loop *L) {
  L = X.S.around(L);
  if (X.S.traces(L) && X.Chain.back()->contains(L)) // what is handed on does not wait for searches
    return Carrying.empty() ? Searches.open(L) : -1;
  for (unsigned N = 0; N < Nodes.size(); ++N)
    if (Nodes[N].L == L) return N;
  int Parent = -1;
  Operand Trips, When;
  if (L != X.Chain.back()) {
    Parent = nodeOf(L->getParentLoop());
    std::optional<Operand> Count = Parent < 0 ? std::nullopt : tripsOf(L);
    if (!Count) return -1;
    Trips = Searches.leave(*Count, Parent);
    When = Searches.leave(predicate(L->getLoopPreheader(), L->getParentLoop()), Parent);
    Astray |= !encloses(Trips.Node, Parent) || !encloses(When.Node, Parent);
  }
  Nodes.push_back({L, Parent, Trips, When, {}});
  return Nodes.size() - 1;
}

std::optional<Operand> SliceBuilder::tripsOf(Loop *L) {
  const SCEV *Count = backedgesOf(L, SE, X.Speculated);
  if (!Count) return refuse(Refusal::UnknownTripCount);
  return value(pagecast::tripsOf(Count, SE));
}

Operand SliceBuilder::emit(PendingOp Op, int At) {
  const auto Parts = {&Op.A, &Op.B, &Op.C, &Op.Times};
  for (Operand *Part : Parts)
    if (At >= 0) *Part = Searches.leave(*Part, At);
  const int Node = placeOf(Op, std::max(At, 0));
  for (Operand *Part : Parts) {
    *Part = Searches.leave(*Part, Node);
    Astray |= !encloses(Part->Node, Node);
  }
  unsigned Depth = std::max({Op.A.Depth, Op.B.Depth, Op.C.Depth, Op.Times.Depth});
  if (Op.Code == PAGECAST_OP_TOUCH || Op.Code == PAGECAST_OP_RANGE) // not before its loops are run
    for (int N = Node; N > 0; N = Nodes[N].Parent) Depth = std::max({Depth, Nodes[N].Trips.Depth, Nodes[N].When.Depth});
  const int Search = Program.searchAround(Node);
  if (Search >= 0) {
    Astray |= Nodes[Node].Failed || (Nodes[Search].Closed && Depth > Nodes[Search].Depth);
    Depth = std::max(Depth, Nodes[Search].Depth);
  }
  Op.Depth = std::max(Depth, 1u);
  if (Op.Code == PAGECAST_OP_LOAD && Search < 0) Op.Depth = ++Depth;
  Ops.push_back(Op);
  Nodes[Node].Ops.push_back(Ops.size() - 1);
  return {Operand::Result, unsigned(Ops.size() - 1), Node, Depth};
}

int SliceBuilder::level(int Node) const {
  int Level = 0;
  for (; Node >= 0; Node = Nodes[Node].Parent) ++Level;
  return Level;
}

std::optional<Operand> SliceBuilder::attempt(Value *V) {
  const Refusal Kept = Why;
  const bool Before = std::exchange(Astray, false);
  std::optional<Operand> Result = valueOf(V);
  if (Astray) Result = std::nullopt;
  Why = Kept;
  Astray = Before;
  return Result;
}

std::optional<Operand> SliceBuilder::live(const SCEV *S) {
  S = X.Live(S);
  if (!S) return refuse(Refusal::NonAffine);
  auto *Found = find(LiveValues, S);
  unsigned Number = Found - LiveValues.begin();
  if (Found == LiveValues.end()) LiveValues.push_back(S);
  return Operand{Operand::Live, Number, -1, 0};
}

/// All conditions of the block that can be computed. One that varies only outside the loop costs an operation
/// there.
Operand SliceBuilder::predicate(BasicBlock *Block, Loop *Within) {
  if (auto Found = KnownPredicates.find(Block); Found != KnownPredicates.end()) return Found->second;
  Operand All;
  for (const Condition &C : conditionsOf(Block, Within, X.LI, X.DT)) {
    Refusal Kept = Why;
    std::optional<Operand> V = valueOf(C.When);
    Why = Kept;
    if (!V || V->Depth >= PAGECAST_MAX_DEPTH || needsCarried(Program, *V)) continue;
    Operand Holds = C.Holds ? *V : operation(PAGECAST_OP_EQ, 1, *V, constant(0));
    All = All.Is == Operand::Nothing ? Holds : operation(PAGECAST_OP_AND, 1, All, Holds);
  }
  KnownPredicates[Block] = All;
  return All;
}

Refusal sliceable(const SliceTarget &T, const SliceContext &X, SmallVectorImpl<LoadInst *> &Index, bool &Moves) {
  SliceBuilder B(X);
  Refusal Why = B.add(0, T);
  if (Why == Refusal::None) Index.append(B.index().begin(), B.index().end());
  Moves = B.moves();
  return Why;
}

Slice buildSlice(ArrayRef<std::pair<unsigned, SliceTarget>> Targets, const SliceContext &X, SmallVectorImpl<unsigned> &Left) {
  SmallVector<std::pair<unsigned, SliceTarget>, 8> Taken(Targets);
  for (;;) {
    SliceBuilder B(X);
    const auto *Refused = find_if(Taken, [&](const auto &T) { return B.add(T.first, T.second) != Refusal::None; });
    if (Refused == Taken.end()) {
      if (Taken.empty()) return {};
      Slice S = B.finish();
      if (S.Ops.size() <= PAGECAST_MAX_OPS && S.Scalars <= PAGECAST_MAX_SCALARS && S.Vectors <= PAGECAST_MAX_VECTORS &&
          S.Live.size() <= PAGECAST_MAX_LIVE && S.Carried <= PAGECAST_MAX_CARRIED && carriesApart(S.Ops))
        return S;
      Refused = Taken.end() - 1;
    }
    Left.push_back(Refused->first);
    Taken.erase(Refused);
  }
}

} // namespace pagecast
