// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control: reading conditions off the dominator tree.

#include "Control.h"

using namespace llvm;

namespace pagecast {

SmallVector<Condition, 4> conditionsOf(const BasicBlock *Block, const Loop *Within, const LoopInfo &LI, const DominatorTree &DT) {
  constexpr unsigned Most = 8;
  SmallVector<Condition, 4> Result;
  for (const DomTreeNode *Node = DT.getNode(Block); Node && Node->getBlock() != Within->getHeader();) {
    Node = Node->getIDom();
    if (!Node || !Within->contains(Node->getBlock()) || Result.size() == Most) break;
    const auto *Branch = dyn_cast<BranchInst>(Node->getBlock()->getTerminator());
    if (!Branch || !Branch->isConditional() || Branch->getSuccessor(0) == Branch->getSuccessor(1) ||
        LI.getLoopFor(Node->getBlock()) != Within)
      continue;
    for (unsigned Side = 0; Side < 2; ++Side)
      if (DT.dominates(BasicBlockEdge(Node->getBlock(), Branch->getSuccessor(Side)), Block))
        Result.push_back({Branch->getCondition(), Side == 0});
  }
  return Result;
}

bool runsEachIteration(const BasicBlock *Block, const LoopInfo &LI, const DominatorTree &DT) {
  const Loop *L = LI.getLoopFor(Block);
  if (DT.dominates(Block, L->getLoopLatch())) return true;
  return any_of(L->getSubLoops(), [&](const Loop *Inner) {
    return DT.dominates(Block, Inner->getHeader()) || Block == Inner->getUniqueExitBlock();
  });
}

std::optional<Merge> mergeOf(const PHINode *Phi, const DominatorTree &DT) {
  const BasicBlock *Here = Phi->getParent();
  const DomTreeNode *Above = DT.getNode(Here) ? DT.getNode(Here)->getIDom() : nullptr;
  if (!Above || Phi->getNumIncomingValues() != 2) return std::nullopt;
  const BasicBlock *From = Above->getBlock();
  const auto *Branch = dyn_cast<BranchInst>(From->getTerminator());
  if (!Branch || !Branch->isConditional() || Branch->getSuccessor(0) == Branch->getSuccessor(1)) return std::nullopt;
  auto Comes = [&](unsigned Incoming, unsigned Side) {
    const BasicBlock *Before = Phi->getIncomingBlock(Incoming), *Successor = Branch->getSuccessor(Side);
    if (Before == From) return Successor == Here;
    return DT.dominates(BasicBlockEdge(From, Successor), Before);
  };
  for (unsigned True = 0; True < 2; ++True)
    if (Comes(True, 0) && Comes(1 - True, 1))
      return Merge{Branch->getCondition(), Phi->getIncomingValue(True), Phi->getIncomingValue(1 - True)};
  return std::nullopt;
}

} // namespace pagecast
