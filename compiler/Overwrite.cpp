// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overwriting: the proof.

#include "Overwrite.h"
#include "Stores.h"
#include "pagecast/abi.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <cstdlib>
#include <optional>
#include <utility>

using namespace llvm;

namespace pagecast {
namespace {

/// Nests that read in more places are left alone: each place is compared with each group.
constexpr unsigned MostReads = 256;
/// Of the stores of one instruction in one iteration of the chain: it may be in loops inside.
constexpr unsigned MostPlaces = 1024;
/// Blocks between an inner loop and the branch that decides on it.
constexpr unsigned MostGuardBlocks = 8;

class Proof {
public:
  Proof(Nest &N, const LoopInfo &LI, const DominatorTree &DT, ScalarEvolution &SE, AAResults &AA,
        const TargetLibraryInfo &TLI)
      : N(N), LI(LI), DT(DT), SE(SE), AA(AA), TLI(TLI), Own(N.Loops.back(), LI, DT, SE) {}

  void run() {
    SmallVector<Group *, 4> Candidates;
    for (Group &G : N.Groups)
      if (!(G.Flags & (PAGECAST_READS | PAGECAST_INDIRECT | PAGECAST_CONDITIONAL)))
        Candidates.push_back(&G);
    if (Candidates.empty() || N.Sliced || !loopsAreExact() || !nothingInterferes())
      return;
    for (Group *G : Candidates)
      if (Instruction *Store = covering(*G); Store && readsElsewhere(firstByte(Store)))
        G->Flags |= PAGECAST_OVERWRITES;
    if (any_of(N.Groups, [](const Group &G) { return G.Flags & PAGECAST_OVERWRITES; }))
      N.Guards = std::move(Guards);
  }

private:
  Nest &N;
  const LoopInfo &LI;
  const DominatorTree &DT;
  ScalarEvolution &SE;
  AAResults &AA;
  const TargetLibraryInfo &TLI;
  Stores Own;
  SmallVector<Condition, 2> Guards;
  SmallVector<std::pair<Instruction *, Value *>, 16> Reads; ///< and where

  // --- the nest

  bool loopsAreExact() {
    if (!N.Exact)
      return false;
    for (unsigned K = 0; K < N.Loops.size(); ++K) {
      Loop *L = N.Loops[K];
      if (!L->getLoopLatch() || L->getExitingBlock() != L->getLoopLatch() || (K > 0 && !entered(L, N.Loops[K - 1])))
        return false;
    }
    return true;
  }

  /// Whether each iteration of `Parent` gets to `L`, or none does: because of a condition that is fixed before the
  /// nest. That becomes a guard.
  bool entered(Loop *L, Loop *Parent) {
    BasicBlock *Block = L->getLoopPreheader();
    for (unsigned Passed = 0; Block && Passed < MostGuardBlocks; ++Passed) {
      if (DT.dominates(Block, Parent->getLoopLatch()))
        return true;
      BasicBlock *Before = Block->getSinglePredecessor();
      const auto *Branch = Before ? dyn_cast<BranchInst>(Before->getTerminator()) : nullptr;
      if (!Branch || LI.getLoopFor(Before) != Parent)
        return false;
      if (Branch->isConditional()) {
        bool Moved = false;
        if (!N.root()->makeLoopInvariant(Branch->getCondition(), Moved, nullptr, nullptr, &SE))
          return false;
        Guards.push_back({Branch->getCondition(), Branch->getSuccessor(0) == Block});
      }
      Block = Before;
    }
    return false;
  }

  /// Nothing that may not come back, nothing that others could take as a sign to look, and reads whose places are known.
  bool nothingInterferes() {
    for (BasicBlock *Block : N.root()->blocks())
      for (Instruction &I : *Block)
        if (!isHarmless(I) || Reads.size() > MostReads)
          return false;
    return true;
  }

  bool isHarmless(Instruction &I) {
    if (auto *Load = dyn_cast<LoadInst>(&I)) {
      uint64_t Bytes = certainBytes(Load);
      if (Bytes == 0 || !Own.precede(Load, Load->getPointerOperand(), Bytes))
        Reads.push_back({Load, Load->getPointerOperand()});
      return Load->isSimple();
    }
    if (auto *Store = dyn_cast<StoreInst>(&I))
      return Store->isSimple();
    if (auto *Memory = dyn_cast<MemIntrinsic>(&I)) {
      if (auto *Transfer = dyn_cast<MemTransferInst>(Memory))
        Reads.push_back({Transfer, Transfer->getRawSource()});
      return !Memory->isVolatile();
    }
    if (auto *Call = dyn_cast<CallBase>(&I))
      return isHarmlessCall(*Call);
    return !I.mayReadOrWriteMemory() && !I.mayThrow();
  }

  /// Functions of values; those of the C library may set errno besides.
  bool isHarmlessCall(const CallBase &Call) {
    if (const auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call); Intrinsic && Intrinsic->isAssumeLikeIntrinsic())
      return true;
    if (!isa<CallInst>(Call) || !Call.doesNotThrow() || !Call.hasFnAttr(Attribute::WillReturn))
      return false;
    LibFunc Known;
    return Call.doesNotAccessMemory() ||
           (Call.onlyWritesMemory() && (Call.hasFnAttr(Attribute::NoSync) || TLI.getLibFunc(Call, Known)));
  }

  // --- a group

  /// The addresses of the group's first reference as scalar evolution would write them.
  const SCEV *addressOf(const Group &G) {
    const SCEV *S = G.Form.Base;
    for (unsigned K = 0; K < N.Loops.size(); ++K)
      S = SE.getAddRecExpr(S, SE.getTruncateOrSignExtend(G.Form.Stride[K], SE.getEffectiveSCEVType(S->getType())),
                           N.Loops[K], SCEV::FlagAnyWrap);
    return S;
  }

  /// The offsets of a pointer from the group's first reference in an iteration of the chain, if they are the same in all.
  bool placesIn(const Group &G, Value *Pointer, const Instruction *At, SmallVectorImpl<int64_t> &Out) {
    const SCEV *Offset = SE.getMinusSCEV(SE.getSCEV(Pointer), addressOf(G));
    return !isa<SCEVCouldNotCompute>(Offset) && places(Offset, At, Out);
  }

  /// Whether it runs in each iteration of a loop of the chain: in all iterations of the loops inside that it is in, whose
  /// trip counts are constant.
  bool runsAlways(const BasicBlock *Block) {
    Loop *In = LI.getLoopFor(Block);
    for (; isInside(In); In = In->getParentLoop()) {
      if (!In->getLoopPreheader() || !trips(In) || !DT.dominates(Block, In->getLoopLatch()))
        return false;
      Block = In->getLoopPreheader();
    }
    return is_contained(N.Loops, In) && DT.dominates(Block, In->getLoopLatch());
  }

  bool isInside(const Loop *L) { return L != N.Loops.back() && N.Loops.back()->contains(L); }

  /// The exact trip count of a loop that is left by its latch only, if it is a small constant, else 0.
  uint64_t trips(Loop *L) {
    BasicBlock *Latch = L->getLoopLatch();
    if (!Latch || L->getExitingBlock() != Latch)
      return 0;
    std::optional<int64_t> Last = constantOf(SE.getExitCount(L, Latch));
    return Last && *Last >= 0 && *Last < int64_t(MostPlaces) ? uint64_t(*Last) + 1 : 0;
  }

  /// All values that `Offset` has at `At` in an iteration of the chain. False if they are not known.
  bool places(const SCEV *Offset, const Instruction *At, SmallVectorImpl<int64_t> &Out) {
    if (std::optional<int64_t> Fixed = constantOf(Offset)) {
      Out.push_back(*Fixed);
      return true;
    }
    const auto *Walk = dyn_cast<SCEVAddRecExpr>(Offset);
    std::optional<int64_t> Step = Walk && Walk->isAffine() ? constantOf(Walk->getOperand(1)) : std::nullopt;
    if (!Step || std::abs(*Step) > INT32_MAX || !isInside(Walk->getLoop()) || !Walk->getLoop()->contains(At) ||
        !places(Walk->getStart(), At, Out))
      return false;
    uint64_t Times = trips(const_cast<Loop *>(Walk->getLoop())), First = Out.size();
    if (Times == 0 || Times * First > MostPlaces)
      return false;
    for (uint64_t Time = 1; Time < Times; ++Time)
      for (uint64_t I = 0; I < First; ++I)
        Out.push_back(Out[I] + *Step * int64_t(Time));
    return true;
  }

  /// One of the stores of the group that are certain in each place of the nest, if together they are all of [Lo, Hi).
  Instruction *covering(const Group &G) {
    Instruction *Certain = nullptr;
    SmallVector<std::pair<int64_t, int64_t>, 8> Parts;
    for (Instruction *I : G.Members) {
      uint64_t Bytes = certainBytes(I);
      if (Bytes == 0 || isa<LoadInst>(I) || !runsAlways(I->getParent()))
        continue;
      SmallVector<int64_t, 8> Begins;
      if (!placesIn(G, firstByte(I), I, Begins))
        continue;
      Certain = I;
      for (int64_t Begin : Begins)
        Parts.push_back({Begin, Begin + int64_t(Bytes)});
    }
    llvm::sort(Parts);
    int64_t Covered = G.Lo;
    for (auto [Begin, End] : Parts)
      if (Begin <= Covered)
        Covered = std::max(Covered, End);
    return Covered >= G.Hi && joins(G) ? Certain : nullptr;
  }

  /// Whether the iterations of the innermost loop that moves the group leave no gaps, as far as can be seen here.
  bool joins(const Group &G) {
    for (const SCEV *Stride : reverse(G.Form.Stride))
      if (!Stride->isZero()) {
        std::optional<int64_t> Bytes = constantOf(Stride);
        return !Bytes || (*Bytes > 0 && *Bytes <= G.Hi - G.Lo);
      }
    return false;
  }

  bool readsElsewhere(Value *To) {
    return all_of(Reads, [&](const std::pair<Instruction *, Value *> &Read) {
      return isComparable(Read.first, Read.second) ||
             AA.isNoAlias(MemoryLocation::getBeforeOrAfter(To), MemoryLocation::getBeforeOrAfter(Read.second));
    });
  }

  /// Whether the runtime will see all that is read there, in the extent of a direct group.
  bool isComparable(Instruction *At, Value *Pointer) {
    return any_of(N.Groups, [&](const Group &G) {
      if (!(G.Flags & PAGECAST_READS) || G.indirect() || !is_contained(G.Members, At))
        return false;
      uint64_t Bytes = certainBytes(At);
      SmallVector<int64_t, 8> Begins;
      return Bytes && placesIn(G, Pointer, At, Begins) &&
             all_of(Begins, [&](int64_t Begin) { return Begin >= G.Lo && Begin + int64_t(Bytes) <= G.Hi; });
    });
  }
};

} // namespace

void markOverwrites(Nest &N, const LoopInfo &LI, const DominatorTree &DT, ScalarEvolution &SE, AAResults &AA,
                    const TargetLibraryInfo &TLI) {
  Proof(N, LI, DT, SE, AA, TLI).run();
}

void linkOverwrites(std::vector<Nest> &Nests) {
  for (Nest &Inner : Nests)
    for (const Nest &Outer : Nests) {
      if (!Outer.Sliced || Outer.Loops.back() == Inner.root() || !Outer.Loops.back()->contains(Inner.root()))
        continue;
      for (Group &G : Inner.Groups)
        for (unsigned Number = 0; Number < Outer.Groups.size(); ++Number)
          if (G.Flags & PAGECAST_OVERWRITES && G.Flags >> PAGECAST_SLICED_SHIFT == 0 && Outer.Groups[Number].indirect() &&
              all_of(Outer.Groups[Number].Members, [&](Instruction *I) { return is_contained(G.Members, I); }))
            G.Flags |= (Number + 1) << PAGECAST_SLICED_SHIFT;
    }
}

} // namespace pagecast
