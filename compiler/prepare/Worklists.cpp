// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worklists: finding them, and the loop of rounds.

#include "prepare/Worklists.h"
#include "loops/Majors.h"
#include "loops/Affine.h"
#include "loops/SpeculatedValues.h"
#include "loops/ChunkedList.h"
#include "prepare/OuterLoop.h"
#include "loops/TripCounts.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <cstdlib>
#include <optional>

using namespace llvm;

namespace pagecast {
namespace {

/// Iterations of a round. A list that needs more space moves, or the table of its chunks does, and is looked for anew in the next
/// one; so it does only where functions are called.
constexpr uint64_t MostInRound = 1 << 16, MostBesideCalls = 1 << 13;

/// The test that a worklist ends with, and how it goes towards it.
struct ListTest {
  Value *Moving; ///< goes by `Step` an iteration; null of a list in chunks
  Value *Bound; ///< changes in the loop; of a list in chunks, where it is kept
  int64_t Step;
  bool Inclusive; ///< the loop goes on where both are equal
  std::optional<ChunkedListWalk> Chunks;
  BasicBlock *Counted = nullptr; ///< where a loop over chunks ends that can be counted
};

/// Whether `S` depends on what is loaded here and there in `L`: not only on where the program keeps a base.
bool leadsTo(const SCEV *S, const Loop *L) {
  return SCEVExprContains(S, [&](const SCEV *Part) {
    const auto *Unknown = dyn_cast<SCEVUnknown>(Part);
    const auto *Load = Unknown ? dyn_cast<LoadInst>(Unknown->getValue()) : nullptr;
    return Load && L->contains(Load) && !L->isLoopInvariant(Load->getPointerOperand());
  });
}

/// Whether `S` goes on evenly with the iterations of `L`, or round and round: in a ring, q[head++ & mask].
bool walks(const SCEV *S, const Loop *L, ScalarEvolution &SE) {
  return SCEVExprContains(S, [&](const SCEV *Part) {
    if (const auto *Walk = dyn_cast<SCEVAddRecExpr>(Part)) return Walk->getLoop() == L;
    const auto *Unknown = dyn_cast<SCEVUnknown>(Part);
    const auto *I = Unknown ? dyn_cast<BinaryOperator>(Unknown->getValue()) : nullptr;
    if (!I || !L->contains(I) || (I->getOpcode() != Instruction::And && I->getOpcode() != Instruction::URem)) return false;
    return walks(SE.getSCEV(I->getOperand(0)), L, SE) && L->isLoopInvariant(I->getOperand(1));
  });
}

/// Whether there are hints to be had: the loop goes over an array, or chunks, and from there to other places.
bool leadsOn(const Loop *L, const ListTest &Test, ScalarEvolution &SE) {
  bool Over = Test.Chunks.has_value(), On = false;
  for (BasicBlock *Block : L->blocks())
    for (Instruction &I : *Block) {
      // Tokens cannot go through phis, and convergent operations must not see new control flow.
      if (const auto *Call = dyn_cast<CallBase>(&I); I.getType()->isTokenTy() || (Call && Call->isConvergent())) return false;
      Value *Pointer = getLoadStorePointerOperand(&I);
      if (!Pointer) continue;
      const SCEV *Address = SE.getSCEV(Pointer);
      Over |= isa<LoadInst>(I) && walks(Address, L, SE);
      On |= leadsTo(Address, L);
    }
  return Over && On;
}

/// The addresses that stay in `L` of what is loaded for the test that `Block` ends with; and whether `W` is part of that.
SmallVector<Value *, 8> loadedFor(const BasicBlock *Block, const ChunkedListWalk &W, bool &Walks) {
  constexpr unsigned Most = 64;
  SmallSetVector<Value *, 32> Parts;
  SmallVector<Value *, 8> Addresses;
  const auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
  if (Branch && Branch->isConditional()) Parts.insert(Branch->getCondition());
  for (unsigned N = 0; N < Parts.size() && N < Most; ++N) {
    auto *I = dyn_cast<Instruction>(Parts[N]);
    if (!I || (!W.L->contains(I) && !isa<LoadInst>(I))) continue;
    const bool IsWalk = W.Next.contains(I);
    Walks |= IsWalk;
    if (auto *Load = dyn_cast<LoadInst>(I); Load && Load->isSimple() && W.L->isLoopInvariant(Load->getPointerOperand())) {
      Walks |= Load->getPointerOperand() == W.At;
      Addresses.push_back(Load->getPointerOperand());
    } else if (!IsWalk && isa<ICmpInst, BinaryOperator, CastInst, SelectInst>(I)) {
      Parts.insert(I->op_begin(), I->op_end());
    } else if (auto *Phi = dyn_cast<PHINode>(I); Phi && Phi->getParent() == W.L->getHeader()) {
      Parts.insert(Phi->getIncomingValueForBlock(W.L->getLoopLatch()));
    }
  }
  return Addresses;
}

/// The block where `W.L` ends if it can be counted, as where a queue is gone through level by level; null if it cannot.
BasicBlock *countedEnd(const ChunkedListWalk &W, ScalarEvolution &SE) {
  SmallVector<BasicBlock *, 4> Exiting;
  W.L->getExitingBlocks(Exiting);
  for (BasicBlock *Block : Exiting)
    if (!isa<SCEVCouldNotCompute>(SE.getExitCount(W.L, Block))) return Block;
  return nullptr;
}

/// A walk over chunks to where their list ends, which is kept as the walk's own place is. That is compared with it, or the way
/// there is computed. Or one that can be counted, but whose table may move on the way.
std::optional<ListTest> chunkTest(Loop *L, const LoopInfo &LI, const DominatorTree &DT, ScalarEvolution &SE) {
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  Instruction *Where = L->getLoopLatch()->getTerminator(), *Before = L->getLoopPreheader()->getTerminator();
  for (BasicBlock *Block : L->blocks())
    for (Instruction &I : *Block) {
      std::optional<ChunkedListWalk> W = LI.getLoopFor(Block) == L ? chunkedListWalk(&I, L, DT) : std::nullopt;
      if (!W || !canLoadPosition(*W, W->At, Before, DT) || !canLoadPosition(*W, W->At, Where, DT)) continue;
      if (BasicBlock *End = countedEnd(*W, SE)) {
        if (!tableMayMove(*W)) return std::nullopt;
        return ListTest{nullptr, nullptr, W->Step, false, W, End};
      }
      for (const BasicBlock *From : Exiting) {
        bool Walks = false;
        const SmallVector<Value *, 8> Addresses = loadedFor(From, *W, Walks);
        if (!Walks || LI.getLoopFor(From) != L || !DT.dominates(From, L->getLoopLatch())) continue;
        for (Value *End : Addresses)
          if (isEndOf(*W, End, Addresses) && canLoadPosition(*W, End, Where, DT))
            return ListTest{nullptr, End, W->Step, false, W, nullptr};
      }
    }
  return std::nullopt;
}

std::optional<ListTest> listTest(Loop *L, const LoopInfo &LI, const DominatorTree &DT, ScalarEvolution &SE) {
  if (!L->isLoopSimplifyForm()) return std::nullopt;
  if (std::optional<ListTest> Test = chunkTest(L, LI, DT, SE)) return Test;
  if (!L->isLoopExiting(L->getLoopLatch())) return std::nullopt;
  const ICmpInst *Compare = L->getLatchCmpInst();
  if (!Compare || !isa<SCEVCouldNotCompute>(SE.getExitCount(L, L->getLoopLatch()))) return std::nullopt;
  for (unsigned Side = 0; Side < 2; ++Side) {
    Value *Moving = Compare->getOperand(Side), *Bound = Compare->getOperand(1 - Side);
    if (!SE.isSCEVable(Moving->getType()) || SE.getTypeSizeInBits(Moving->getType()) > 64) return std::nullopt;
    const auto *Walk = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(Moving));
    if (!Walk || Walk->getLoop() != L || !Walk->isAffine() || L->isLoopInvariant(Bound)) continue;
    std::optional<int64_t> Step = constantOf(Walk->getStepRecurrence(SE));
    if (Step && *Step != 0)
      return ListTest{Moving, Bound, *Step, ICmpInst::isNonStrictPredicate(Compare->getPredicate()), {}, nullptr};
  }
  return std::nullopt;
}

class RoundSplitter {
public:
  RoundSplitter(Loop *L, LoopInfo &LI, DominatorTree &DT) : L(L), LI(LI), DT(DT) {}

  void run(const ListTest &Test) {
    BasicBlock *Before = L->getLoopPreheader(), *Header = L->getHeader(), *Latch = L->getLoopLatch();
    Where = Latch->getTerminator()->getDebugLoc();
    MDNode *ID = Latch->getTerminator()->getMetadata(LLVMContext::MD_loop);
    Latch->getTerminator()->setMetadata(LLVMContext::MD_loop, nullptr);
    BasicBlock *Check = Test.Chunks ? SplitEdge(Latch, Header, &DT, &LI, nullptr, Header->getName() + ".moved") : nullptr;
    BasicBlock *Pause = SplitEdge(Check ? Check : Latch, Header, &DT, &LI, nullptr, Header->getName() + ".pause");
    OuterLoop Rounds(L, "round");
    BasicBlock *Start = Rounds.start();
    BasicBlock *End =
        BasicBlock::Create(Header->getContext(), Header->getName() + ".round.end", Header->getParent(), Pause->getNextNode());
    Rounds.thread(End, End);
    BranchInst::Create(Start, End)->setDebugLoc(Where);
    // Where the list ends is known at the end of an iteration: the first one is a round by itself.
    PHINode *Count = phiBeforeOthers(Type::getInt64Ty(Start->getContext()), 2, "round", Start);
    Count->addIncoming(ConstantInt::get(Count->getType(), 1), Before);
    Count->addIncoming(
        Test.Chunks ? nextOfChunks(Test, End) : next(Test, Rounds.closed(Test.Moving), Rounds.closed(Test.Bound), End), End);
    pauseAfter(Count, Pause, Start, End, ID);
    DT.applyUpdates({{DominatorTree::Insert, Before, Start},
                     {DominatorTree::Delete, Before, Header},
                     {DominatorTree::Insert, Start, Header},
                     {DominatorTree::Insert, Pause, End},
                     {DominatorTree::Insert, End, Start}});
    if (Check) leaveWhenMoved(*Test.Chunks, Check, Start, End);
    Rounds.finish(End, LI, DT);
    if (Check) PromoteMemToReg({Expected}, DT);
  }

  /// Has the next round of a loop that can be counted be what is left of it, if that is less.
  void countAll(const ListTest &Test, ScalarEvolution &SE) {
    const SCEV *Left = SE.getExitCount(L, Test.Counted);
    Instruction *At = L->getLoopPreheader()->getTerminator();
    SCEVExpander Expander(SE, At->getModule()->getDataLayout(), "round");
    if (isa<SCEVCouldNotCompute>(Left) || !Expander.isSafeToExpandAt(Left, At)) return;
    const SCEV *Last = SE.getUMinExpr(SE.getTruncateOrZeroExtend(Left, I64), SE.getConstant(I64, MostBesideCalls - 1));
    cast<ICmpInst>(cast<BranchInst>(L->getLoopLatch()->getTerminator())->getCondition())
        ->setOperand(1, IRBuilder<>(At).CreateAdd(Expander.expandCodeFor(Last, I64, At), ConstantInt::get(I64, 1), "round"));
    SE.forgetAllLoops();
  }

private:
  Loop *L;
  LoopInfo &LI;
  DominatorTree &DT;
  Type *I64 = Type::getInt64Ty(L->getHeader()->getContext());
  DebugLoc Where;
  AllocaInst *Expected = nullptr; ///< which chunk the walk is in, if the table has not moved since the round began

  bool makesCalls() const {
    return any_of(L->blocks(), [](BasicBlock *Block) {
      return any_of(*Block, [](const Instruction &I) { return isa<CallBase>(I) && !isa<IntrinsicInst>(I); });
    });
  }

  /// How many iterations the next round is: at least one.
  Value *next(const ListTest &Test, Value *At, Value *Bound, BasicBlock *End) {
    IRBuilder<> B(End->getTerminator());
    B.SetCurrentDebugLocation(Where);
    auto Wide = [&](Value *V) {
      return V->getType()->isPointerTy() ? B.CreatePtrToInt(V, B.getInt64Ty()) : B.CreateSExtOrTrunc(V, B.getInt64Ty());
    };
    Value *From = Wide(At), *To = Wide(Bound);
    Value *Way = Test.Step > 0 ? B.CreateSub(To, From) : B.CreateSub(From, To);
    if (Test.Inclusive) Way = B.CreateAdd(Way, B.getInt64(1));
    return within(B.CreateSDiv(Way, B.getInt64(std::abs(Test.Step))), B);
  }

  Value *within(Value *Iterations, IRBuilder<> &B) {
    Value *AtLeast = B.CreateBinaryIntrinsic(Intrinsic::smax, Iterations, B.getInt64(1));
    return B.CreateBinaryIntrinsic(Intrinsic::smin, AtLeast, B.getInt64(makesCalls() ? MostBesideCalls : MostInRound), nullptr,
                                   "round.next");
  }

  /// How many iterations the next round of a walk over a chunked list is.
  Value *nextOfChunks(const ListTest &Test, BasicBlock *End) {
    const ChunkedListWalk &W = *Test.Chunks;
    if (Test.Counted) return ConstantInt::get(I64, MostBesideCalls);
    std::optional<ChunkedListPosition> From = loadPosition(W, W.At, End->getTerminator(), DT);
    std::optional<ChunkedListPosition> To = loadPosition(W, Test.Bound, End->getTerminator(), DT);
    IRBuilder<> B(End->getTerminator());
    B.SetCurrentDebugLocation(Where);
    if (!From || !To) return B.getInt64(1);
    Value *Chunks = B.CreateSub(B.CreatePtrToInt(To->Chunk, B.getInt64Ty()), B.CreatePtrToInt(From->Chunk, B.getInt64Ty()));
    Value *Whole = B.CreateMul(B.CreateAShr(Chunks, 3), B.getInt64(W.Size));
    Value *Way = B.CreateAdd(Whole, B.CreateSub(To->Offset, From->Offset));
    return within(B.CreateFreeze(B.CreateSDiv(Way, B.getInt64(W.Step))), B); // nobody says that the program loads that, too
  }

  /// Ends the round when the table of chunks has moved: what it was told of where its entries are is not so any more.
  void leaveWhenMoved(const ChunkedListWalk &W, BasicBlock *Check, BasicBlock *Start, BasicBlock *End) {
    Type *Pointer = PointerType::get(W.ToNext->getContext(), 0);
    BasicBlock &Entry = Start->getParent()->getEntryBlock();
    Expected = new AllocaInst(Pointer, 0, "round.chunk", &*Entry.getFirstInsertionPt());
    IRBuilder<> B(Start->getTerminator());
    B.SetCurrentDebugLocation(Where);
    B.CreateStore(B.CreateLoad(Pointer, W.Chunk), Expected);
    B.SetInsertPoint(W.ToNext->getNextNode());
    B.CreateStore(B.CreateGEP(B.getInt8Ty(), B.CreateLoad(Pointer, Expected), B.getInt64(8)), Expected);
    BasicBlock *Pause = Check->getSingleSuccessor();
    for (PHINode &Phi : End->phis()) Phi.addIncoming(Phi.getIncomingValueForBlock(Pause), Check);
    B.SetInsertPoint(Check->getTerminator());
    B.CreateCondBr(B.CreateICmpNE(B.CreateLoad(Pointer, Expected), B.CreateLoad(Pointer, W.Chunk)), End, Pause);
    Check->getTerminator()->eraseFromParent();
    DT.insertEdge(Check, End);
  }

  void pauseAfter(Value *Count, BasicBlock *Pause, BasicBlock *Start, BasicBlock *End, MDNode *ID) {
    BasicBlock *Header = L->getHeader();
    IRBuilder<> B(Header, Header->begin());
    B.SetCurrentDebugLocation(Where);
    PHINode *Done = B.CreatePHI(B.getInt64Ty(), 2, "round.done");
    B.SetInsertPoint(Pause->getTerminator());
    Value *Next = B.CreateNUWAdd(Done, B.getInt64(1), "round.so_far");
    Done->addIncoming(B.getInt64(0), Start);
    Done->addIncoming(Next, Pause);
    BranchInst *Branch = B.CreateCondBr(B.CreateICmpEQ(Next, Count), End, Header);
    Branch->setMetadata(LLVMContext::MD_loop, ID);
    Pause->getTerminator()->eraseFromParent();
  }
};

} // namespace

bool splitWorklists(LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE) {
  SmallVector<std::pair<Loop *, ListTest>, 4> Found;
  for (Loop *L : LI.getLoopsInPreorder())
    if (std::optional<ListTest> Test = listTest(L, LI, DT, SE); Test && leadsOn(L, *Test, SE)) Found.push_back({L, *Test});
  if (Found.empty()) return false;
  // Where the bound may be taken to stay, the loop is counted as it is.
  SpeculatedValues Speculated(LI, DT, SE);
  Speculated.insert();
  erase_if(Found,
           [&](const auto &Candidate) { return !Candidate.second.Counted && backedgesOf(Candidate.first, SE, Speculated); });
  Speculated.removeUnused();
  for (auto &[L, Test] : Found) {
    RoundSplitter Rounds(L, LI, DT);
    Rounds.run(Test);
    SE.forgetAllLoops();
    if (Test.Counted) Rounds.countAll(Test, SE);
  }
  return !Found.empty();
}

} // namespace pagecast
