// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overwriting: the proof.

#include "Overwrite.h"
#include "pagecast/abi.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <optional>
#include <utility>

using namespace llvm;

namespace pagecast {
namespace {

/// Nests that read in more places are left alone: each place is compared with each group.
constexpr unsigned MostReads = 256;
/// Blocks between an inner loop and the branch that decides on it.
constexpr unsigned MostGuardBlocks = 8;

/// Bytes that a load or store of the type, or a call of memset and the like, is certain to touch; 0 if that is unknown.
/// Types whose bits do not fill their bytes do not count.
uint64_t bytesOf(Instruction *I, const DataLayout &DL) {
  if (const auto *Memory = dyn_cast<MemIntrinsic>(I)) {
    const auto *Length = dyn_cast<ConstantInt>(Memory->getLength());
    return Length ? Length->getZExtValue() : 0;
  }
  if (!isa<LoadInst, StoreInst>(I))
    return 0;
  TypeSize Bits = DL.getTypeSizeInBits(getLoadStoreType(I));
  return Bits.isScalable() || Bits.getFixedValue() % 8 ? 0 : Bits.getFixedValue() / 8;
}

Value *storedTo(Instruction *I) {
  if (auto *Memory = dyn_cast<MemIntrinsic>(I))
    return Memory->getRawDest();
  return getPointerOperand(I);
}

class Proof {
public:
  Proof(Nest &N, const LoopInfo &LI, const DominatorTree &DT, ScalarEvolution &SE, AAResults &AA,
        const TargetLibraryInfo &TLI)
      : N(N), LI(LI), DT(DT), SE(SE), AA(AA), TLI(TLI), DL(N.root()->getHeader()->getModule()->getDataLayout()) {}

  void run() {
    SmallVector<Group *, 4> Candidates;
    for (Group &G : N.Groups)
      if (!(G.Flags & (PAGECAST_READS | PAGECAST_INDIRECT | PAGECAST_CONDITIONAL)))
        Candidates.push_back(&G);
    if (Candidates.empty() || N.Sliced || !loopsAreExact() || !nothingInterferes())
      return;
    for (Group *G : Candidates)
      if (covers(*G) && readsElsewhere(*G))
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
  const DataLayout &DL;
  SmallVector<Condition, 2> Guards;
  SmallVector<std::pair<Instruction *, Value *>, 16> Reads; ///< and where

  // --- the nest

  bool loopsAreExact() {
    for (unsigned K = 0; K < N.Loops.size(); ++K) {
      Loop *L = N.Loops[K];
      BasicBlock *Latch = L->getLoopLatch();
      if (!Latch || L->getExitingBlock() != Latch || SE.getExitCount(L, Latch) != N.Backedges[K])
        return false;
      if (K > 0 && !entered(L, N.Loops[K - 1]))
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
        if (!N.root()->isLoopInvariant(Branch->getCondition()))
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

  /// The offset of a pointer from the group's first reference, if it is the same in all iterations.
  std::optional<int64_t> offsetIn(const Group &G, Value *Pointer) {
    return constantDifference(addressOf(G), SE.getSCEV(Pointer), SE);
  }

  bool runsAlways(const BasicBlock *Block) {
    Loop *In = LI.getLoopFor(Block);
    return is_contained(N.Loops, In) && DT.dominates(Block, In->getLoopLatch());
  }

  /// Whether what is stored for certain in one place of the nest is all of [Lo, Hi).
  bool covers(const Group &G) {
    SmallVector<std::pair<int64_t, int64_t>, 8> Parts;
    for (Instruction *I : G.Members) {
      uint64_t Bytes = bytesOf(I, DL);
      std::optional<int64_t> Offset = Bytes ? offsetIn(G, storedTo(I)) : std::nullopt;
      if (!Offset)
        return false;
      if (runsAlways(I->getParent()))
        Parts.push_back({*Offset, *Offset + int64_t(Bytes)});
    }
    llvm::sort(Parts);
    int64_t Covered = G.Lo;
    for (auto [Begin, End] : Parts)
      if (Begin <= Covered)
        Covered = std::max(Covered, End);
    return Covered == G.Hi && joins(G);
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

  bool readsElsewhere(const Group &G) {
    Value *To = storedTo(G.Members.front());
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
      uint64_t Bytes = bytesOf(At, DL);
      std::optional<int64_t> Offset = Bytes ? offsetIn(G, Pointer) : std::nullopt;
      return Offset && *Offset >= G.Lo && *Offset + int64_t(Bytes) <= G.Hi;
    });
  }
};

} // namespace

void markOverwrites(Nest &N, const LoopInfo &LI, const DominatorTree &DT, ScalarEvolution &SE, AAResults &AA,
                    const TargetLibraryInfo &TLI) {
  Proof(N, LI, DT, SE, AA, TLI).run();
}

} // namespace pagecast
