// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Search tracing: the largest set of searches that need nothing from one another that is not in it.

#include "slices/SearchTracing.h"
#include "loops/Control.h"
#include "slices/Operations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pagecast {
namespace {

/// The values that `I` goes on from, if it is the same or next to them; else nothing.
SmallVector<const Value *, 4> placesBefore(const Instruction *I) {
  constexpr int64_t Far = 64;
  switch (I->getOpcode()) {
  case Instruction::PHI: return SmallVector<const Value *, 4>(cast<PHINode>(I)->incoming_values());
  case Instruction::Select: return {I->getOperand(1), I->getOperand(2)};
  case Instruction::And:
  case Instruction::URem:
  case Instruction::SExt:
  case Instruction::ZExt:
  case Instruction::Trunc: return {I->getOperand(0)};
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::GetElementPtr: {
    const auto *Step = I->getNumOperands() == 2 ? dyn_cast<ConstantInt>(I->getOperand(1)) : nullptr;
    if (Step && Step->getValue().abs().ule(Far)) return {I->getOperand(0)};
    return {};
  }
  default: return {};
  }
}

/// What goes on to the next place, or stays, whichever way it goes: loops inside, which it may go round, among them.
bool isNextTo(const Value *V, const Loop *L) {
  SmallSetVector<const Value *, 16> Needed;
  Needed.insert(V);
  for (unsigned N = 0; N < Needed.size(); ++N) {
    const auto *I = dyn_cast<Instruction>(Needed[N]);
    if (!I || !L->contains(I)) return false;
    if (isa<PHINode>(I) && I->getParent() == L->getHeader()) continue;
    const SmallVector<const Value *, 4> Before = placesBefore(I);
    if (Before.empty()) return false;
    Needed.insert(Before.begin(), Before.end());
  }
  return true;
}

bool isSliceFunction(const CallBase &Call) {
  switch (Call.getIntrinsicID()) {
  case Intrinsic::umin:
  case Intrinsic::umax:
  case Intrinsic::smin:
  case Intrinsic::smax:
  case Intrinsic::fabs:
  case Intrinsic::fma:
  case Intrinsic::fmuladd: return true;
  default: return floatingFunctionOf(Call).has_value();
  }
}

} // namespace

SearchTracing::SearchTracing(const LoopInfo &LI, const DominatorTree &DT, const DenseSet<const Loop *> &All,
                             const DenseSet<const Loop *> &Small)
    : LI(LI), DT(DT), All(All), Small(Small), Found(All) {
  if (All.empty()) return;
  for (bool Changed = true; Changed;) {
    Changed = false;
    Known.clear();
    for (const Loop *L : All) Changed |= Found.count(L) && losesPhi(L);
    Known.clear();
    for (const Loop *L : All)
      if (Found.count(L) && !leads(L)) Changed = Found.erase(L);
  }
  for (const Loop *L : LI.getLoopsInPreorder())
    if (Found.count(L) && !Found.count(L->getParentLoop()) && creeps(L)) Found.erase(L);
  Known.clear();
}

bool SearchTracing::losesPhi(const Loop *L) {
  bool Any = false;
  for (const PHINode &Phi : L->getHeader()->phis())
    if (!Lost.count(&Phi) && !all_of(Phi.incoming_values(), [&](const Value *V) { return computes(V); }))
      Any |= Lost.insert(&Phi).second;
  return Any;
}

/// Whether it ends at a place that is known, and all that it loads on its way can be told.
bool SearchTracing::leads(const Loop *L) {
  SmallVector<BasicBlock *, 4> Exiting;
  L->getExitingBlocks(Exiting);
  const bool Ends = any_of(Exiting, [&](const BasicBlock *From) {
    const auto *Branch = dyn_cast<BranchInst>(From->getTerminator());
    return Branch && Branch->isConditional() && LI.getLoopFor(From) == L && computes(Branch->getCondition());
  });
  return Ends && all_of(L->blocks(), [&](const BasicBlock *Block) {
           return LI.getLoopFor(Block) != L || all_of(*Block, [&](const Instruction &I) {
                    const auto *Load = dyn_cast<LoadInst>(&I);
                    return !Load || computes(Load->getPointerOperand());
                  });
         });
}

/// Whether all that the addresses in it depend on goes on to places next to the last ones.
bool SearchTracing::creeps(const Loop *L) const {
  SmallSetVector<const Value *, 32> Needed;
  for (const BasicBlock *Block : L->blocks())
    for (const Instruction &I : *Block)
      if (const Value *Pointer = getLoadStorePointerOperand(&I)) Needed.insert(Pointer);
  for (unsigned N = 0; N < Needed.size(); ++N) {
    const auto *I = dyn_cast<Instruction>(Needed[N]);
    if (!I || !L->contains(I)) continue;
    if (const auto *Phi = dyn_cast<PHINode>(I); Phi && Phi->getParent() == L->getHeader()) {
      const Value *Next = Phi->getIncomingValueForBlock(L->getLoopLatch());
      if (isNextTo(Next, L)) continue;
      // A place in an array that goes with an index.
      const auto *Place = dyn_cast<GetElementPtrInst>(Next);
      if (!Place || Place->getNumIndices() != 1 || !L->isLoopInvariant(Place->getPointerOperand())) return false;
      if (!isNextTo(Place->getOperand(1), L)) return false;
      continue;
    }
    for (const Value *V : I->operands()) Needed.insert(V);
  }
  return true;
}

bool SearchTracing::computes(const Value *V) {
  if (!isSliceType(V->getType())) return false;
  const auto *I = dyn_cast<Instruction>(V);
  if (!I) return true;
  const Loop *L = LI.getLoopFor(I->getParent());
  if (!traces(L)) { // inside a search that is not one of ours, or outside of all
    while (L && (Small.count(L) || All.count(L)) && !Found.count(L)) L = L->getParentLoop();
    if (!traces(L)) return true;
    return false;
  }
  if (const auto *Phi = dyn_cast<PHINode>(I); Phi && Phi->getParent() == L->getHeader()) return !Lost.count(Phi);
  if (auto Before = Known.find(V); Before != Known.end()) return Before->second;
  const auto *Phi = dyn_cast<PHINode>(I);
  const bool Computes = Phi ? computesPhi(Phi) : computesOperation(I);
  return Known[V] = Computes;
}

/// What a search inside leaves behind, or what is one of two by a condition.
bool SearchTracing::computesPhi(const PHINode *Phi) {
  auto All = [&](auto &&Values) { return all_of(Values, [&](const Value *V) { return computes(V); }); };
  const Loop *Left = LI.getLoopFor(Phi->getIncomingBlock(0));
  if (traces(Left) && !Left->contains(Phi)) return All(Phi->incoming_values());
  std::optional<Choice> C = choiceOf(Phi, DT);
  return C && computes(C->On) && computes(C->Otherwise) &&
         all_of(C->Cases, [&](const auto &Case) { return computes(Case.second); });
}

bool SearchTracing::computesOperation(const Instruction *I) {
  if (const auto *Load = dyn_cast<LoadInst>(I)) {
    const unsigned Width = widthOf(Load->getType());
    return Load->isSimple() && Width % 8 == 0 && isPowerOf2_32(Width) && computes(Load->getPointerOperand());
  }
  if (const auto *Call = dyn_cast<CallBase>(I))
    return isSliceFunction(*Call) && all_of(Call->args(), [&](const Value *V) { return computes(V); });
  if (!isa<CmpInst, SelectInst, CastInst, GetElementPtrInst, FreezeInst, UnaryOperator>(I) && !operationOf(*I)) return false;
  return all_of(I->operands(), [&](const Value *V) { return computes(V); });
}

} // namespace pagecast
