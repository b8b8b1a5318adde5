// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Speculated values: what each iteration loads from one place and stores there anew.

#include "loops/SpeculatedValues.h"
#include "loops/SpeculatedLoops.h"

using namespace llvm;

namespace pagecast {

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
