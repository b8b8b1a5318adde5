// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the loops themselves say of speculated values, and what each iteration loads from one place and stores there anew.

#include "loops/SpeculatedLoops.h"
#include "loops/SpeculatedValues.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace pagecast {

bool isRealCall(const Instruction *I) { return isa<CallBase>(I) && !I->isLifetimeStartOrEnd() && !I->isDebugOrPseudoInst(); }

Changes changes(const Value *Pointer, const Loop *L, const DominatorTree &DT) {
  Changes Most = Changes::Never;
  for (const User *U : Pointer->users()) {
    const auto *I = dyn_cast<Instruction>(U);
    if (!I || !L->contains(I)) continue;
    if (const auto *Store = dyn_cast<StoreInst>(I); Store && Store->getPointerOperand() == Pointer) return Changes::Always;
    if (!isRealCall(I)) continue;
    if (!L->getLoopLatch() || DT.dominates(I->getParent(), L->getLoopLatch())) return Changes::Always;
    Most = Changes::NowAndThen;
  }
  return Most;
}

bool isCounted(const Loop *L, ScalarEvolution &SE) {
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  return any_of(Exiting, [&](const BasicBlock *Block) {
    const auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
    const auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
    return Compare && SE.isSCEVable(Compare->getOperand(0)->getType()) && any_of(Compare->operands(), [&](Value *V) {
             const auto *Walk = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(V));
             return Walk && Walk->getLoop() == L;
           });
  });
}

/// The store that is made to the load's address in each iteration of its loop; null if there is none or another one, or a call
/// is given the address, in `Within`.
static StoreInst *onlyStore(LoadInst *I, const Loop *Own, const Loop *Within, const DominatorTree &DT) {
  StoreInst *Found = nullptr;
  for (User *U : I->getPointerOperand()->users()) {
    auto *At = dyn_cast<Instruction>(U);
    if (!At || !Within->contains(At)) continue;
    if (isRealCall(At)) return nullptr;
    auto *Store = dyn_cast<StoreInst>(At);
    if (!Store || Store->getPointerOperand() != I->getPointerOperand()) continue;
    if (Found || !Store->isSimple() || Store->getValueOperand()->getType() != I->getType()) return nullptr;
    Found = Store;
  }
  const bool Each = Found && Own->getLoopLatch() && Own->contains(Found) && DT.dominates(Found->getParent(), Own->getLoopLatch());
  return Each ? Found : nullptr;
}

void SpeculatedValues::speculateKept() {
  SmallVector<LoadInst *, 16> Loads;
  forEachInstruction(LI, [&](Instruction &I) {
    if (auto *Load = dyn_cast<LoadInst>(&I); Load && mayBeBoundOrBase(Load) && !Known.count(Load)) Loads.push_back(Load);
  });
  for (LoadInst *Load : Loads) {
    Loop *Own = LI.getLoopFor(Load->getParent());
    if (!isCounted(Own, SE)) continue;
    for (Loop *L = Own; L && L->getLoopPreheader() && L->isLoopInvariant(Load->getPointerOperand()); L = L->getParentLoop()) {
      StoreInst *Store = onlyStore(Load, Own, L, DT);
      if (!Store || !canLoadBefore(Load, L, DT)) break;
      Kept &K = KeptValues[Load];
      K.Store = Store;
      K.Before[L] = copyBefore(Load, L);
    }
  }
}

const Kept *SpeculatedValues::kept(const LoadInst *I) const {
  auto Found = KeptValues.find(I);
  return Found == KeptValues.end() ? nullptr : &Found->second;
}

} // namespace pagecast
