// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches: finding them, and what they begin with.

#include "slices/Searches.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>

using namespace llvm;

namespace pagecast {
namespace {

/// Recurrences of searches become what they start with, and so do the phis that scalar evolution knows nothing of.
class FirstIteration : public SCEVRewriteVisitor<FirstIteration> {
public:
  FirstIteration(ScalarEvolution &SE, const Searches &S, const Loop *Within) : SCEVRewriteVisitor(SE), S(S), Within(Within) {}

  const SCEV *visitAddRecExpr(const SCEVAddRecExpr *R) {
    if (S.contains(R->getLoop()) && !S.traces(R->getLoop()) && Within->contains(R->getLoop())) return visit(R->getStart());
    return SCEVRewriteVisitor::visitAddRecExpr(R);
  }

  const SCEV *visitUnknown(const SCEVUnknown *U) {
    const auto *Phi = dyn_cast<PHINode>(U->getValue());
    Value *First = Phi && Within->contains(Phi) ? S.first(Phi) : nullptr;
    return First && SE.isSCEVable(First->getType()) ? visit(SE.getSCEV(First)) : U;
  }

private:
  const Searches &S;
  const Loop *Within;
};

} // namespace

/// Finds searches from the inside: loops that have no others in them. Then drops, from the outside, those without a loop
/// around them that can be counted.
Searches::Searches(LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE, function_ref<bool(Loop *)> Counted,
                   const DenseSet<const Loop *> &Small)
    : LI(LI), SE(SE) {
  SmallVector<Loop *, 8> Inwards = LI.getLoopsInPreorder();
  for (Loop *L : reverse(Inwards))
    if (L->getParentLoop() && L->isLoopSimplifyForm() && !Small.count(L) && !Counted(L) &&
        all_of(*L, [&](const Loop *Inner) { return Small.count(Inner) || Found.count(Inner); }))
      Found.insert(L);
  for (Loop *L : Inwards)
    if (Found.count(L) && !Found.count(L->getParentLoop()) && !Counted(L->getParentLoop())) Found.erase(L);
  Tracing.emplace(LI, DT, Found, Small);
}

Loop *Searches::leftBy(const PHINode *Phi) const {
  Loop *L = LI.getLoopFor(Phi->getIncomingBlock(0));
  if (!traces(L) || L->contains(Phi)) return nullptr;
  return all_of(Phi->blocks(), [&](const BasicBlock *Before) { return LI.getLoopFor(Before) == L; }) ? L : nullptr;
}

const Loop *Searches::tracedAt(const Instruction *I) const {
  if (const Loop *L = LI.getLoopFor(I->getParent()); traces(L)) return L;
  const auto *Phi = dyn_cast<PHINode>(I);
  return Phi ? leftBy(Phi) : nullptr;
}

bool Searches::comesFrom(const SCEV *S, const Loop *Within) const {
  return !isa<SCEVCouldNotCompute>(S) && SCEVExprContains(S, [&](const SCEV *Part) {
    if (const auto *R = dyn_cast<SCEVAddRecExpr>(Part)) return traces(R->getLoop()) && Within->contains(R->getLoop());
    const auto *U = dyn_cast<SCEVUnknown>(Part);
    const auto *I = U ? dyn_cast<Instruction>(U->getValue()) : nullptr;
    const Loop *By = I ? tracedAt(I) : nullptr;
    return By && Within->contains(By);
  });
}

Loop *Searches::around(Loop *L) const {
  while (L && begins(L)) L = L->getParentLoop();
  return L;
}

bool Searches::anyIn(const Loop *L) const {
  return any_of(Found, [&](const Loop *Search) { return L->contains(Search); });
}

const SCEV *Searches::first(const SCEV *S, const Loop *Within) const {
  return Found.empty() || isa<SCEVCouldNotCompute>(S) ? S : FirstIteration(SE, *this, Within).visit(S);
}

bool Searches::leavesSearch(const BasicBlock *From, const BasicBlock *To) const {
  const Loop *L = LI.getLoopFor(From);
  return L && begins(L) && !L->contains(To);
}

/// Whether it is what a search leaves behind.
bool Searches::isResult(const Value *V) const {
  const auto *Phi = dyn_cast<PHINode>(V);
  return Phi && all_of(Phi->blocks(), [&](const BasicBlock *Before) { return leavesSearch(Before, Phi->getParent()); });
}

Value *Searches::first(const PHINode *Phi) const {
  const BasicBlock *Here = Phi->getParent();
  const Loop *L = LI.getLoopFor(Here);
  if (L && L->getHeader() == Here) return begins(L) ? Phi->getIncomingValueForBlock(L->getLoopPreheader()) : nullptr;
  if (isResult(Phi)) return Phi->getIncomingValue(0);
  // What was found without the search, behind one whose first test stands before it.
  Value *AtOnce = nullptr;
  bool Searched = false;
  for (unsigned I = 0; I < Phi->getNumIncomingValues(); ++I) {
    Value *V = Phi->getIncomingValue(I);
    if (isResult(V)) Searched = true;
    else if (AtOnce && AtOnce != V) return nullptr;
    else AtOnce = V;
  }
  return Searched ? AtOnce : nullptr;
}

} // namespace pagecast
