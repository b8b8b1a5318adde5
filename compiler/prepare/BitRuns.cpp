// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs between the multiples of a power of two: the tests, the loop as it was, and the nest.

#include "prepare/BitRuns.h"
#include "prepare/BitParts.h"
#include "prepare/OuterLoop.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace pagecast {
namespace {

/// Iterations: in shorter runs the loop around costs more than shifts and masks do, and a page holds many of them.
constexpr uint64_t LeastRun = 16;
/// Instructions of a loop that is worth having twice.
constexpr unsigned MostSize = 500;

unsigned sizeOf(const Loop *L) {
  unsigned Size = 0;
  for (const BasicBlock *Block : L->blocks()) Size += Block->size();
  return Size;
}

bool goesByOne(PHINode &Phi, const Loop *L) {
  return Phi.getType()->isIntegerTy() &&
         match(Phi.getIncomingValueForBlock(L->getLoopLatch()), m_c_Add(m_Specific(&Phi), m_One()));
}

/// A value of the loop's that is the same whenever it is looked at.
Value *settled(IRBuilder<> &B, Value *V) {
  return isGuaranteedNotToBeUndefOrPoison(V) ? V : B.CreateFreeze(V, V->getName() + ".settled");
}

/// The tests before the loop, and what they are about.
class RunTests {
public:
  RunTests(const BitParts &P, Loop *L, IRBuilder<> &B) : P(P), B(B), T(P.Counter->getType()) {
    First = settled(B, P.Counter->getIncomingValueForBlock(L->getLoopPreheader()));
    Width = settled(B, B.CreateAdd(maskOf(P.Low.front()), number(1), "run.length"));
    Below = B.CreateSub(Width, number(1), "run.mask");
  }

  /// Whether the loop of `Backedges` + 1 = `Trips` iterations goes in runs.
  Value *goesInRuns(Value *Backedges, Value *Trips) {
    check(B.CreateICmpUGE(Width, number(LeastRun)));
    check(isZero(B.CreateAnd(Width, Below)));
    check(isZero(B.CreateAnd(B.CreateOr(First, Trips), Below)));
    check(B.CreateICmpNE(Trips, number(0)));
    for (BinaryOperator *I : P.Low) check(B.CreateICmpEQ(maskOf(I), Below));
    for (BinaryOperator *I : P.High) check(B.CreateICmpEQ(maskOf(I), B.CreateNeg(Width)));
    for (BinaryOperator *I : P.Number) checkNumber(I, Backedges);
    for (const auto &[I, Sum] : P.Joined) checkSum(Sum);
    return All;
  }

  Value *First, *Width;

private:
  const BitParts &P;
  IRBuilder<> &B;
  Type *T;
  Value *Below, *All = nullptr;

  Constant *number(uint64_t N) const { return ConstantInt::get(T, N); }
  Value *isZero(Value *V) { return B.CreateICmpEQ(V, number(0)); }
  /// A test that is poison may come out either way, but does not decide for the others.
  void check(Value *Test) {
    Test = settled(B, Test);
    All = All ? B.CreateAnd(All, Test) : Test;
  }
  Value *maskOf(const BinaryOperator *And) const { return And->getOperand(And->getOperand(0) == P.Counter ? 1 : 0); }

  /// The number goes up by one from run to run: the counter does not come round.
  void checkNumber(const BinaryOperator *I, Value *Backedges) {
    check(B.CreateICmpEQ(B.CreateShl(number(1), I->getOperand(1)), Width));
    Value *Last = B.CreateAdd(First, Backedges);
    if (I->getOpcode() == Instruction::LShr) return check(B.CreateICmpUGE(Last, First));
    check(B.CreateICmpSGE(Backedges, number(0)));
    check(B.CreateICmpSGE(Last, First));
  }

  /// No bit is in two parts. What the high part is a multiple of is a power of two, or 0: then that part is always 0.
  void checkSum(const BitSum &Sum) {
    Value *Unit = Sum.Amount ? B.CreateShl(number(1), Sum.Amount) : Width;
    if (Sum.Left) Unit = B.CreateShl(Unit, number(Sum.Left));
    if (Sum.High && Sum.Low) check(isZero(B.CreateAnd(Unit, Below)));
    if (Sum.Low && Sum.Partner) check(isZero(B.CreateAnd(Sum.Partner, Below)));
    if (Sum.High && Sum.Partner) check(B.CreateICmpULT(Sum.Partner, Unit));
  }
};

/// Makes `L` be run where `Test` holds, and a copy of it where it does not.
void keepAsItWas(Loop *L, Value *Test, LoopInfo &LI, DominatorTree &DT) {
  BasicBlock *Check = L->getLoopPreheader(), *Exit = L->getExitBlock(), *Latch = L->getLoopLatch();
  BasicBlock *Entry = SplitBlock(Check, Check->getTerminator(), &DT, &LI, nullptr, L->getHeader()->getName() + ".runs");
  ValueToValueMapTy Copies;
  SmallVector<BasicBlock *, 8> Blocks;
  Loop *Copy = cloneLoopWithPreheader(Entry, Check, L, Copies, ".whole", &LI, &DT, Blocks);
  remapInstructionsInBlocks(Blocks, Copies);
  for (PHINode &Phi : Exit->phis()) {
    Value *V = Phi.getIncomingValueForBlock(Latch);
    Phi.addIncoming(Copies.count(V) ? static_cast<Value *>(Copies[V]) : V, cast<BasicBlock>(Copies[Latch]));
  }
  ReplaceInstWithInst(Check->getTerminator(), BranchInst::Create(Entry, Copy->getLoopPreheader(), Test));
  DT.changeImmediateDominator(Exit, Check);
  formDedicatedExitBlocks(Copy, &DT, &LI, nullptr, /*PreserveLCSSA=*/true);
  formDedicatedExitBlocks(L, &DT, &LI, nullptr, /*PreserveLCSSA=*/true);
}

class RunSplitter {
public:
  RunSplitter(const BitParts &P, Loop *L)
      : P(P), L(L), T(P.Counter->getType()), Where(L->getLoopLatch()->getTerminator()->getDebugLoc()) {}

  void run(Value *First, Value *Width, Value *Trips, LoopInfo &LI, DominatorTree &DT) {
    BasicBlock *Entry = L->getLoopPreheader(), *Header = L->getHeader(), *Latch = L->getLoopLatch(), *Exit = L->getExitBlock();
    IRBuilder<> B(Entry->getTerminator());
    B.SetCurrentDebugLocation(Where);
    Value *Runs = B.CreateUDiv(Trips, Width, "runs");
    OuterLoop Outer(L, "run");
    BasicBlock *Start = Outer.start();
    BasicBlock *End =
        BasicBlock::Create(Header->getContext(), Header->getName() + ".run.end", Header->getParent(), Latch->getNextNode());
    Outer.thread(End, End);
    B.SetInsertPoint(Start, Start->begin());
    PHINode *Run = B.CreatePHI(T, 2, "run"), *At = B.CreatePHI(T, 2, "run.at");
    B.SetInsertPoint(Start->getTerminator());
    Value *Next = B.CreateAdd(At, Width, "run.next");
    leave(Next, Outer, End, Exit);
    B.SetInsertPoint(End);
    Value *Done = B.CreateAdd(Run, ConstantInt::get(T, 1), "run.done");
    B.CreateCondBr(B.CreateICmpEQ(Done, Runs), Exit, Start);
    Run->addIncoming(ConstantInt::get(T, 0), Entry), Run->addIncoming(Done, End);
    At->addIncoming(First, Entry), At->addIncoming(Next, End);
    startAt(At, Start);
    replaceParts(First, Run, At, Entry, Start);
    DT.applyUpdates({{DominatorTree::Insert, Entry, Start},
                     {DominatorTree::Delete, Entry, Header},
                     {DominatorTree::Insert, Start, Header},
                     {DominatorTree::Insert, Latch, End},
                     {DominatorTree::Delete, Latch, Exit},
                     {DominatorTree::Insert, End, Start},
                     {DominatorTree::Insert, End, Exit}});
    Outer.finish(End, LI, DT);
  }

private:
  const BitParts &P;
  Loop *L;
  Type *T;
  DebugLoc Where;

  /// The loop goes to `End` after a run, and not to its exit.
  void leave(Value *Next, OuterLoop &Outer, BasicBlock *End, BasicBlock *Exit) {
    BasicBlock *Latch = L->getLoopLatch();
    for (PHINode &Phi : Exit->phis()) {
      const int Entry = Phi.getBasicBlockIndex(Latch);
      Phi.setIncomingValue(Entry, Outer.closed(Phi.getIncomingValue(Entry)));
      Phi.setIncomingBlock(Entry, End);
    }
    auto *Branch = cast<BranchInst>(Latch->getTerminator());
    IRBuilder<> B(Branch);
    const bool Leaves = Branch->getSuccessor(0) == Exit;
    Value *Moved = P.Counter->getIncomingValueForBlock(Latch);
    Value *Old = Branch->getCondition();
    Branch->setCondition(Leaves ? B.CreateICmpEQ(Moved, Next) : B.CreateICmpNE(Moved, Next));
    Branch->setSuccessor(Leaves ? 0 : 1, End);
    RecursivelyDeleteTriviallyDeadInstructions(Old);
  }

  /// What the counter is resumed with is known without the loop.
  void startAt(PHINode *At, BasicBlock *Start) {
    auto *Resumed = cast<PHINode>(P.Counter->getIncomingValueForBlock(Start));
    Value *Last = Resumed->getIncomingValue(1);
    Resumed->replaceAllUsesWith(At);
    Resumed->eraseFromParent();
    if (auto *Closed = dyn_cast<PHINode>(Last); Closed && Closed->use_empty()) Closed->eraseFromParent();
  }

  void replaceParts(Value *First, Value *Run, Value *At, BasicBlock *Entry, BasicBlock *Start) {
    IRBuilder<> Before(Entry->getTerminator()), Around(Start->getTerminator());
    Before.SetCurrentDebugLocation(Where), Around.SetCurrentDebugLocation(Where);
    for (BinaryOperator *I : P.Shifted) {
      auto *Number = cast<BinaryOperator>(I->getOperand(0));
      Value *Unit = Before.CreateShl(ConstantInt::get(T, 1), I->getOperand(1), "run.unit");
      replace(I, Around.CreateMul(number(Number, First, Run, Before, Around), Unit));
    }
    for (BinaryOperator *I : P.Number) replace(I, number(I, First, Run, Before, Around));
    for (BinaryOperator *I : P.High) replace(I, At);
    for (BinaryOperator *I : P.Low) replace(I, IRBuilder<>(I).CreateSub(P.Counter, At));
    for (const auto &[I, Sum] : P.Joined) replace(I, IRBuilder<>(I).CreateAdd(I->getOperand(0), I->getOperand(1)));
  }

  static Value *number(const BinaryOperator *I, Value *First, Value *Run, IRBuilder<> &Before, IRBuilder<> &Around) {
    return Around.CreateAdd(Before.CreateBinOp(I->getOpcode(), First, I->getOperand(1), "run.first"), Run);
  }

  static void replace(Instruction *I, Value *V) {
    if (isa<Instruction>(V) && !V->hasName()) V->takeName(I);
    I->replaceAllUsesWith(V);
    I->eraseFromParent();
  }
};

/// The parts of a loop that can go in runs: it is left at its end alone, and it is known before how often it goes round.
std::optional<BitParts> partsOf(Loop *L, DominatorTree &DT, ScalarEvolution &SE) {
  if (!L->isInnermost() || !L->isLoopSimplifyForm() || !L->isLCSSAForm(DT) || !L->isSafeToClone() || !L->getExitBlock())
    return std::nullopt;
  if (L->getExitingBlock() != L->getLoopLatch() || !isa<BranchInst>(L->getLoopLatch()->getTerminator()) || sizeOf(L) > MostSize)
    return std::nullopt;
  const SCEV *Count = SE.getBackedgeTakenCount(L);
  if (isa<SCEVCouldNotCompute>(Count)) return std::nullopt;
  for (PHINode &Phi : L->getHeader()->phis()) {
    if (!goesByOne(Phi, L)) continue;
    std::optional<BitParts> Parts = bitPartsOf(L, &Phi);
    if (Parts && Parts->Counter->getType() == Count->getType()) return Parts;
  }
  return std::nullopt;
}

bool split(Loop *L, const BitParts &Parts, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE) {
  Instruction *Place = L->getLoopPreheader()->getTerminator();
  const SCEV *Count = SE.getBackedgeTakenCount(L);
  SCEVExpander Expander(SE, Place->getModule()->getDataLayout(), "run");
  if (!Expander.isSafeToExpandAt(Count, Place)) return false;
  IRBuilder<> B(Place);
  B.SetCurrentDebugLocation(L->getLoopLatch()->getTerminator()->getDebugLoc());
  Value *Backedges = settled(B, Expander.expandCodeFor(Count, Parts.Counter->getType(), Place));
  Value *Trips = B.CreateAdd(Backedges, ConstantInt::get(Parts.Counter->getType(), 1), "run.trips");
  RunTests Tests(Parts, L, B);
  keepAsItWas(L, Tests.goesInRuns(Backedges, Trips), LI, DT);
  RunSplitter(Parts, L).run(Tests.First, Tests.Width, Trips, LI, DT);
  SE.forgetAllLoops();
  return true;
}

} // namespace

bool splitBitRuns(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE) {
  if (F.hasOptSize()) return false;
  bool Changed = false;
  SmallVector<Loop *, 16> Loops(LI.getLoopsInPreorder());
  for (Loop *L : Loops)
    if (std::optional<BitParts> Parts = partsOf(L, DT, SE)) Changed |= split(L, *Parts, LI, DT, SE);
  return Changed;
}

} // namespace pagecast
