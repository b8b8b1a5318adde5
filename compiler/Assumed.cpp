// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assumed values: finding the loads, and reading expressions with them.

#include "Assumed.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/Loads.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace pagecast {
namespace {

/// A load that `V` is the value of, whichever way it came: earlier optimizations turn what is loaded again at the
/// end of each iteration into phis of loads of one address.
LoadInst *loadBehind(Value *V) {
  constexpr unsigned Most = 16;
  LoadInst *Found = nullptr;
  SmallVector<Value *, 8> Work{V};
  SmallPtrSet<Value *, 16> Seen;
  while (!Work.empty()) {
    Value *Next = Work.pop_back_val();
    if (!Seen.insert(Next).second) continue;
    if (Seen.size() > Most) return nullptr;
    if (auto *Phi = dyn_cast<PHINode>(Next)) {
      append_range(Work, Phi->incoming_values());
      continue;
    }
    auto *Load = dyn_cast<LoadInst>(Next);
    if (!Load || !isHeld(Load) || (Found && Found->getPointerOperand() != Load->getPointerOperand())) return nullptr;
    Found = Load;
  }
  return Found;
}

/// Whether `L` itself says that what is at the address changes: a store to it, or a call that is given it.
bool changes(const Value *Pointer, const Loop *L) {
  return any_of(Pointer->users(), [&](const User *U) {
    const auto *I = dyn_cast<Instruction>(U);
    if (!I || !L->contains(I)) return false;
    if (const auto *Store = dyn_cast<StoreInst>(I)) return Store->getPointerOperand() == Pointer;
    return isa<CallBase>(I) && !I->isLifetimeStartOrEnd() && !I->isDebugOrPseudoInst();
  });
}

/// Whether the load is reached whenever the loop is entered: nothing before it in the header leaves.
bool isFirst(const LoadInst *I, const Loop *L) {
  if (I->getParent() != L->getHeader()) return false;
  for (const Instruction &Before : *I->getParent()) {
    if (&Before == I) return true;
    if (!isGuaranteedToTransferExecutionToSuccessor(&Before)) return false;
  }
  return false;
}

/// Whether the program itself goes to `Pointer` on every way to `L`, not far before it, as the test does that rotation
/// leaves in front of a loop: nothing in between can have freed what is there.
bool wasTouchedBefore(const LoadInst *I, const Loop *L) {
  unsigned Left = 64;
  for (const BasicBlock *Block = L->getLoopPreheader(); Block; Block = Block->getSinglePredecessor())
    for (const Instruction &Before : reverse(*Block)) {
      if (Left-- == 0 || (isa<CallBase>(Before) && !isa<IntrinsicInst>(Before)) || Before.isAtomic()) return false;
      if (const auto *Load = dyn_cast<LoadInst>(&Before);
          Load && Load->getPointerOperand() == I->getPointerOperand() && Load->getType() == I->getType())
        return true;
    }
  return false;
}

} // namespace

bool isHeld(const LoadInst *I) {
  const Type *T = I->getType();
  return I->isSimple() &&
         (T->isPointerTy() || (T->isIntegerTy() && T->getIntegerBitWidth() >= 16 && T->getIntegerBitWidth() <= 64));
}

bool canLoadBefore(LoadInst *I, Loop *L, const DominatorTree &DT) {
  return isSafeToLoadUnconditionally(I->getPointerOperand(), I->getType(), I->getAlign(), I->getModule()->getDataLayout(),
                                     L->getLoopPreheader()->getTerminator(), nullptr, &DT) ||
         isFirst(I, L) || wasTouchedBefore(I, L);
}

/// The outermost loop around `Innermost`, or that itself, whose preheader can have the copy.
Loop *Assumed::furthest(LoadInst *I, Loop *Innermost) {
  Loop *Found = nullptr;
  for (Loop *L = Innermost; L; L = L->getParentLoop()) {
    if (!L->getLoopPreheader() || !L->isLoopInvariant(I->getPointerOperand()) || changes(I->getPointerOperand(), L)) break;
    if (canLoadBefore(I, L, DT)) Found = L;
  }
  return Found;
}

void Assumed::insert() {
  DenseMap<std::pair<Loop *, Value *>, LoadInst *> Made;
  SmallVector<Instruction *, 16> Values; // loads and phis of loads
  for (Loop *Top : LI)
    for (BasicBlock *Block : Top->blocks())
      for (Instruction &I : *Block)
        if (isa<LoadInst, PHINode>(I) && I.getType()->isIntOrPtrTy() && SE.isSCEVable(I.getType())) Values.push_back(&I);
  for (Instruction *Value : Values) {
    if (isa<PHINode>(Value) && !isa<SCEVUnknown>(SE.getSCEV(Value))) continue;
    LoadInst *I = loadBehind(Value);
    Loop *L = I ? furthest(I, LI.getLoopFor(Value->getParent())) : nullptr;
    if (!L) continue;
    LoadInst *&Copy = Made[{L, I->getPointerOperand()}];
    if (!Copy || Copy->getType() != I->getType()) {
      Copy = cast<LoadInst>(I->clone());
      Copy->setName("assumed");
      Copy->dropUnknownNonDebugMetadata();
      Copy->insertBefore(L->getLoopPreheader()->getTerminator());
      Copies.push_back(Copy);
    }
    Known[Value] = SE.getUnknown(Copy);
  }
}

const SCEV *Assumed::rewrite(const SCEV *S) {
  return Known.empty() || isa<SCEVCouldNotCompute>(S) ? S : SCEVParameterRewriter::rewrite(S, SE, Known);
}

const SCEV *Assumed::scev(Value *V) { return rewrite(SE.getSCEV(V)); }

bool Assumed::removeUnused() {
  bool Left = false;
  for (LoadInst *Copy : Copies) {
    if (Copy->use_empty()) {
      SE.forgetValue(Copy);
      Copy->eraseFromParent();
    } else {
      Left = true;
    }
  }
  Copies.clear();
  Known.clear();
  return Left;
}

} // namespace pagecast
