// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "prepare/OuterLoop.h"
#include "loops/Majors.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace pagecast {

OuterLoop::OuterLoop(Loop *L, StringRef Name)
    : L(L), Name("." + Name.str()), Preheader(L->getLoopPreheader()), Header(L->getHeader()), Latch(L->getLoopLatch()) {
  Start = BasicBlock::Create(Header->getContext(), Header->getName() + this->Name, Header->getParent(), Header);
  IRBuilder<> B(Start);
  B.SetCurrentDebugLocation(Latch->getTerminator()->getDebugLoc());
  B.CreateBr(Header);
  Preheader->getTerminator()->replaceSuccessorWith(Header, Start);
}

void OuterLoop::thread(BasicBlock *Ends, BasicBlock *Back) {
  End = Ends;
  for (PHINode &Phi : Header->phis()) {
    Value *Next = closed(Phi.getIncomingValueForBlock(Latch));
    int Entry = Phi.getBasicBlockIndex(Preheader);
    PHINode *Resumed = phiBehindOthers(Phi.getType(), 2, Phi.getName() + ".resume", Start);
    Resumed->setDebugLoc(Phi.getDebugLoc());
    Resumed->addIncoming(Phi.getIncomingValue(Entry), Preheader);
    Resumed->addIncoming(Next, Back);
    Phi.setIncomingValue(Entry, Resumed);
    Phi.setIncomingBlock(Entry, Start);
  }
}

Value *OuterLoop::closed(Value *V) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !L->contains(I)) return V;
  PHINode *&Phi = Closed[V];
  if (!Phi) {
    Phi = phiBehindOthers(V->getType(), 1, V->getName() + Name, End);
    Phi->addIncoming(V, Latch);
    Phi->setDebugLoc(I->getDebugLoc());
  }
  return Phi;
}

Loop *OuterLoop::finish(ArrayRef<BasicBlock *> Others, LoopInfo &LI, DominatorTree &DT) {
  Loop *Outer = LI.AllocateLoop();
  if (Loop *Parent = L->getParentLoop()) Parent->replaceChildLoopWith(L, Outer);
  else LI.changeTopLevelLoop(L, Outer);
  Outer->addChildLoop(L);
  Outer->addBasicBlockToLoop(Start, LI);
  for (BasicBlock *Block : L->blocks()) Outer->addBlockEntry(Block);
  for (BasicBlock *Block : Others) Outer->addBasicBlockToLoop(Block, LI);
  // An exit block that the latch shared with an early exit is now shared by both loops.
  formDedicatedExitBlocks(L, &DT, &LI, nullptr, /*PreserveLCSSA=*/true);
  formDedicatedExitBlocks(Outer, &DT, &LI, nullptr, /*PreserveLCSSA=*/true);
  return Outer;
}

} // namespace pagecast
