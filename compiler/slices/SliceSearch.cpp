// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches in slices: construction.

#include "slices/SliceSearch.h"
#include "slices/Operations.h"

#include <algorithm>

using namespace llvm;

namespace pagecast {

bool SliceSearches::concerns(const PHINode *Phi) const {
  const Loop *L = X.LI.getLoopFor(Phi->getParent());
  if (L && L->getHeader() == Phi->getParent()) return X.S.traces(L);
  return X.S.leftBy(Phi) != nullptr;
}

std::optional<Operand> SliceSearches::value(const PHINode *Phi) {
  Loop *L = X.LI.getLoopFor(Phi->getParent());
  if (!L || L->getHeader() != Phi->getParent()) L = X.S.leftBy(Phi);
  if (open(L) < 0) return std::nullopt;
  auto Found = Values.find(Phi);
  return Found == Values.end() ? std::nullopt : std::optional(Found->second);
}

int SliceSearches::open(Loop *L) {
  if (auto Found = NodeOf.find(L); Found != NodeOf.end()) return Found->second;
  int Parent = V.nodeOf(L->getParentLoop());
  // Opening the loop around may have come by here.
  if (auto Found = NodeOf.find(L); Found != NodeOf.end()) return Found->second;
  unsigned Inside = 0;
  for (int N = Parent; N >= 0; N = P.Nodes[N].Parent) Inside += P.Nodes[N].Search;
  if (Parent < 0 || Inside == PAGECAST_MAX_SEARCHES) return NodeOf[L] = -1;
  Operand When = leave(V.predicate(L->getLoopPreheader(), L->getParentLoop()), Parent);
  int Node = P.Nodes.size();
  P.Nodes.push_back({L, Parent, {}, When, {}});
  P.Nodes[Node].Search = true;
  P.Nodes[Node].Depth = std::max(When.Depth, 1u);
  P.Nodes[Node].Zero = V.constant(0);
  NodeOf[L] = Node;
  begin(L, Node);
  if (!end(L, Node)) {
    P.Nodes[Node].Failed = true;
    return NodeOf[L] = -1;
  }
  V.operation(PAGECAST_OP_SEARCH, 64, {}, {}, {}, Node, Parent);
  return Node;
}

/// What it begins with.
void SliceSearches::begin(Loop *L, int Node) {
  for (PHINode &Phi : L->getHeader()->phis()) {
    if (!X.S.computes(&Phi)) continue;
    std::optional<Operand> Start = V.attempt(Phi.getIncomingValueForBlock(L->getLoopPreheader()));
    if (!Start) continue;
    Operand Carried = V.operation(PAGECAST_OP_ADD, widthOf(Phi.getType()), *Start, V.constant(0), {}, 0, P.Nodes[Node].Parent);
    P.Nodes[Node].Depth = std::max(P.Nodes[Node].Depth, Carried.Depth);
    Carried.Node = Node;
    Values[&Phi] = Carried;
  }
}

/// The condition under which the search is left from `From`; null if that is not known.
std::optional<Operand> SliceSearches::leaves(BasicBlock *From, Loop *L) {
  const auto *Branch = dyn_cast<BranchInst>(From->getTerminator());
  if (!Branch || !Branch->isConditional() || X.LI.getLoopFor(From) != L || !X.S.computes(Branch->getCondition()))
    return std::nullopt;
  std::optional<Operand> When = V.attempt(Branch->getCondition());
  if (!When) return std::nullopt;
  const int Node = NodeOf.lookup(L);
  if (L->contains(Branch->getSuccessor(0))) When = V.operation(PAGECAST_OP_EQ, 1, *When, V.constant(0), {}, 0, Node);
  const Operand Comes = V.predicate(From, L);
  return Comes.Is == Operand::Nothing ? leave(*When, Node) : V.operation(PAGECAST_OP_AND, 1, *When, Comes, {}, 0, Node);
}

/// What it leaves in `Phi`: that of the way by which it is left.
std::optional<Operand> SliceSearches::result(const PHINode *Phi, Loop *L) {
  std::optional<Operand> Sum;
  for (unsigned I = 0; I < Phi->getNumIncomingValues(); ++I) {
    if (!X.S.computes(Phi->getIncomingValue(I))) return std::nullopt;
    std::optional<Operand> Value = V.attempt(Phi->getIncomingValue(I));
    if (!Value) return std::nullopt;
    std::optional<Operand> By = Sum ? leaves(Phi->getIncomingBlock(I), L) : std::nullopt;
    if (Sum && !By) return std::nullopt;
    Sum = Sum ? V.operation(PAGECAST_OP_SELECT, widthOf(Phi->getType()), *By, *Value, *Sum, 0, NodeOf.lookup(L)) : *Value;
  }
  return Sum;
}

Operand SliceSearches::leave(Operand Value, int Node) {
  for (;;) {
    const int Search = P.searchOf(Value.Node);
    if (Search < 0 || P.encloses(Search, Node)) return Value;
    Value = after(Value, Search);
  }
}

Operand SliceSearches::after(Operand Value, int Search) {
  LoopNode &Node = P.Nodes[Search];
  for (const Carry &C : Node.Carries)
    if (C.Result && C.From.Is == Value.Is && C.From.Number == Value.Number && C.From.Node == Value.Node)
      return {Operand::Result, C.To, Node.Parent, Node.Depth};
  const unsigned To = P.Ops.size();
  P.Ops.push_back({PAGECAST_OP_CARRY, Node.Depth, 64, 0, {}, {}, {}, {}});
  P.Nodes[Node.Parent].Ops.push_back(To);
  Node.Carries.push_back({To, Value, true});
  return {Operand::Result, To, Node.Parent, Node.Depth};
}

/// What it hands on, when it ends, and what it leaves behind. False if it goes nowhere that is known, or never ends.
bool SliceSearches::end(Loop *L, int Node) {
  for (PHINode &Phi : L->getHeader()->phis()) {
    auto Found = Values.find(&Phi);
    if (Found == Values.end()) continue;
    const Operand Carried = Found->second;
    std::optional<Operand> Next = V.attempt(Phi.getIncomingValueForBlock(L->getLoopLatch()));
    if (!Next) return false;
    // Copied first: what another phi holds may have changed by then.
    Operand Copy = V.operation(PAGECAST_OP_ADD, widthOf(Phi.getType()), *Next, V.constant(0), {}, 0, Node);
    P.Nodes[Node].Carries.push_back({Carried.Number, Copy, false});
  }
  SmallVector<BasicBlock *, 4> Exiting, Exits;
  L->getExitingBlocks(Exiting);
  for (BasicBlock *From : Exiting)
    if (std::optional<Operand> Until = leaves(From, L)) P.Nodes[Node].Until.push_back(*Until);
  L->getUniqueExitBlocks(Exits);
  SmallVector<std::pair<const PHINode *, Operand>, 4> Results;
  for (BasicBlock *Exit : Exits)
    for (PHINode &Phi : Exit->phis())
      if (X.S.leftBy(&Phi) == L)
        if (std::optional<Operand> Left = result(&Phi, L)) Results.push_back({&Phi, *Left});
  close(Node);
  for (auto &[Phi, Left] : Results) Values[Phi] = after(Left, Node);
  return !P.Nodes[Node].Until.empty();
}

/// All in it is of one depth: it is run from its beginning in each stage, as far as it gets.
void SliceSearches::close(int Node) {
  unsigned Deepest = P.Nodes[Node].Depth;
  const auto ForEach = [&](auto Callback) {
    for (int N = Node; N < int(P.Nodes.size()); ++N) {
      int Up = N;
      while (Up > Node) Up = P.Nodes[Up].Parent;
      if (Up == Node) Callback(P.Nodes[N]);
    }
  };
  ForEach([&](LoopNode &N) {
    Deepest = std::max(Deepest, N.Depth);
    for (unsigned I : N.Ops) Deepest = std::max(Deepest, P.Ops[I].Depth);
  });
  ForEach([&](LoopNode &N) {
    N.Depth = Deepest;
    N.Closed = true;
    for (unsigned I : N.Ops) P.Ops[I].Depth = Deepest;
  });
}

} // namespace pagecast
