// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emission: enter, tick and exit.

#include "Emit.h"
#include "Remarks.h"
#include "Slice.h"
#include "StripMine.h"
#include "Tables.h"
#include "Version.h"
#include "pagecast/abi.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#include <algorithm>

using namespace llvm;

namespace pagecast {
namespace {

// A runtime entry point. It touches its arguments and memory that the program cannot see, so it
// hinders nothing around it; it is weak, so that the program links and runs without the runtime.
FunctionCallee runtimeFunction(Module &M, StringRef Name, FunctionType *T) {
  FunctionCallee Callee = M.getOrInsertFunction(Name, T);
  auto *F = dyn_cast<Function>(Callee.getCallee());
  if (!F || !F->isDeclaration() || F->hasExternalWeakLinkage())
    return Callee;
  F->setLinkage(GlobalValue::ExternalWeakLinkage);
  F->addFnAttr(Attribute::NoUnwind);
  F->addFnAttr(Attribute::Cold);
  F->setMemoryEffects(MemoryEffects::inaccessibleOrArgMemOnly());
  for (Argument &A : F->args())
    F->addParamAttr(A.getArgNo(), Attribute::NoCapture);
  // A ticket belongs to the runtime: no pointer of the program reaches it.
  if (T->getReturnType()->isPointerTy())
    F->addRetAttr(Attribute::NoAlias);
  return Callee;
}

class Emitter {
public:
  Emitter(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE)
      : F(F), M(*F.getParent()), C(F.getContext()), LI(LI), DT(DT), SE(SE),
        Updater(DT, DomTreeUpdater::UpdateStrategy::Eager), Void(Type::getVoidTy(C)), I64(Type::getInt64Ty(C)),
        Ptr(PointerType::get(C, 0)), Unlikely(MDBuilder(C).createBranchWeights(1, 4000)) {
    TicketType = StructType::get(I64, I64, I64);
  }

  void emit(const Nest &N, const Slice &S) {
    Where = N.root()->getStartLoc();
    Value *Large = gate(N);
    if (N.Loops.size() == 1)
      emitLoop(N, S, Large);
    else
      emitChain(N, S, Large);
    SE.forgetAllLoops();
  }

  void finish() {
    if (Arguments)
      Arguments->setAllocatedType(ArrayType::get(I64, ArgumentWords));
    RecursivelyDeleteTriviallyDeadInstructionsPermissive(Dead);
  }

private:
  Function &F;
  Module &M;
  LLVMContext &C;
  LoopInfo &LI;
  DominatorTree &DT;
  ScalarEvolution &SE;
  DomTreeUpdater Updater;
  Type *Void, *I64;
  PointerType *Ptr;
  MDNode *Unlikely;
  StructType *TicketType;
  AllocaInst *Arguments = nullptr; ///< shared by all nests of the function
  uint64_t ArgumentWords = 0;
  SmallVector<WeakTrackingVH, 8> Dead;
  // The nest at hand.
  DebugLoc Where;
  SmallVector<Value *, 8> Trips; ///< trip count of each loop
  SmallVector<Value *, 8> Last;  ///< trip count - 1
  Value *Ticket;
  Value *Opened; ///< whether the runtime has granted a ticket

  AllocaInst *createAlloca(Type *T, const char *Name) {
    IRBuilder<> B(&F.getEntryBlock(), F.getEntryBlock().getFirstInsertionPt());
    auto *Alloca = B.CreateAlloca(T, nullptr, Name);
    Alloca->setAlignment(Align(16));
    return Alloca;
  }

  Value *expand(SCEVExpander &Expander, const SCEV *S, Instruction *At) {
    return widen(Expander.expandCodeFor(S, S->getType(), At->getIterator()), At);
  }

  Value *widen(Value *V, Instruction *At) {
    IRBuilder<> B(At);
    return V->getType()->isPointerTy() ? B.CreatePtrToInt(V, I64) : B.CreateZExtOrTrunc(V, I64);
  }

  /// Whether the nest may touch enough to be entered.
  Value *gate(const Nest &N) {
    Instruction *At = N.root()->getLoopPreheader()->getTerminator();
    SCEVExpander Expander(SE, M.getDataLayout(), "pagecast");
    IRBuilder<> B(At);
    B.SetCurrentDebugLocation(Where);
    Last.clear();
    Trips.clear();
    Value *Footprint = B.getInt64(N.Bytes);
    for (const SCEV *Count : N.Backedges) {
      Last.push_back(expand(Expander, Count, At));
      Trips.push_back(B.CreateAdd(Last.back(), B.getInt64(1), "trips"));
      Footprint = B.CreateMul(Footprint, Trips.back());
    }
    // A trip count may be poison where the loop inside would not be reached.
    if (!isa<Constant>(Footprint))
      Footprint = B.CreateFreeze(Footprint, "footprint");
    return B.CreateICmpUGE(Footprint, B.CreateAlignedLoad(I64, gateOf(M), Align(8), "gate"), "large");
  }

  // A nest of one loop takes its hinted copy whenever it asks the runtime, so that the other copy
  // meets nothing of this one, not even its register saves.
  void emitLoop(const Nest &N, const Slice &S, Value *Large) {
    Loop *Hinted = versionLoop(N.root(), Large, Unlikely, LI, DT);
    Instruction *At = Hinted->getLoopPreheader()->getTerminator();
    Value *Granted = enter(N, S, At);
    IRBuilder<> B(At);
    B.SetCurrentDebugLocation(Where);
    Opened = B.CreateICmpNE(Granted, ConstantPointerNull::get(Ptr), "opened");
    Ticket = B.CreateSelect(Opened, Granted, dummyTicket(B), "ticket");
    StripLoop Strip = stripMine(Hinted, Last[0], stripLast(Hinted), LI, DT, Dead);
    tick(Strip.TickPoint);
    closeIfOpened(Strip.Outer);
  }

  void emitChain(const Nest &N, const Slice &S, Value *Large) {
    BasicBlock *Head = N.root()->getLoopPreheader();
    Instruction *At = Head->getTerminator();
    Instruction *Enter = SplitBlockAndInsertIfThen(Large, At->getIterator(), false, Unlikely, &Updater, &LI);
    Value *Granted = enter(N, S, Enter);
    Constant *None = ConstantPointerNull::get(Ptr);
    IRBuilder<> B(At->getParent(), At->getParent()->begin());
    B.SetCurrentDebugLocation(Where);
    PHINode *Phi = B.CreatePHI(Ptr, 2, "ticket");
    Phi->addIncoming(None, Head);
    Phi->addIncoming(Granted, Enter->getParent());
    Ticket = Phi;
    Opened = B.CreateICmpNE(Ticket, None, "opened");

    Loop *Ticked = N.Loops[N.Ticked];
    if (N.Strips) {
      SE.forgetTopmostLoop(N.root());
      Loop *Hinted = versionLoop(Ticked, Opened, Unlikely, LI, DT);
      tick(stripMine(Hinted, Last[N.Ticked], stripLast(Hinted), LI, DT, Dead).TickPoint);
    } else {
      tick(ifOpened(Ticked->getLoopLatch()->getTerminator()->getIterator()));
    }
    closeIfOpened(N.root());
  }

  // Everything that only the runtime needs is computed here, off the fast path.
  Value *enter(const Nest &N, const Slice &S, Instruction *At) {
    SCEVExpander Expander(SE, M.getDataLayout(), "pagecast");
    IRBuilder<> B(At);
    B.SetCurrentDebugLocation(Where);
    if (!Arguments)
      Arguments = createAlloca(ArrayType::get(I64, 1), "pagecast.arguments");
    uint64_t Count = 0;
    auto Put = [&](Value *Word) {
      B.CreateAlignedStore(Word, B.CreateConstInBoundsGEP1_64(I64, Arguments, Count++), Align(8));
    };
    for (Value *Trip : Trips)
      Put(Trip);
    for (const Group &G : N.Groups) {
      Put(expand(Expander, G.Form.Base, At));
      for (unsigned K = 0; K < N.Loops.size(); ++K)
        Put(G.indirect() ? B.getInt64(0) : expand(Expander, G.Form.Stride[K], At));
    }
    for (const LiveValue &V : S.Live)
      Put(V.Direct ? widen(V.Direct, At) : expand(Expander, V.Expression, At));
    ArgumentWords = std::max(ArgumentWords, Count);

    FunctionCallee Callee =
        runtimeFunction(M, "__pagecast_enter", FunctionType::get(Ptr, {Ptr, Ptr, Ptr}, false));
    // The arguments lie in this frame: their address stands for it.
    return B.CreateCall(Callee, {nestTable(M, N, S.Code, S.Live.size()), Arguments, Arguments}, "granted");
  }

  // Never due. Lies in the arguments, which are not needed any more.
  Value *dummyTicket(IRBuilder<> &B) {
    for (unsigned Field = 0; Field < 3; ++Field)
      B.CreateAlignedStore(B.getInt64(Field ? ~uint64_t(0) : 0), B.CreateStructGEP(TicketType, Arguments, Field), Align(8));
    ArgumentWords = std::max<uint64_t>(ArgumentWords, 3);
    return Arguments;
  }

  /// Length of a strip - 1. It does not change while a nest is open.
  Value *stripLast(Loop *Hinted) {
    IRBuilder<> B(Hinted->getLoopPreheader()->getTerminator());
    B.SetCurrentDebugLocation(Where);
    Value *Strip = B.CreateAlignedLoad(I64, B.CreateStructGEP(TicketType, Ticket, 2), Align(8), "strip.length");
    return B.CreateSub(Strip, B.getInt64(1), "strip.length.last");
  }

  void tick(Instruction *At) {
    IRBuilder<> B(At);
    B.SetCurrentDebugLocation(At->getDebugLoc());
    Value *StepField = B.CreateStructGEP(TicketType, Ticket, 0);
    Value *Step = B.CreateAdd(B.CreateAlignedLoad(I64, StepField, Align(8)), B.getInt64(1), "step");
    B.CreateAlignedStore(Step, StepField, Align(8));
    // Volatile: the runtime may lower it at any time.
    Value *Wake = B.CreateAlignedLoad(I64, B.CreateStructGEP(TicketType, Ticket, 1), Align(8), /*isVolatile=*/true, "wake");
    Value *Due = B.CreateICmpUGE(Step, Wake);
    Instruction *Then = SplitBlockAndInsertIfThen(Due, At->getIterator(), false, Unlikely, &Updater, &LI);
    IRBuilder<> T(Then);
    T.SetCurrentDebugLocation(At->getDebugLoc());
    T.CreateCall(runtimeFunction(M, "__pagecast_tick", FunctionType::get(Void, {Ptr}, false)), {Ticket});
  }

  Instruction *ifOpened(BasicBlock::iterator At) {
    return SplitBlockAndInsertIfThen(Opened, At, false, Unlikely, &Updater, &LI);
  }

  void closeIfOpened(Loop *Whole) {
    SmallVector<BasicBlock *, 4> Exits;
    Whole->getUniqueExitBlocks(Exits);
    for (BasicBlock *Exit : Exits) {
      // Nothing comes back to this frame from there, unless to unwind it: the runtime finds out.
      if (isa<UnreachableInst>(Exit->getTerminator()))
        continue;
      IRBuilder<> B(ifOpened(Exit->getFirstInsertionPt()));
      B.SetCurrentDebugLocation(Where);
      B.CreateCall(runtimeFunction(M, "__pagecast_exit", FunctionType::get(Void, {Ptr}, false)), {Ticket});
    }
  }
};

} // namespace

PreservedAnalyses PagecastPass::run(Function &F, FunctionAnalysisManager &AM) {
  if (!isEligible(F))
    return PreservedAnalyses::all();
  auto &LI = AM.getResult<LoopAnalysis>(F);
  if (LI.empty())
    return PreservedAnalyses::all();
  auto &DT = AM.getResult<DominatorTreeAnalysis>(F);
  auto &SE = AM.getResult<ScalarEvolutionAnalysis>(F);
  auto &AC = AM.getResult<AssumptionAnalysis>(F);
  auto Canonicalize = [&] {
    bool Changed = false;
    SmallVector<Loop *, 8> TopLevel(LI.begin(), LI.end());
    for (Loop *L : TopLevel) {
      Changed |= simplifyLoop(L, &DT, &LI, &SE, &AC, nullptr, /*PreserveLCSSA=*/false);
      Changed |= formLCSSARecursively(*L, DT, &LI, &SE);
    }
    return Changed;
  };
  bool Changed = Canonicalize();
  NestList List = findNests(F, LI, DT, SE);
  emitRemarks(List, AM.getResult<OptimizationRemarkEmitterAnalysis>(F));
  if (!List.Nests.empty()) {
    Emitter E(F, LI, DT, SE);
    // Slices are cut from untouched loops: nests may share some.
    SmallVector<Slice, 4> Slices;
    for (const Nest &N : List.Nests)
      Slices.push_back(buildSlice(N, LI, DT, SE));
    for (unsigned I = 0; I < List.Nests.size(); ++I)
      E.emit(List.Nests[I], Slices[I]);
    E.finish();
    Canonicalize();
    Changed = true;
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace pagecast
