// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strip mining: the transformation.

#include "StripMine.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace pagecast {
namespace {

/// The strip loop must stay a loop around whole strips: no unrolling, no attempt at vectorizing.
MDNode *stripLoopID(LLVMContext &Context) {
  auto Flag = [&](StringRef Name) { return MDNode::get(Context, MDString::get(Context, Name)); };
  Metadata *Operands[] = {nullptr, Flag("llvm.loop.unroll.disable"), Flag("llvm.loop.unroll_and_jam.disable")};
  MDNode *ID = MDNode::getDistinct(Context, Operands);
  ID->replaceOperandWith(0, ID);
  return ID;
}

class StripMiner {
public:
  StripMiner(Loop *L, LoopInfo &LI, DominatorTree &DT) : L(L), LI(LI), DT(DT) {}

  StripLoop run(Value *Last, Value *StripLast, SmallVectorImpl<WeakTrackingVH> &Dead) {
    Preheader = L->getLoopPreheader();
    Header = L->getHeader();
    Latch = L->getLoopLatch();
    Branch = cast<BranchInst>(Latch->getTerminator());
    ExitIndex = Branch->getSuccessor(0) == Header ? 1 : 0;
    Exit = Branch->getSuccessor(ExitIndex);
    createBlocks();
    buildHeader(Last, StripLast);
    threadPhis();
    replaceExitTest(Dead);
    buildLatch(StripLast);
    updateAnalyses();
    return {Outer, StripLatch->getTerminator()};
  }

private:
  Loop *L;
  LoopInfo &LI;
  DominatorTree &DT;
  BasicBlock *Preheader, *Header, *Latch, *Exit;
  BasicBlock *StripHeader, *StripLatch;
  BranchInst *Branch;
  unsigned ExitIndex;
  PHINode *Done;
  Value *Remaining, *Bound;
  Loop *Outer = nullptr;
  DenseMap<Value *, PHINode *> Closed;

  void createBlocks() {
    Function *F = Header->getParent();
    StripHeader = BasicBlock::Create(F->getContext(), Header->getName() + ".strip", F, Header);
    StripLatch = BasicBlock::Create(F->getContext(), Header->getName() + ".strip.latch", F, Latch->getNextNode());
  }

  void buildHeader(Value *Last, Value *StripLast) {
    IRBuilder<> B(StripHeader);
    B.SetCurrentDebugLocation(Branch->getDebugLoc());
    Done = B.CreatePHI(B.getInt64Ty(), 2, "strip.done");
    Done->addIncoming(B.getInt64(0), Preheader);
    Remaining = B.CreateSub(Last, Done, "strip.remaining", /*NUW=*/true);
    Bound = B.CreateBinaryIntrinsic(Intrinsic::umin, Remaining, StripLast, nullptr, "strip.last");
    B.CreateBr(Header);
    Preheader->getTerminator()->replaceSuccessorWith(Header, StripHeader);
  }

  /// What leaves the loop by its latch goes through one phi in the strip latch (LCSSA).
  Value *closed(Value *V) {
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !L->contains(I))
      return V;
    PHINode *&Phi = Closed[V];
    if (!Phi) {
      Phi = PHINode::Create(V->getType(), 1, V->getName() + ".strip", StripLatch);
      Phi->addIncoming(V, Latch);
      Phi->setDebugLoc(I->getDebugLoc());
    }
    return Phi;
  }

  void threadPhis() {
    for (PHINode &Phi : Header->phis()) {
      Value *Next = closed(Phi.getIncomingValueForBlock(Latch));
      int Entry = Phi.getBasicBlockIndex(Preheader);
      PHINode *Resumed = PHINode::Create(Phi.getType(), 2, Phi.getName() + ".resume", Done->getIterator());
      Resumed->setDebugLoc(Phi.getDebugLoc());
      Resumed->addIncoming(Phi.getIncomingValue(Entry), Preheader);
      Resumed->addIncoming(Next, StripLatch);
      Phi.setIncomingValue(Entry, Resumed);
      Phi.setIncomingBlock(Entry, StripHeader);
    }
    for (PHINode &Phi : Exit->phis()) {
      int Entry = Phi.getBasicBlockIndex(Latch);
      Phi.setIncomingValue(Entry, closed(Phi.getIncomingValue(Entry)));
      Phi.setIncomingBlock(Entry, StripLatch);
    }
  }

  // The branch itself stays, and with it the metadata of the loop.
  void replaceExitTest(SmallVectorImpl<WeakTrackingVH> &Dead) {
    IRBuilder<> B(Header, Header->begin());
    B.SetCurrentDebugLocation(Branch->getDebugLoc());
    PHINode *Count = B.CreatePHI(B.getInt64Ty(), 2, "strip.count");
    B.SetInsertPoint(Branch);
    Value *Next = B.CreateAdd(Count, B.getInt64(1), "strip.next", /*NUW=*/true);
    Count->addIncoming(B.getInt64(0), StripHeader);
    Count->addIncoming(Next, Latch);
    Value *Finished = ExitIndex == 0 ? B.CreateICmpEQ(Count, Bound) : B.CreateICmpNE(Count, Bound);
    if (isa<Instruction>(Branch->getCondition()))
      Dead.push_back(Branch->getCondition());
    Branch->setCondition(Finished);
    Branch->setSuccessor(ExitIndex, StripLatch);
  }

  void buildLatch(Value *StripLast) {
    IRBuilder<> B(StripLatch);
    B.SetCurrentDebugLocation(Branch->getDebugLoc());
    // Overflows only in the last round, whose sum is not used.
    Value *Length = B.CreateAdd(StripLast, B.getInt64(1));
    Value *Next = B.CreateAdd(Done, Length, "strip.done.next");
    Done->addIncoming(Next, StripLatch);
    Value *More = B.CreateICmpUGT(Remaining, StripLast, "strip.more");
    BranchInst *Back = B.CreateCondBr(More, StripHeader, Exit);
    Back->setMetadata(LLVMContext::MD_loop, stripLoopID(Back->getContext()));
  }

  void updateAnalyses() {
    DT.applyUpdates({{DominatorTree::Insert, Preheader, StripHeader},
                     {DominatorTree::Delete, Preheader, Header},
                     {DominatorTree::Insert, StripHeader, Header},
                     {DominatorTree::Insert, Latch, StripLatch},
                     {DominatorTree::Delete, Latch, Exit},
                     {DominatorTree::Insert, StripLatch, Exit},
                     {DominatorTree::Insert, StripLatch, StripHeader}});
    Outer = LI.AllocateLoop();
    if (Loop *Parent = L->getParentLoop())
      Parent->replaceChildLoopWith(L, Outer);
    else
      LI.changeTopLevelLoop(L, Outer);
    Outer->addChildLoop(L);
    Outer->addBasicBlockToLoop(StripHeader, LI);
    for (BasicBlock *Block : L->blocks())
      Outer->addBlockEntry(Block);
    Outer->addBasicBlockToLoop(StripLatch, LI);
    // An exit block that the latch shared with an early exit is now shared by both loops.
    formDedicatedExitBlocks(L, &DT, &LI, nullptr, /*PreserveLCSSA=*/true);
    formDedicatedExitBlocks(Outer, &DT, &LI, nullptr, /*PreserveLCSSA=*/true);
  }
};

} // namespace

bool canStripMine(const Loop *L) {
  if (!L->isLoopSimplifyForm())
    return false;
  auto *Branch = dyn_cast<BranchInst>(L->getLoopLatch()->getTerminator());
  if (!Branch || !Branch->isConditional() || !L->isLoopExiting(Branch->getParent()))
    return false;
  // Tokens cannot go through phis, and convergent operations must not see new control flow.
  for (const BasicBlock *Block : L->blocks())
    for (const Instruction &I : *Block) {
      if (I.getType()->isTokenTy())
        return false;
      if (const auto *Call = dyn_cast<CallBase>(&I); Call && Call->isConvergent())
        return false;
    }
  return true;
}

StripLoop stripMine(Loop *L, Value *Last, Value *StripLast, LoopInfo &LI, DominatorTree &DT,
                    SmallVectorImpl<WeakTrackingVH> &Dead) {
  return StripMiner(L, LI, DT).run(Last, StripLast, Dead);
}

} // namespace pagecast
