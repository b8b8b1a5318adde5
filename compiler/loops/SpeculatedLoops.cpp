// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the loops themselves say of values that are assumed to stay.

#include "loops/SpeculatedLoops.h"

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

} // namespace pagecast
