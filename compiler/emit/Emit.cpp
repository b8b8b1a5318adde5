// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emission: enter, tick and exit.

#include "emit/Emit.h"
#include "loops/Majors.h"
#include "emit/Arguments.h"
#include "emit/RuntimeCalls.h"
#include "prepare/StripMine.h"
#include "emit/Tables.h"
#include "loops/TripCounts.h"
#include "pagecast/abi.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <algorithm>

using namespace llvm;

namespace pagecast {
namespace {

/// What is done for an open nest is taken to be done once in so many times. It is never, in a process in which nothing is
/// paged; but what is taken for rarer gets all the register moves that come up anywhere near it, and is more code.
constexpr uint32_t UsualTimes = 64;

class Emitter {
public:
  Emitter(Function &F, ArrayRef<Nest> Nests, const Transfers &T, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE)
      : F(F), T(T), M(*F.getParent()), C(F.getContext()), LI(LI), DT(DT), SE(SE),
        Updater(DT, DomTreeUpdater::UpdateStrategy::Eager), I64(Type::getInt64Ty(C)), Ptr(PointerType::get(C, 0)),
        Unlikely(MDBuilder(C).createBranchWeights(1, UsualTimes)) {
    for (const Nest &N : Nests) ++Roots[N.root()];
    // The function is in the names, too: it may be inlined later, next to others.
    uint32_t Next = static_cast<uint32_t>(xxHash64(F.getName()));
    for (auto &[Root, Name] : Roots) Name = Name > 1 ? std::max(1u, Next++) : 0;
  }

  void emit(const Nest &N) {
    Where = N.root()->getStartLoc();
    if (emitTransfer(N)) return;
    Value *Large = gate(N);
    if (N.Up) Large = apart(*N.Up, Large, N.root()->getLoopPreheader()->getTerminator());
    SE.forgetTopmostLoop(N.root());
    BasicBlock *Head = N.root()->getLoopPreheader();
    Instruction *At = Head->getTerminator();
    Loop *Ticked = N.Loops[N.Ticked];
    Instruction *Enter = SplitBlockAndInsertIfThen(Large, At, false, Unlikely, &Updater, &LI);
    auto [Granted, Count] = enter(N, Enter);
    Ticket = merge(Head, ConstantPointerNull::get(Ptr), Granted, "ticket");
    if (!N.Strips) tick(Ticked->getLoopLatch()->getTerminator()->getIterator());
    else strip(N, Head, Count);
    if (!N.Closes) exitNest(N.root(), nullptr);
    SE.forgetAllLoops();
  }

  void finish() {
    if (Memory) Memory->setAllocatedType(ArrayType::get(I64, MemoryWords));
    RecursivelyDeleteTriviallyDeadInstructionsPermissive(Dead);
  }

private:
  Function &F;
  const Transfers &T;
  Module &M;
  LLVMContext &C;
  LoopInfo &LI;
  DominatorTree &DT;
  ScalarEvolution &SE;
  DomTreeUpdater Updater;
  Type *I64;
  PointerType *Ptr;
  MDNode *Unlikely;
  AllocaInst *Memory = nullptr; ///< for the words of nests that have many
  uint64_t MemoryWords = 1;
  SmallVector<WeakTrackingVH, 8> Dead;
  MapVector<const Loop *, uint32_t> Roots; ///< outermost loops of nests: the name of each that several have, else 0
  // The nest at hand.
  DebugLoc Where;
  Value *TickedTrips;
  DenseMap<const SCEV *, Value *> Known; ///< trip counts that the gate has computed
  Value *Ticket; ///< null when not opened

  uint32_t root(const Nest &N) const { return Roots.lookup(N.root()); }

  AllocaInst *createAlloca(Type *T, const char *Name) {
    IRBuilder<> B(&F.getEntryBlock(), F.getEntryBlock().getFirstInsertionPt());
    auto *Alloca = B.CreateAlloca(T, nullptr, Name);
    Alloca->setAlignment(Align(8));
    return Alloca;
  }

  Value *expand(SCEVExpander &Expander, const SCEV *S, Instruction *At) {
    return widen(Expander.expandCodeFor(S, S->getType(), At), At);
  }

  Value *widen(Value *V, Instruction *At) {
    IRBuilder<> B(At);
    return V->getType()->isPointerTy() ? B.CreatePtrToInt(V, I64) : B.CreateZExtOrTrunc(V, I64);
  }

  /// Has scalar evolution know the bounds of the nest's loops, as values that need not be computed again.
  void rememberBounds(const Nest &N) {
    for (Loop *L : N.Loops)
      if (const ICmpInst *Compare = L->getLatchCmpInst())
        for (Value *V : Compare->operands())
          if (SE.isSCEVable(V->getType())) SE.getSCEV(V);
  }

  /// Whether the nest may touch enough to be entered.
  Value *gate(const Nest &N) {
    rememberBounds(N);
    Instruction *At = N.root()->getLoopPreheader()->getTerminator();
    SCEVExpander Expander(SE, M.getDataLayout(), "pagecast");
    IRBuilder<> B(At);
    B.SetCurrentDebugLocation(Where);
    Value *Footprint = nullptr; // in iterations: what one of them touches is in the choice of the gate
    Known.clear();
    for (unsigned K = 0; K < N.Loops.size() - N.Beside; ++K) {
      const SCEV *Count = tripsOf(N.Backedges[K], SE);
      Value *Trips = expand(Expander, Count, At);
      Known[Count] = Trips;
      Footprint = Footprint ? B.CreateMul(Footprint, Trips) : Trips;
      if (K == N.Ticked) TickedTrips = Trips;
    }
    // A trip count may be poison where the loop inside would not be reached.
    if (!isa<Constant>(Footprint)) Footprint = B.CreateFreeze(Footprint, "footprint");
    unsigned Size = std::min(Log2_64_Ceil(N.Bytes), PAGECAST_GATES - 1);
    Value *Gate = B.CreateConstInBoundsGEP2_64(gateOf(M)->getValueType(), gateOf(M), 0, Size);
    Value *Large = B.CreateICmpUGE(Footprint, B.CreateAlignedLoad(I64, Gate, Align(8), "gate"), "large");
    for (const Condition &Guard : N.Guards) {
      Value *When = B.CreateFreeze(Guard.When);
      Large = B.CreateAnd(Large, Guard.Holds ? When : B.CreateNot(When), "guarded");
    }
    return Large;
  }

  Value *apart(const Upwards &U, Value *Large, Instruction *At) {
    SCEVExpander Expander(SE, M.getDataLayout(), "pagecast");
    Value *Distance = expand(Expander, U.Distance, At), *Bytes = expand(Expander, U.Bytes, At);
    IRBuilder<> B(At);
    return B.CreateAnd(Large, B.CreateFreeze(B.CreateICmpUGE(Distance, Bytes)), "upwards");
  }

  /// A call that is a nest by itself: what is large is another function's, the call is as it was. False, with nothing done,
  /// if it is no such nest.
  bool emitTransfer(const Nest &N) {
    std::optional<Transfers::Parts> P = N.Loops.size() == 1 ? T.parts(N.root()) : std::nullopt;
    if (!P || !N.Strips) return false;
    BasicBlock *After = N.root()->getExitBlock();
    SmallVector<Value *, 3> Anyway{P->To, P->Bytes};
    if (P->From) Anyway.push_back(P->From);
    Arguments Words(N, SE, Anyway);
    if (Words.dynamic().size() > Anyway.size() || !After || !After->phis().empty()) return false;
    Value *Large = gate(N);
    SE.forgetTopmostLoop(N.root());
    Instruction *At = N.root()->getLoopPreheader()->getTerminator();
    Instruction *Then = SplitBlockAndInsertIfThen(Large, At, false, Unlikely, &Updater, &LI);
    IRBuilder<> B(Then);
    B.SetCurrentDebugLocation(Where);
    B.CreateCall(P->From ? copyFunction(M) : fillFunction(M),
                 {P->To, P->From ? P->From : P->Byte, P->Bytes, nestTable(M, N, root(N), Words)});
    BasicBlock *Body = Then->getSuccessor(0);
    Then->setSuccessor(0, After);
    Updater.applyUpdates({{DominatorTree::Delete, Then->getParent(), Body}, {DominatorTree::Insert, Then->getParent(), After}});
    SE.forgetAllLoops();
    return true;
  }

  /// Everything that only the runtime needs is computed here, off the fast path.
  std::pair<Value *, Value *> enter(const Nest &N, Instruction *At) {
    SCEVExpander Expander(SE, M.getDataLayout(), "pagecast");
    IRBuilder<> B(At);
    B.SetCurrentDebugLocation(Where);
    Arguments Words(N, SE);
    SmallVector<Value *, 6> Passed;
    bool InMemory = Words.dynamic().size() > PAGECAST_REGISTER_WORDS;
    if (InMemory) {
      if (!Memory) Memory = createAlloca(ArrayType::get(I64, 1), "pagecast.words");
      Passed.push_back(Memory);
    }
    unsigned Number = 0;
    for (const SCEV *S : Words.dynamic()) {
      Value *Word = Known.lookup(S);
      if (!Word) Word = expand(Expander, S, At);
      if (InMemory) B.CreateAlignedStore(Word, B.CreateConstInBoundsGEP1_64(I64, Memory, Number++), Align(8));
      else Passed.push_back(Word);
    }
    MemoryWords = std::max<uint64_t>(MemoryWords, Number);
    CallInst *Both = callEnter(B, M, nestTable(M, N, root(N), Words), Passed);
    // What is overwritten may change by this call: no load from before may be moved behind it.
    if (none_of(N.Groups, [](const Group &G) { return G.Flags & PAGECAST_OVERWRITES; }))
      Both->setMemoryEffects(MemoryEffects::inaccessibleOrArgMemOnly());
    return {B.CreateExtractValue(Both, 1, "granted"), B.CreateExtractValue(Both, 0, "count")};
  }

  /// The value in the block after the gate: `Otherwise`, or `Entered` when the runtime was asked.
  Value *merge(BasicBlock *Head, Value *Otherwise, Value *Entered, const char *Name) {
    BasicBlock *Enter = Head->getTerminator()->getSuccessor(0);
    BasicBlock *After = Enter->getSingleSuccessor();
    PHINode *Phi = phiBeforeOthers(Entered->getType(), 2, Name, After);
    Phi->setDebugLoc(Where);
    Phi->addIncoming(Otherwise, Head);
    Phi->addIncoming(Entered, Enter);
    return Phi;
  }

  void strip(const Nest &N, BasicBlock *Head, Value *Count) {
    Loop *Stripped = N.Loops[N.Ticked];
    ExitTest Test = exitTestOf(Stripped, TickedTrips, SE, Dead);
    Value *Limit = firstLimit(Test, Head, Count, Stripped);
    Loop *Whole = stripMine(Stripped, Test, Limit, Ticket, nextFunction(M), Unlikely, LI, DT, Dead);
    // The end of the last strip closes a nest of one loop.
    if (N.Loops.size() == 1) exitNest(Stripped, Whole);
  }

  Value *firstLimit(const ExitTest &Test, BasicBlock *Head, Value *Count, Loop *Stripped) {
    Instruction *Enter = Head->getTerminator()->getSuccessor(0)->getTerminator();
    IRBuilder<> B(Enter);
    B.SetCurrentDebugLocation(Where);
    auto IsKnown = [&](Value *V) { return !isa<Instruction>(V) || DT.dominates(cast<Instruction>(V), Head->getTerminator()); };
    if (IsKnown(Test.Bound) && IsKnown(Test.Entry)) return merge(Head, Test.Bound, Test.firstLimit(B, Count), "limit");
    // The bounds differ from one iteration of the chain to the next, but not the number of iterations.
    Value *Short = B.CreateSub(Count, TickedTrips, "short");
    Value *Missing = merge(Head, B.getInt64(0), Short, "missing");
    B.SetInsertPoint(Stripped->getLoopPreheader()->getTerminator());
    return Test.moved(B, Test.Bound, Missing);
  }

  void tick(BasicBlock::iterator At) {
    IRBuilder<> B(ifOpened(At));
    B.SetCurrentDebugLocation(Where);
    callWithTicket(B, M, "__pagecast_tick", Ticket);
  }

  Instruction *ifOpened(BasicBlock::iterator At) {
    IRBuilder<> B(&*At);
    B.SetCurrentDebugLocation(Where);
    return SplitBlockAndInsertIfThen(B.CreateIsNotNull(Ticket, "opened"), &*At, false, Unlikely, &Updater, &LI);
  }

  /// Closes the nest on the edges that leave `Left`, except those that lead to a loop around it within `Within`.
  void exitNest(Loop *Left, Loop *Within) {
    SmallVector<BasicBlock *, 4> Exits;
    Left->getUniqueExitBlocks(Exits);
    for (BasicBlock *Exit : Exits) {
      // Nothing comes back to this frame from there, unless to unwind it: the runtime finds out.
      if ((Within && Within->contains(Exit)) || isa<UnreachableInst>(Exit->getTerminator())) continue;
      IRBuilder<> B(ifOpened(Exit->getFirstInsertionPt()));
      B.SetCurrentDebugLocation(Where);
      callWithTicket(B, M, "__pagecast_exit", Ticket);
    }
  }
};

} // namespace

void emitHints(Function &F, ArrayRef<Nest> Nests, const Transfers &T, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE) {
  Emitter E(F, Nests, T, LI, DT, SE);
  for (const Nest &N : Nests) E.emit(N);
  E.finish();
}

} // namespace pagecast
