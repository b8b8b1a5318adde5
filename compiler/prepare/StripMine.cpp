// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strip mining: the transformation.

#include "prepare/StripMine.h"
#include "loops/Majors.h"
#include "prepare/OuterLoop.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"

#include <optional>

using namespace llvm;

namespace pagecast {
namespace {

/// The usual number of iterations of a strip: a page of elements. The vectorizer is told so. It then keeps what strips shorter
/// than a vector need, and what is left over behind the vectors, out of the way of the rest.
constexpr uint32_t UsualIterations = 1000;

/// The strip loop must stay a loop around whole strips: no unrolling, no attempt at vectorizing.
MDNode *stripLoopID(LLVMContext &Context) {
  auto Flag = [&](StringRef Name) { return MDNode::get(Context, MDString::get(Context, Name)); };
  Metadata *Operands[] = {nullptr, Flag("llvm.loop.unroll.disable"), Flag("llvm.loop.unroll_and_jam.disable")};
  MDNode *ID = MDNode::getDistinct(Context, Operands);
  ID->replaceOperandWith(0, ID);
  return ID;
}

BranchInst *latchBranch(const Loop *L) { return cast<BranchInst>(L->getLoopLatch()->getTerminator()); }

unsigned exitIndexOf(const Loop *L) { return latchBranch(L)->getSuccessor(0) == L->getHeader() ? 1 : 0; }

/// +1 or -1 when that is how `Phi` moves.
int stepOf(PHINode *Phi, Loop *L, ScalarEvolution &SE) {
  if (!Phi->getType()->isIntegerTy() || Phi->getType()->getIntegerBitWidth() > 64 || !SE.isSCEVable(Phi->getType())) return 0;
  const auto *S = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(Phi));
  if (!S || S->getLoop() != L || !S->isAffine()) return 0;
  const SCEV *Step = S->getStepRecurrence(SE);
  return Step->isOne() ? 1 : Step->isAllOnesValue() ? -1 : 0;
}

/// A comparison with what goes by one an iteration. Unless it is for equality, its bound is replaced.
std::optional<ExitTest> unitTest(Loop *L, Value *Trips, ScalarEvolution &SE) {
  ICmpInst *Compare = L->getLatchCmpInst();
  if (!Compare) return std::nullopt;
  bool Equality = Compare->getPredicate() == (exitIndexOf(L) == 0 ? ICmpInst::ICMP_EQ : ICmpInst::ICMP_NE);
  for (unsigned Side = 0; Side < 2; ++Side) {
    ExitTest T{Compare->getOperand(Side), Compare->getOperand(1 - Side), nullptr, false, false};
    if (!L->isLoopInvariant(T.Bound)) continue;
    for (PHINode &Phi : L->getHeader()->phis()) {
      T.After = Phi.getIncomingValueForBlock(L->getLoopLatch()) == T.Moving;
      if (!T.After && T.Moving != &Phi) continue;
      if (int Step = stepOf(&Phi, L, SE)) {
        T.Entry = Phi.getIncomingValueForBlock(L->getLoopPreheader());
        T.Down = Step < 0;
        if (!Equality) {
          IRBuilder<> B(L->getLoopPreheader()->getTerminator());
          T.Bound = T.firstLimit(B, Trips);
        }
        return T;
      }
    }
  }
  return std::nullopt;
}

/// A counter of iterations. The branch itself stays, and with it the metadata of the loop.
ExitTest addCounter(Loop *L, Value *Trips, SmallVectorImpl<WeakTrackingVH> &Dead) {
  BranchInst *Branch = latchBranch(L);
  IRBuilder<> B(L->getHeader(), L->getHeader()->begin());
  B.SetCurrentDebugLocation(Branch->getDebugLoc());
  PHINode *Count = B.CreatePHI(B.getInt64Ty(), 2, "strip.count");
  B.SetInsertPoint(Branch);
  Value *Next = B.CreateAdd(Count, B.getInt64(1), "strip.next");
  Count->addIncoming(B.getInt64(0), L->getLoopPreheader());
  Count->addIncoming(Next, L->getLoopLatch());
  Value *Old = Branch->getCondition();
  Branch->setCondition(exitIndexOf(L) == 0 ? B.CreateICmpEQ(Next, Trips) : B.CreateICmpNE(Next, Trips));
  if (isa<Instruction>(Old)) Dead.push_back(Old);
  return {Next, Trips, B.getInt64(0), false, true};
}

class StripMiner {
public:
  StripMiner(Loop *L, const ExitTest &Test, LoopInfo &LI, DominatorTree &DT)
      : Test(Test), LI(LI), DT(DT), Preheader(L->getLoopPreheader()), Header(L->getHeader()), Latch(L->getLoopLatch()),
        Branch(latchBranch(L)), ExitIndex(exitIndexOf(L)), Exit(Branch->getSuccessor(ExitIndex)), Strips(L, "strip") {}

  Loop *run(Value *Limit, Value *Ticket, FunctionCallee NextStrip, MDNode *Unlikely, SmallVectorImpl<WeakTrackingVH> &Dead) {
    createBlocks();
    Strips.thread(StripEnd, NextBlock);
    IRBuilder<> B(Strips.start());
    setBehindPhis(B, Strips.start());
    B.SetCurrentDebugLocation(Branch->getDebugLoc());
    LimitPhi = B.CreatePHI(Test.Moving->getType(), 2, "strip.limit");
    LimitPhi->addIncoming(Limit, Preheader);
    threadExit();
    replaceExitTest(Dead);
    buildEnd(Ticket, NextStrip, Unlikely);
    updateTree();
    return Strips.finish({StripEnd, NextBlock}, LI, DT);
  }

private:
  const ExitTest &Test;
  LoopInfo &LI;
  DominatorTree &DT;
  BasicBlock *Preheader, *Header, *Latch;
  BranchInst *Branch;
  unsigned ExitIndex;
  BasicBlock *Exit;
  OuterLoop Strips; // from here on `Preheader` is no longer the loop's
  BasicBlock *StripEnd, *NextBlock;
  PHINode *LimitPhi;

  void createBlocks() {
    Function *F = Header->getParent();
    LLVMContext &C = F->getContext();
    StripEnd = BasicBlock::Create(C, Header->getName() + ".strip.end", F, Latch->getNextNode());
    NextBlock = BasicBlock::Create(C, Header->getName() + ".strip.next", F, StripEnd->getNextNode());
  }

  void threadExit() {
    for (PHINode &Phi : Exit->phis()) {
      int Entry = Phi.getBasicBlockIndex(Latch);
      Value *V = Strips.closed(Phi.getIncomingValue(Entry));
      Phi.setIncomingValue(Entry, V);
      Phi.setIncomingBlock(Entry, StripEnd);
      Phi.addIncoming(V, NextBlock);
    }
  }

  void replaceExitTest(SmallVectorImpl<WeakTrackingVH> &Dead) {
    IRBuilder<> B(Branch);
    Value *Old = Branch->getCondition();
    Branch->setCondition(ExitIndex == 0 ? B.CreateICmpEQ(Test.Moving, LimitPhi) : B.CreateICmpNE(Test.Moving, LimitPhi));
    Dead.push_back(Old);
    Branch->setSuccessor(ExitIndex, StripEnd);
    if (!Branch->getMetadata(LLVMContext::MD_prof)) {
      const uint32_t First = ExitIndex == 0 ? 1 : UsualIterations, Second = ExitIndex == 0 ? UsualIterations : 1;
      Branch->setMetadata(LLVMContext::MD_prof, MDBuilder(Branch->getContext()).createBranchWeights(First, Second));
    }
  }

  void buildEnd(Value *Ticket, FunctionCallee NextStrip, MDNode *Unlikely) {
    Value *At = Strips.closed(Test.Moving);
    IRBuilder<> B(StripEnd);
    B.SetCurrentDebugLocation(Branch->getDebugLoc());
    B.CreateCondBr(B.CreateIsNotNull(Ticket, "opened"), NextBlock, Exit, Unlikely);
    B.SetInsertPoint(NextBlock);
    // Full words are handed over as they are; for others the runtime counts from 0.
    bool Whole = !Test.Down && At->getType()->isIntegerTy(64);
    Value *From = Whole ? At : B.getInt64(0);
    CallInst *Next = B.CreateCall(NextStrip, {From, Whole ? Test.Bound : Test.left(B, At), Ticket}, "strip.next");
    if (auto *Callee = dyn_cast<Function>(NextStrip.getCallee())) Next->setCallingConv(Callee->getCallingConv());
    LimitPhi->addIncoming(Whole ? Next : Test.moved(B, At, Next), NextBlock);
    BranchInst *Back = B.CreateCondBr(B.CreateICmpEQ(Next, From), Exit, Strips.start());
    Back->setMetadata(LLVMContext::MD_loop, stripLoopID(Back->getContext()));
  }

  void updateTree() {
    BasicBlock *StripHeader = Strips.start();
    DT.applyUpdates({{DominatorTree::Insert, Preheader, StripHeader},
                     {DominatorTree::Delete, Preheader, Header},
                     {DominatorTree::Insert, StripHeader, Header},
                     {DominatorTree::Insert, Latch, StripEnd},
                     {DominatorTree::Delete, Latch, Exit},
                     {DominatorTree::Insert, StripEnd, Exit},
                     {DominatorTree::Insert, StripEnd, NextBlock},
                     {DominatorTree::Insert, NextBlock, Exit},
                     {DominatorTree::Insert, NextBlock, StripHeader}});
  }
};

} // namespace

Value *ExitTest::moved(IRBuilder<> &B, Value *From, Value *Count) const {
  Value *Narrow = B.CreateTrunc(Count, From->getType());
  if (auto *C = dyn_cast<ConstantInt>(From); C && C->isZero() && !Down) return Narrow;
  return Down ? B.CreateSub(From, Narrow) : B.CreateAdd(From, Narrow);
}

Value *ExitTest::left(IRBuilder<> &B, Value *At) const {
  return B.CreateZExt(Down ? B.CreateSub(At, Bound) : B.CreateSub(Bound, At), B.getInt64Ty(), "strip.left");
}

Value *ExitTest::firstLimit(IRBuilder<> &B, Value *Count) const {
  return moved(B, Entry, After ? Count : B.CreateSub(Count, B.getInt64(1)));
}

bool canStripMine(Loop *L, ScalarEvolution &SE) {
  if (!L->isLoopSimplifyForm()) return false;
  auto *Branch = dyn_cast<BranchInst>(L->getLoopLatch()->getTerminator());
  if (!Branch || !Branch->isConditional() || !L->isLoopExiting(Branch->getParent())) return false;
  if (isa<SCEVCouldNotCompute>(SE.getExitCount(L, L->getLoopLatch()))) return false;
  // Tokens cannot go through phis, and convergent operations must not see new control flow.
  for (const BasicBlock *Block : L->blocks())
    for (const Instruction &I : *Block) {
      if (I.getType()->isTokenTy()) return false;
      if (const auto *Call = dyn_cast<CallBase>(&I); Call && Call->isConvergent()) return false;
    }
  return true;
}

ExitTest exitTestOf(Loop *L, Value *Trips, ScalarEvolution &SE, SmallVectorImpl<WeakTrackingVH> &Dead) {
  if (std::optional<ExitTest> Found = unitTest(L, Trips, SE)) return *Found;
  return addCounter(L, Trips, Dead);
}

Loop *stripMine(Loop *L, const ExitTest &Test, Value *Limit, Value *Ticket, FunctionCallee Next, MDNode *Unlikely, LoopInfo &LI,
                DominatorTree &DT, SmallVectorImpl<WeakTrackingVH> &Dead) {
  return StripMiner(L, Test, LI, DT).run(Limit, Ticket, Next, Unlikely, Dead);
}

} // namespace pagecast
