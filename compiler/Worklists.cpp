// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worklists: finding them, and the loop of rounds.

#include "Worklists.h"
#include "Affine.h"
#include "Assumed.h"
#include "OuterLoop.h"
#include "TripCounts.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <cstdlib>
#include <optional>

using namespace llvm;

namespace pagecast {
namespace {

/// Iterations of a round. A list that needs more room moves, and is looked for anew in the next one; so it does only where
/// functions are called.
constexpr uint64_t MostInRound = 1 << 16, MostBesideCalls = 1 << 13;

/// The test that a worklist ends with, and how it goes towards it.
struct ListTest {
  Value *Moving; ///< goes by `Step` an iteration
  Value *Bound;  ///< changes in the loop
  int64_t Step;
  bool Inclusive; ///< the loop goes on where both are equal
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

/// Whether there are hints to be had: the loop goes over an array, and from there to other places.
bool leadsOn(const Loop *L, ScalarEvolution &SE) {
  bool Over = false, On = false;
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

std::optional<ListTest> listTest(Loop *L, ScalarEvolution &SE) {
  if (!L->isLoopSimplifyForm() || !L->isLoopExiting(L->getLoopLatch())) return std::nullopt;
  const ICmpInst *Compare = L->getLatchCmpInst();
  if (!Compare || !isa<SCEVCouldNotCompute>(SE.getExitCount(L, L->getLoopLatch()))) return std::nullopt;
  for (unsigned Side = 0; Side < 2; ++Side) {
    Value *Moving = Compare->getOperand(Side), *Bound = Compare->getOperand(1 - Side);
    if (!SE.isSCEVable(Moving->getType()) || SE.getTypeSizeInBits(Moving->getType()) > 64) return std::nullopt;
    const auto *Walk = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(Moving));
    if (!Walk || Walk->getLoop() != L || !Walk->isAffine() || L->isLoopInvariant(Bound)) continue;
    std::optional<int64_t> Step = constantOf(Walk->getStepRecurrence(SE));
    if (Step && *Step != 0) return ListTest{Moving, Bound, *Step, ICmpInst::isNonStrictPredicate(Compare->getPredicate())};
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
    BasicBlock *Pause = SplitEdge(Latch, Header, &DT, &LI, nullptr, Header->getName() + ".pause");
    OuterLoop Rounds(L, "round");
    BasicBlock *Start = Rounds.start();
    BasicBlock *End =
        BasicBlock::Create(Header->getContext(), Header->getName() + ".round.end", Header->getParent(), Pause->getNextNode());
    Rounds.thread(End, End);
    BranchInst::Create(Start, End)->setDebugLoc(Where);
    // Where the list ends is known at the end of an iteration: the first one is a round by itself.
    PHINode *Count = PHINode::Create(Type::getInt64Ty(Start->getContext()), 2, "round", Start->begin());
    Count->addIncoming(ConstantInt::get(Count->getType(), 1), Before);
    Count->addIncoming(next(Test, Rounds.closed(Test.Moving), Rounds.closed(Test.Bound), End), End);
    pauseAfter(Count, Pause, Start, End, ID);
    DT.applyUpdates({{DominatorTree::Insert, Before, Start},
                     {DominatorTree::Delete, Before, Header},
                     {DominatorTree::Insert, Start, Header},
                     {DominatorTree::Insert, Pause, End},
                     {DominatorTree::Insert, End, Start}});
    Rounds.finish(End, LI, DT);
  }

private:
  Loop *L;
  LoopInfo &LI;
  DominatorTree &DT;
  DebugLoc Where;

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
    Value *Iterations = B.CreateSDiv(Way, B.getInt64(std::abs(Test.Step)));
    Value *AtLeast = B.CreateBinaryIntrinsic(Intrinsic::smax, Iterations, B.getInt64(1));
    return B.CreateBinaryIntrinsic(Intrinsic::smin, AtLeast, B.getInt64(makesCalls() ? MostBesideCalls : MostInRound), nullptr,
                                   "round.next");
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
    if (std::optional<ListTest> Test = listTest(L, SE); Test && leadsOn(L, SE)) Found.push_back({L, *Test});
  if (Found.empty()) return false;
  // Where the bound may be taken to stay, the loop is counted as it is.
  Assumed A(LI, DT, SE);
  A.insert();
  erase_if(Found, [&](const auto &Candidate) { return backedgesOf(Candidate.first, SE, A); });
  A.removeUnused();
  for (auto &[L, Test] : Found) {
    RoundSplitter(L, LI, DT).run(Test);
    SE.forgetAllLoops();
  }
  return !Found.empty();
}

} // namespace pagecast
