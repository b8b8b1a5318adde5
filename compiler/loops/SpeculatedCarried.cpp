// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Speculated values: bases and numbers that a loop carries and changes now and then, and loads from where they say.

#include "loops/SpeculatedValues.h"
#include "loops/SpeculatedLoops.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AliasAnalysis.h"

using namespace llvm;

namespace pagecast {
namespace {

/// The phis that `Carried`, of the header of `L`, goes on with; none if it changes otherwise than so. A base stays what it is on
/// some way, as when a vector needs no more space. On the others it becomes memory that is new, or loaded from where it is kept.
/// A number is loaded again from where it is kept, or is known to be 0 where there is nothing to do.
SmallPtrSet<PHINode *, 16> movedNowAndThen(PHINode *Carried, const Loop *L, const DominatorTree &DT) {
  constexpr unsigned Most = 64;
  const bool Base = Carried->getType()->isPointerTy();
  SmallPtrSet<PHINode *, 16> Web;
  bool Stays = false;
  const Value *Kept = nullptr; ///< where the number is
  SmallVector<Value *, 8> Work{Carried->getIncomingValueForBlock(L->getLoopLatch())};
  while (!Work.empty()) {
    Value *Next = Work.pop_back_val();
    if (auto *Phi = dyn_cast<PHINode>(Next); Phi && Phi != Carried && L->contains(Phi)) {
      if (!Web.insert(Phi).second) continue;
      if (Web.size() > Most) return {};
      append_range(Work, Phi->incoming_values());
      continue;
    }
    Stays |= Next == Carried;
    if (Next == Carried || (isa<Constant>(Next) && cast<Constant>(Next)->isNullValue()) || (Base && isNoAliasCall(Next)))
      continue;
    const auto *Load = dyn_cast<LoadInst>(Next);
    if (!Load || !mayBeBoundOrBase(Load) || !L->isLoopInvariant(Load->getPointerOperand())) return {};
    if (!Base && Kept && Kept != Load->getPointerOperand()) return {};
    Kept = Load->getPointerOperand();
  }
  if (Base ? !Stays : !Kept || changes(Kept, L, DT) == Changes::Always) return {};
  Web.insert(Carried);
  return Web;
}

} // namespace

/// Bases that the program moves now and then are taken to stay where they are when the loop is entered: the outermost one
/// that there can be a nest of. So are numbers that were stored just before it, and are loaded again in the loop alone.
void SpeculatedValues::speculateCarried() {
  for (Loop *L : LI.getLoopsInPreorder()) {
    if (!L->getLoopPreheader() || !L->getLoopLatch() || !isCounted(L, SE)) continue;
    for (PHINode &Carried : L->getHeader()->phis()) {
      if (!Carried.getType()->isIntOrPtrTy() || !SE.isSCEVable(Carried.getType()) || Known.count(&Carried) ||
          !isa<SCEVUnknown>(SE.getSCEV(&Carried)))
        continue;
      for (PHINode *Phi : movedNowAndThen(&Carried, L, DT))
        Known.try_emplace(Phi, rewrite(SE.getSCEV(Carried.getIncomingValueForBlock(L->getLoopPreheader()))));
    }
  }
}

/// Loads whose address stays if what has been assumed does: the value is the one that the same load has in front of the
/// loop, as in the test that rotation leaves there.
void SpeculatedValues::speculateLoadsOfThose() {
  if (Known.empty()) return;
  forEachInstruction(LI, [&](Instruction &I) {
    auto *Load = dyn_cast<LoadInst>(&I);
    if (!Load || !mayBeBoundOrBase(Load) || Known.count(Load)) return;
    const Loop *L = LI.getLoopFor(I.getParent());
    const SCEV *Own = SE.getSCEV(Load->getPointerOperand()), *Address = rewrite(Own);
    if (Address == Own || !SE.isLoopInvariant(Address, L)) return;
    if (LoadInst *Same = loadedBefore(Load, Address, L)) Known[Load] = SE.getUnknown(Same);
  });
}

LoadInst *SpeculatedValues::loadedBefore(const LoadInst *Load, const SCEV *Address, const Loop *L) {
  unsigned Left = 64;
  for (BasicBlock *Block = L->getLoopPreheader(); Block; Block = Block->getSinglePredecessor())
    for (Instruction &Before : reverse(*Block)) {
      if (Left-- == 0) return nullptr;
      auto *Other = dyn_cast<LoadInst>(&Before);
      if (Other && mayBeBoundOrBase(Other) && Other->getType() == Load->getType() && scev(Other->getPointerOperand()) == Address)
        return Other;
    }
  return nullptr;
}

} // namespace pagecast
