// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overwriting: the proof.

#include "nests/Overwrite.h"
#include "nests/Stores.h"
#include "pagecast/abi.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/MemoryLocation.h"
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
/// Blocks between an inner loop and the branch that decides on it.
constexpr unsigned MostGuardBlocks = 8;

/// A group of another nest of the same root.
struct Neighbour {
  const Nest *In;
  const Group *Read;
  bool operator==(const Neighbour &Other) const { return Read == Other.Read; }
};

/// What is read beside the chain of a nest, in terms of the nest: of its loops, and more behind them.
class BesideNest {
public:
  void add(const Nest &N, const Neighbour &Other, ScalarEvolution &SE) {
    if (is_contained(Known, Other.Read)) return;
    Known.push_back(Other.Read);
    Group G = *Other.Read;
    G.Flags = PAGECAST_READS | PAGECAST_COMPARED;
    G.Form.Stride.assign(PAGECAST_MAX_LOOPS, SE.getZero(Type::getInt64Ty(SE.getContext())));
    for (unsigned K = 0; K < Other.In->Loops.size(); ++K)
      if (unsigned Place = placeOf(N, Other.In->Loops[K], Other.In->Backedges[K]); Place < PAGECAST_MAX_LOOPS)
        G.Form.Stride[Place] = Other.Read->Form.Stride[K];
    Groups.push_back(std::move(G));
  }

  /// The loop of strips is the last of its nest.
  bool fits(const Nest &N) const {
    return !(N.Strips && !Loops.empty()) && N.Loops.size() + Loops.size() <= PAGECAST_MAX_LOOPS &&
           N.Groups.size() + Groups.size() <= PAGECAST_MAX_GROUPS;
  }

  void moveTo(Nest &N, ScalarEvolution &SE) {
    append_range(N.Loops, Loops);
    append_range(N.Backedges, Backedges);
    N.Beside += Loops.size();
    for (Group &G : N.Groups) G.Form.Stride.resize(N.Loops.size(), SE.getZero(Type::getInt64Ty(SE.getContext())));
    for (Group &G : Groups) {
      G.Form.Stride.truncate(N.Loops.size());
      N.Groups.push_back(std::move(G));
    }
  }

private:
  Chain Loops;
  SmallVector<const SCEV *, 8> Backedges;
  SmallVector<Group, 4> Groups;
  SmallVector<const Group *, 4> Known; ///< whose copies they are

  unsigned placeOf(const Nest &N, Loop *L, const SCEV *Backedge) {
    if (const auto *Own = find(N.Loops, L); Own != N.Loops.end()) return Own - N.Loops.begin();
    const auto *More = find(Loops, L);
    const unsigned Place = N.Loops.size() + (More - Loops.begin());
    if (More == Loops.end()) {
      Loops.push_back(L);
      Backedges.push_back(Backedge);
    }
    return Place;
  }
};

class Proof {
public:
  Proof(Nest &N, ArrayRef<const Nest *> Others, const LoopInfo &LI, const DominatorTree &DT, ScalarEvolution &SE, AAResults &AA,
        const TargetLibraryInfo &TLI)
      : N(N), Others(Others), LI(LI), DT(DT), SE(SE), AA(AA), TLI(TLI), Here(N, LI, DT, SE), Own(N.Loops.back(), LI, DT, SE) {}

  /// Marks groups, and returns what they are to be compared with besides.
  BesideNest run() {
    SmallVector<Group *, 4> Candidates;
    for (Group &G : N.Groups)
      if (!(G.Flags & (PAGECAST_READS | PAGECAST_INDIRECT | PAGECAST_CONDITIONAL))) Candidates.push_back(&G);
    if (Candidates.empty() || N.Sliced || !loopsAreExact() || !nothingInterferes()) return {};
    for (Group *G : Candidates) {
      SmallVector<Neighbour, 4> Seen;
      if (Instruction *Store = covering(*G); Store && readsElsewhere(*G, firstByte(Store), Seen) && compare(Seen))
        G->Flags |= PAGECAST_OVERWRITES;
    }
    if (any_of(N.Groups, [](const Group &G) { return G.Flags & PAGECAST_OVERWRITES; })) N.Guards = std::move(Guards);
    return std::move(Compared);
  }

private:
  Nest &N;
  ArrayRef<const Nest *> Others; ///< of the same root, exact
  const LoopInfo &LI;
  const DominatorTree &DT;
  ScalarEvolution &SE;
  AAResults &AA;
  const TargetLibraryInfo &TLI;
  ByteCoverage Here;
  Stores Own;
  SmallVector<Condition, 2> Guards;
  SmallVector<std::pair<Instruction *, Value *>, 16> Reads; ///< and where
  BesideNest Compared;

  // --- the nest

  bool loopsAreExact() {
    if (!N.Exact) return false;
    for (unsigned K = 0; K < N.Loops.size(); ++K) {
      Loop *L = N.Loops[K];
      if (!L->getLoopLatch() || L->getExitingBlock() != L->getLoopLatch() || (K > 0 && !entered(L, N.Loops[K - 1]))) return false;
    }
    return true;
  }

  /// Whether each iteration of `Parent` gets to `L`, or none does: because of a condition that is fixed before the
  /// nest. That becomes a guard.
  bool entered(Loop *L, Loop *Parent) {
    BasicBlock *Block = L->getLoopPreheader();
    for (unsigned Passed = 0; Block && Passed < MostGuardBlocks; ++Passed) {
      if (DT.dominates(Block, Parent->getLoopLatch())) return true;
      BasicBlock *Before = Block->getSinglePredecessor();
      if (Loop *Other = loopThatEndsAt(Block, Parent)) {
        Block = Other->getLoopPreheader();
        continue;
      }
      const auto *Branch = Before ? dyn_cast<BranchInst>(Before->getTerminator()) : nullptr;
      if (!Branch || LI.getLoopFor(Before) != Parent) return false;
      if (Branch->isConditional()) {
        bool Moved = false;
        if (!N.root()->makeLoopInvariant(Branch->getCondition(), Moved, nullptr, nullptr, &SE)) return false;
        Guards.push_back({Branch->getCondition(), Branch->getSuccessor(0) == Block});
      }
      Block = Before;
    }
    return false;
  }

  /// The loop in `Parent` behind which `Block` always comes, and nothing else.
  Loop *loopThatEndsAt(BasicBlock *Block, Loop *Parent) {
    BasicBlock *Before = Block->getSinglePredecessor();
    Loop *Other = Before ? LI.getLoopFor(Before) : nullptr;
    return Other && Other->getParentLoop() == Parent && Other->getUniqueExitBlock() == Block ? Other : nullptr;
  }

  /// Nothing that may not come back, nothing that others could take as a sign to look, and reads whose places are known.
  bool nothingInterferes() {
    for (BasicBlock *Block : N.root()->blocks())
      for (Instruction &I : *Block)
        if (!isHarmless(I) || Reads.size() > MostReads) return false;
    return true;
  }

  bool isHarmless(Instruction &I) {
    if (auto *Load = dyn_cast<LoadInst>(&I)) {
      uint64_t Bytes = certainBytes(Load);
      if (Bytes == 0 || !Own.precede(Load, Load->getPointerOperand(), Bytes)) Reads.push_back({Load, Load->getPointerOperand()});
      return Load->isSimple();
    }
    if (auto *Store = dyn_cast<StoreInst>(&I)) return Store->isSimple();
    if (auto *Memory = dyn_cast<MemIntrinsic>(&I)) {
      if (auto *Transfer = dyn_cast<MemTransferInst>(Memory)) Reads.push_back({Transfer, Transfer->getRawSource()});
      return !Memory->isVolatile();
    }
    if (auto *Call = dyn_cast<CallBase>(&I)) return isHarmlessCall(*Call);
    return !I.mayReadOrWriteMemory() && !I.mayThrow();
  }

  /// Functions of values; those of the C library may set errno besides.
  bool isHarmlessCall(const CallBase &Call) {
    if (const auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call); Intrinsic && Intrinsic->isAssumeLikeIntrinsic()) return true;
    if (!isa<CallInst>(Call) || !Call.doesNotThrow() || !Call.hasFnAttr(Attribute::WillReturn)) return false;
    LibFunc Known;
    return Call.doesNotAccessMemory() ||
           (Call.onlyWritesMemory() && (Call.hasFnAttr(Attribute::NoSync) || TLI.getLibFunc(Call, Known)));
  }

  // --- a group

  /// One of the stores of the group that are certain in each place of the nest, if together they are all of [Lo, Hi).
  Instruction *covering(const Group &G) {
    Instruction *Certain = nullptr;
    SmallVector<std::pair<int64_t, int64_t>, 8> Parts;
    for (Instruction *I : G.Members) {
      uint64_t Bytes = certainBytes(I);
      if (Bytes == 0 || isa<LoadInst>(I) || !Here.runsAlways(I->getParent())) continue;
      SmallVector<int64_t, 8> Begins;
      if (!Here.places(G, firstByte(I), I, Begins)) continue;
      Certain = I;
      for (int64_t Begin : Begins) Parts.push_back({Begin, Begin + int64_t(Bytes)});
    }
    llvm::sort(Parts);
    int64_t Covered = G.Lo;
    for (auto [Begin, End] : Parts)
      if (Begin <= Covered) Covered = std::max(Covered, End);
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

  /// Whether what is read is not what the group stores, as far as `Beside` will tell the runtime.
  bool readsElsewhere(const Group &G, Value *To, SmallVectorImpl<Neighbour> &Beside) {
    return all_of(Reads, [&](const std::pair<Instruction *, Value *> &Read) {
      return Here.seenIn(Read.first, Read.second) ||
             AA.isNoAlias(MemoryLocation::getBeforeOrAfter(To), MemoryLocation::getBeforeOrAfter(Read.second)) ||
             isSeenBeside(G, Read.first, Read.second, Beside);
    });
  }

  /// Whether a nest of the same root tells of it. What is certain to be the same data is not worth the trouble.
  bool isSeenBeside(const Group &G, Instruction *At, Value *Pointer, SmallVectorImpl<Neighbour> &Beside) {
    for (const Nest *Other : Others) {
      const Group *Read = ByteCoverage(*Other, LI, DT, SE).seenIn(At, Pointer);
      if (!Read) continue;
      if (!is_contained(Beside, Neighbour{Other, Read})) Beside.push_back({Other, Read});
      std::optional<int64_t> Apart = constantDifference(G.Form.Base, Read->Form.Base, SE);
      return !Apart || std::abs(*Apart) > GroupReach;
    }
    return false;
  }

  /// Has the nest tell of what others read, for the runtime to compare. False, with nothing done, if there is no space.
  bool compare(ArrayRef<Neighbour> Seen) {
    BesideNest More = Compared;
    for (const Neighbour &Other : Seen) More.add(N, Other, SE);
    if (!More.fits(N)) return false;
    Compared = std::move(More);
    return true;
  }
};

/// Whether a nest stores over something in an outer loop, when the last step of the iteration may be over: a nest that the
/// runtime has closed by itself is taken to have stored all that was left unread for it.
bool storesBehindSteps(const Nest &N) {
  return any_of(N.Groups, [&](const Group &G) {
    return G.Flags & PAGECAST_OVERWRITES &&
           !all_of(G.Members, [&](const Instruction *I) { return N.Loops[N.Ticked]->contains(I); });
  });
}

} // namespace

void markOverwrites(std::vector<Nest> &Nests, const LoopInfo &LI, const DominatorTree &DT, ScalarEvolution &SE, AAResults &AA,
                    const TargetLibraryInfo &TLI) {
  std::vector<BesideNest> Compared;
  for (Nest &N : Nests) {
    SmallVector<const Nest *, 8> Others;
    for (const Nest &Other : Nests)
      if (&Other != &N && Other.root() == N.root() && Other.Exact) Others.push_back(&Other);
    Compared.push_back(Proof(N, Others, LI, DT, SE, AA, TLI).run());
  }
  for (unsigned I = 0; I < Nests.size(); ++I) {
    Compared[I].moveTo(Nests[I], SE);
    if (storesBehindSteps(Nests[I])) Nests[I].Closes = false;
  }
}

void linkOverwrites(std::vector<Nest> &Nests) {
  for (Nest &Inner : Nests)
    for (const Nest &Outer : Nests) {
      if (!Outer.Sliced || Outer.Loops.back() == Inner.root() || !Outer.Loops.back()->contains(Inner.root())) continue;
      for (Group &G : Inner.Groups)
        for (unsigned Number = 0; Number < Outer.Groups.size(); ++Number)
          if (G.Flags & PAGECAST_OVERWRITES && G.Flags >> PAGECAST_SLICED_SHIFT == 0 && Outer.Groups[Number].indirect() &&
              all_of(Outer.Groups[Number].Members, [&](Instruction *I) { return is_contained(G.Members, I); }))
            G.Flags |= (Number + 1) << PAGECAST_SLICED_SHIFT;
    }
}

} // namespace pagecast
