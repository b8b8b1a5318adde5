// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Invariant loads: the proof and the replacement.

#include "prepare/InvariantLoads.h"
#include "loops/SpeculatedValues.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace pagecast {
namespace {

/// Loops with more are left alone: each is compared with each load.
constexpr unsigned MostWriters = 512;
/// Blocks between an earlier load and the loop.
constexpr unsigned MostBlocksBetween = 32;
/// Phis that are one value.
constexpr unsigned MostPhis = 32;

class Hoister {
public:
  Hoister(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE, AAResults &AA)
      : F(F), LI(LI), DT(DT), SE(SE), AA(AA) {}

  bool run() {
    SmallVector<LoadInst *, 16> Loads;
    for (Loop *Top : LI)
      for (BasicBlock *Block : Top->blocks())
        for (Instruction &I : *Block)
          if (auto *Load = dyn_cast<LoadInst>(&I); Load && mayBeBoundOrBase(Load) && !Load->use_empty()) Loads.push_back(Load);
    for (LoadInst *Load : Loads)
      if (LoadInst *Same = before(Load)) replace(Load, Same);
    if (Found.empty()) return false;
    for (const WeakTrackingVH &V : Found)
      if (V) joinPhis(cast<Instruction>(V));
    SE.forgetAllLoops();
    return true;
  }

private:
  Function &F;
  LoopInfo &LI;
  DominatorTree &DT;
  ScalarEvolution &SE;
  AAResults &AA;
  DenseMap<const Loop *, SmallVector<Instruction *, 16>> Writers;
  SmallVector<WeakTrackingVH, 8> Found; ///< what stands for loads now

  void replace(LoadInst *Old, LoadInst *New) {
    patchReplacementInstruction(Old, New);
    Old->replaceAllUsesWith(New);
    Old->eraseFromParent();
    Found.push_back(New);
  }

  /// The value of `Load` in all iterations of the outermost loop in which it is certain that there is one, from before
  /// that loop. Null if there is none.
  LoadInst *before(LoadInst *Load) {
    LoadInst *Known = nullptr;
    Loop *Free = nullptr; ///< before which it can be loaded
    for (Loop *L = LI.getLoopFor(Load->getParent()); L; L = L->getParentLoop()) {
      if (!L->getLoopPreheader() || !L->isLoopInvariant(Load->getPointerOperand()) || !staysIn(L, Load)) break;
      if (LoadInst *Earlier = earlier(Load, L)) {
        Known = Earlier;
        Free = nullptr;
      } else if (canLoadBefore(Load, L, DT)) {
        Free = L;
      }
    }
    return Free ? copyBefore(Load, Free) : Known;
  }

  static LoadInst *copyBefore(LoadInst *Load, Loop *L) {
    auto *Copy = cast<LoadInst>(Load->clone());
    Copy->setName("invariant");
    Copy->dropUnknownNonDebugMetadata();
    Copy->insertBefore(L->getLoopPreheader()->getTerminator());
    return Copy;
  }

  /// Whether nothing in `L` may store to what is loaded. What other threads might store is no matter: without
  /// synchronization, which alias analysis takes for a store, programs may not do that.
  bool staysIn(const Loop *L, LoadInst *Load) {
    auto [Entry, New] = Writers.try_emplace(L);
    if (New)
      for (BasicBlock *Block : L->blocks())
        for (Instruction &I : *Block)
          if (I.mayWriteToMemory()) Entry->second.push_back(&I);
    return Entry->second.size() <= MostWriters && none_of(Entry->second, [&](Instruction *I) { return mayStore(I, Load); });
  }

  bool mayStore(Instruction *I, LoadInst *Load) {
    return I->mayWriteToMemory() && isModSet(AA.getModRefInfo(I, MemoryLocation::get(Load)));
  }

  /// A load of the same before `L`, if there is one and nothing has stored there since.
  LoadInst *earlier(LoadInst *Load, Loop *L) {
    Instruction *End = L->getLoopPreheader()->getTerminator();
    for (User *U : Load->getPointerOperand()->users())
      if (auto *Other = dyn_cast<LoadInst>(U);
          Other && Other->getFunction() == &F && Other->isSimple() && Other->getType() == Load->getType() &&
          isAround(LI.getLoopFor(Other->getParent()), L) && DT.dominates(Other, End) && staysBetween(Other, End, Load))
        return Other;
    return nullptr;
  }

  static bool isAround(const Loop *Outer, const Loop *Inner) { return !Outer || (Outer != Inner && Outer->contains(Inner)); }

  /// Whether nothing on any way from `From` to `To`, which it dominates, may store to what is loaded.
  bool staysBetween(Instruction *From, Instruction *To, LoadInst *Load) {
    auto Stays = [&](BasicBlock::iterator Begin, BasicBlock::iterator End) {
      return none_of(make_range(Begin, End), [&](Instruction &I) { return mayStore(&I, Load); });
    };
    if (From->getParent() == To->getParent()) return Stays(std::next(From->getIterator()), To->getIterator());
    if (!Stays(std::next(From->getIterator()), From->getParent()->end()) || !Stays(To->getParent()->begin(), To->getIterator()))
      return false;
    SmallPtrSet<BasicBlock *, 16> Seen{From->getParent()};
    SmallVector<BasicBlock *, 8> Work(predecessors(To->getParent()));
    while (!Work.empty()) {
      BasicBlock *Block = Work.pop_back_val();
      if (!Seen.insert(Block).second) continue;
      if (Seen.size() > MostBlocksBetween || !Stays(Block->begin(), Block->end())) return false;
      append_range(Work, predecessors(Block));
    }
    return true;
  }

  /// Phis that can only be `V`.
  void joinPhis(Instruction *V) {
    SmallVector<WeakTrackingVH, 8> Phis;
    for (User *U : V->users())
      if (isa<PHINode>(U)) Phis.push_back(U);
    for (const WeakTrackingVH &Handle : Phis) {
      auto *Phi = dyn_cast_or_null<PHINode>(Handle);
      SmallPtrSet<PHINode *, 8> Web;
      if (!Phi || !isOnly(V, Phi, Web)) continue;
      for (PHINode *One : Web) One->replaceAllUsesWith(V);
      for (PHINode *One : Web) One->eraseFromParent();
    }
  }

  /// Whether `Phi` is `V` whichever way it came. It then is what `V` is now: a value of an earlier iteration would have to
  /// come through the header of a loop that `V` is in, into which there is a way that has no `V`.
  bool isOnly(const Instruction *V, PHINode *Phi, SmallPtrSetImpl<PHINode *> &Web) {
    const Loop *In = LI.getLoopFor(V->getParent());
    SmallVector<PHINode *, 8> Work{Phi};
    while (!Work.empty()) {
      PHINode *Next = Work.pop_back_val();
      if (!Web.insert(Next).second) continue;
      if (In && !In->contains(Next)) return false; // behind the loop: it is to stay in LCSSA form
      for (Value *From : Next->incoming_values()) {
        if (From == V) continue;
        auto *Other = dyn_cast<PHINode>(From);
        if (!Other || Web.size() > MostPhis) return false;
        Work.push_back(Other);
      }
    }
    return true;
  }
};

} // namespace

bool hoistInvariantLoads(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE, AAResults &AA) {
  return Hoister(F, LI, DT, SE, AA).run();
}

} // namespace pagecast
