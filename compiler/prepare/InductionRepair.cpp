// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Induction repair: the replacement.

#include "prepare/InductionRepair.h"

#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace pagecast {
namespace {

/// What `Next` is on every way, one instruction for each of them; null if the ways differ. Its operands are there where
/// `Next` is: they dominate each of the ways.
BinaryOperator *sameOnAllWays(const PHINode *Next) {
  auto *First = dyn_cast<BinaryOperator>(Next->getIncomingValue(0));
  if (!First || (First->getOpcode() != Instruction::Add && First->getOpcode() != Instruction::Sub)) return nullptr;
  for (const Value *V : Next->incoming_values()) {
    const auto *Other = dyn_cast<BinaryOperator>(V);
    if (!Other || !Other->isSameOperationAs(First, Instruction::CompareIgnoringAlignment) ||
        Other->getOperand(0) != First->getOperand(0) || Other->getOperand(1) != First->getOperand(1))
      return nullptr;
  }
  return First;
}

/// Whether it adds to `Counter` itself: what else is the same on all ways is no one's concern here.
bool counts(const BinaryOperator *Sum, const PHINode *Counter) {
  return Sum->getOperand(0) == Counter || (Sum->getOpcode() == Instruction::Add && Sum->getOperand(1) == Counter);
}

bool repair(PHINode *Counter, const Loop *L) {
  auto *Next = dyn_cast<PHINode>(Counter->getIncomingValueForBlock(L->getLoopLatch()));
  if (!Next || Next->getParent() == L->getHeader() || !L->contains(Next)) return false;
  BinaryOperator *Sum = sameOnAllWays(Next);
  if (!Sum || !counts(Sum, Counter)) return false;
  const BasicBlock::iterator Place = Next->getParent()->getFirstInsertionPt();
  if (Place == Next->getParent()->end()) return false; // a block that only dispatches exceptions
  Instruction *One = Sum->clone();
  for (const Value *V : Next->incoming_values()) One->andIRFlags(V); // what one way alone promises is not certain
  One->insertInto(Next->getParent(), Place);
  One->takeName(Next);
  SmallVector<WeakTrackingVH, 4> Ways(Next->incoming_values());
  Next->replaceAllUsesWith(One);
  Next->eraseFromParent();
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(Ways);
  return true;
}

} // namespace

bool repairInductions(LoopInfo &LI, ScalarEvolution &SE) {
  bool Changed = false;
  for (Loop *L : LI.getLoopsInPreorder()) {
    if (!L->getLoopLatch()) continue;
    SmallVector<PHINode *, 8> Counters;
    for (PHINode &Phi : L->getHeader()->phis()) Counters.push_back(&Phi);
    for (PHINode *Counter : Counters) Changed |= repair(Counter, L);
  }
  if (Changed) SE.forgetAllLoops();
  return Changed;
}

} // namespace pagecast
