// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control: reading conditions off the dominator tree.

#include "loops/Control.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"

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

/// What the phi is on the ways from `From`, which all ways come from, through `Successor`: nothing where none leads there, null
/// where they differ.
static std::optional<Value *> valueBy(const PHINode *Phi, const BasicBlock *From, const BasicBlock *Successor,
                                      const DominatorTree &DT) {
  constexpr unsigned Most = 64;
  const BasicBlock *Here = Phi->getParent();
  if (Successor == Here) return Phi->getIncomingValueForBlock(From);
  std::optional<Value *> Found;
  SmallPtrSet<const BasicBlock *, 16> Seen{From, Here};
  SmallVector<const BasicBlock *, 8> Open{Successor};
  while (!Open.empty()) {
    const BasicBlock *Block = Open.pop_back_val();
    if (!DT.dominates(From, Block) || !Seen.insert(Block).second) continue;
    if (int I = Phi->getBasicBlockIndex(Block); I >= 0) {
      if (Found && *Found != Phi->getIncomingValue(I)) return nullptr;
      Found = Phi->getIncomingValue(I);
    }
    if (Seen.size() > Most) return nullptr;
    append_range(Open, successors(Block));
  }
  return Found;
}

std::optional<Choice> choiceOf(const PHINode *Phi, const DominatorTree &DT) {
  constexpr unsigned MostCases = 8;
  const DomTreeNode *Above = DT.getNode(Phi->getParent()) ? DT.getNode(Phi->getParent())->getIDom() : nullptr;
  if (!Above) return std::nullopt;
  const BasicBlock *From = Above->getBlock();
  Choice C{};
  bool All = true;
  auto Add = [&](ConstantInt *Case, const BasicBlock *Successor) {
    std::optional<Value *> V = valueBy(Phi, From, Successor, DT);
    if (!V) return;
    All &= *V != nullptr;
    if (C.Otherwise && Case) C.Cases.push_back({Case, *V});
    else C.Otherwise = *V;
  };
  if (const auto *Branch = dyn_cast<BranchInst>(From->getTerminator()); Branch && Branch->isConditional()) {
    C.On = Branch->getCondition();
    Add(nullptr, Branch->getSuccessor(1));
    Add(ConstantInt::getTrue(From->getContext()), Branch->getSuccessor(0));
  } else if (const auto *Switch = dyn_cast<SwitchInst>(From->getTerminator()); Switch && Switch->getNumCases() <= MostCases) {
    C.On = Switch->getCondition();
    Add(nullptr, Switch->getDefaultDest());
    for (const auto &Case : Switch->cases()) Add(const_cast<ConstantInt *>(Case.getCaseValue()), Case.getCaseSuccessor());
  }
  return All && C.Otherwise ? std::optional(C) : std::nullopt;
}

} // namespace pagecast
