// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Speculated values: finding the loads, and reading expressions with them.

#include "loops/SpeculatedValues.h"
#include "loops/Majors.h"
#include "loops/SpeculatedLoops.h"
#include "loops/PeriodicIndices.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/Loads.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace pagecast {
namespace {

/// A load, and how what it loads becomes wider, if it does.
struct Behind {
  LoadInst *Load = nullptr;
  bool Signed = false, Unsigned = false;
};

/// A load that `V` is the value of, whichever way it came: earlier optimizations turn what is loaded again at the
/// end of each iteration into phis of loads of one address, and of what those become when they are made wider.
Behind loadBehind(Value *V) {
  constexpr unsigned Most = 64;
  Behind Found;
  SmallVector<Value *, 8> Work{V};
  SmallPtrSet<Value *, 16> Seen;
  while (!Work.empty()) {
    Value *Next = Work.pop_back_val();
    if (!Seen.insert(Next).second) continue;
    if (Seen.size() > Most) return {};
    if (auto *Phi = dyn_cast<PHINode>(Next)) {
      append_range(Work, Phi->incoming_values());
      continue;
    }
    if (isa<SExtInst, ZExtInst>(Next) && Next != V) {
      const auto *Wider = cast<CastInst>(Next);
      Found.Signed |= isa<SExtInst>(Wider);
      Found.Unsigned |= isa<ZExtInst>(Wider) && !isNonNegative(*Wider);
      Work.push_back(Wider->getOperand(0));
      continue;
    }
    auto *Load = dyn_cast<LoadInst>(Next);
    if (!Load || !mayBeBoundOrBase(Load) ||
        (Found.Load &&
         (Found.Load->getPointerOperand() != Load->getPointerOperand() || Found.Load->getType() != Load->getType())))
      return {};
    Found.Load = Load;
  }
  return Found.Signed && Found.Unsigned ? Behind{} : Found;
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

bool mayBeBoundOrBase(const LoadInst *I) {
  const Type *T = I->getType();
  return I->isSimple() &&
         (T->isPointerTy() || (T->isIntegerTy() && T->getIntegerBitWidth() >= 16 && T->getIntegerBitWidth() <= 64));
}

bool canLoadBefore(LoadInst *I, Loop *L, const DominatorTree &DT) {
  return isSafeToLoadUnconditionally(I->getPointerOperand(), I->getType(), I->getAlign(), I->getModule()->getDataLayout(),
                                     L->getLoopPreheader()->getTerminator(), nullptr, &DT) ||
         isFirst(I, L) || wasTouchedBefore(I, L);
}

const SCEV *choiceAsSum(Value *Condition, const SCEV *Yes, const SCEV *No, ScalarEvolution &SE) {
  const SCEV *IsYes = SE.getZeroExtendExpr(SE.getSCEV(Condition), No->getType());
  return SE.getAddExpr(No, SE.getMulExpr(IsYes, SE.getMinusSCEV(Yes, No)));
}

/// The outermost loop around `Innermost`, or that itself, whose preheader can have the copy.
Loop *SpeculatedValues::furthest(LoadInst *I, Loop *Innermost) {
  Loop *Found = nullptr;
  for (Loop *L = Innermost; L; L = L->getParentLoop()) {
    if (!L->getLoopPreheader() || !L->isLoopInvariant(I->getPointerOperand())) break;
    const Changes How = changes(I->getPointerOperand(), L, DT);
    if (How == Changes::Always || (How == Changes::NowAndThen && !isCounted(L, SE))) break;
    if (canLoadBefore(I, L, DT)) Found = L;
  }
  return Found;
}

void SpeculatedValues::insert() {
  speculateLoads();
  speculateResults();
  writeChoices();
  speculatePeriodicIndices();
  speculateCarried();
  speculateLoadsOfThose();
  speculateKept();
  speculateChunkedLists();
}

void SpeculatedValues::speculateLoads() {
  DenseMap<std::pair<Loop *, Value *>, LoadInst *> Made;
  SmallVector<Instruction *, 16> Values; // loads and phis of loads
  forEachInstruction(LI, [&](Instruction &I) {
    if (isa<LoadInst, PHINode>(I) && I.getType()->isIntOrPtrTy() && SE.isSCEVable(I.getType())) Values.push_back(&I);
  });
  for (Instruction *Value : Values) {
    if (isa<PHINode>(Value) && !isa<SCEVUnknown>(SE.getSCEV(Value))) continue;
    const Behind From = loadBehind(Value);
    LoadInst *I = From.Load;
    Loop *L = I ? furthest(I, LI.getLoopFor(Value->getParent())) : nullptr;
    if (!L) continue;
    LoadInst *&Copy = Made[{L, I->getPointerOperand()}];
    if (!Copy || Copy->getType() != I->getType()) Copy = copyBefore(I, L);
    const SCEV *Same = SE.getUnknown(Copy);
    if (Value->getType() == Copy->getType()) Known[Value] = Same;
    else if (From.Unsigned) Known[Value] = SE.getZeroExtendExpr(Same, Value->getType());
    else Known[Value] = SE.getSignExtendExpr(Same, Value->getType());
  }
}

/// What stands for `V`, as far as it is a value: itself if nothing else does.
Value *SpeculatedValues::known(Value *V) const {
  const auto At = Known.find(V);
  if (At == Known.end()) return V;
  const auto *Unknown = dyn_cast<SCEVUnknown>(At->second);
  return Unknown ? Unknown->getValue() : nullptr;
}

/// What is computed from loads that stay by operations that scalar evolution does not know, as the half of a signed number:
/// for (y = 0; y < image->height / 2; y++). It is computed once more, where the loads are.
void SpeculatedValues::speculateResults() {
  SmallVector<BinaryOperator *, 8> Results;
  forEachInstruction(LI, [&](Instruction &I) {
    if (auto *Result = dyn_cast<BinaryOperator>(&I); Result && SE.isSCEVable(I.getType()) &&
                                                     any_of(I.operands(), [&](Value *V) { return Known.count(V); }) &&
                                                     isa<SCEVUnknown>(SE.getSCEV(&I)))
      Results.push_back(Result);
  });
  for (BinaryOperator *I : Results) {
    Value *Operands[] = {known(I->getOperand(0)), known(I->getOperand(1))};
    auto AllBefore = [&](Loop *L) {
      return L && L->getLoopPreheader() &&
             all_of(Operands, [&](Value *V) { return V && DT.dominates(V, L->getLoopPreheader()->getTerminator()); });
    };
    Loop *Found = nullptr;
    for (Loop *L = LI.getLoopFor(I->getParent()); AllBefore(L); L = L->getParentLoop()) Found = L;
    if (!Found) continue;
    Instruction *Copy = I->clone();
    for (unsigned K = 0; K < 2; ++K) Copy->setOperand(K, Operands[K]);
    Copy->dropPoisonGeneratingFlags(); // an assumption may be wrong
    if (!isSafeToSpeculativelyExecute(Copy)) {
      Copy->deleteValue();
      continue;
    }
    Copy->setName("speculated");
    Copy->insertBefore(Found->getLoopPreheader()->getTerminator());
    Copies.push_back(Copy);
    Known[I] = SE.getUnknown(Copy);
  }
}

/// What comes round at an end of a loop is taken to be what it is in between.
void SpeculatedValues::speculatePeriodicIndices() {
  forEachInstruction(LI, [&](Instruction &I) {
    if (const SCEV *Between = usualIndex(I, [&](Value *V) { return scev(V); }, SE)) Known[&I] = Between;
  });
}

/// One of two counters, by what is known before the loop: i = back ? n - 1 - k : k. Scalar evolution has no choices, but
/// k + back * (n - 1 - 2 * k) is the same. Nothing is assumed.
void SpeculatedValues::writeChoices() {
  forEachInstruction(LI, [&](Instruction &I) {
    auto *Choice = dyn_cast<SelectInst>(&I);
    if (!Choice || !Choice->getType()->isIntegerTy() || Choice->getType()->isIntegerTy(1) ||
        !isa<SCEVUnknown>(SE.getSCEV(Choice)))
      return;
    const Loop *L = LI.getLoopFor(Choice->getParent());
    const SCEV *Yes = scev(Choice->getTrueValue()), *No = scev(Choice->getFalseValue());
    const bool Moves = isa<SCEVAddRecExpr>(Yes) || isa<SCEVAddRecExpr>(No);
    if (!Moves || !L->isLoopInvariant(Choice->getCondition())) return;
    Known[Choice] = choiceAsSum(Choice->getCondition(), Yes, No, SE);
  });
}

LoadInst *SpeculatedValues::copyBefore(LoadInst *I, Loop *L) {
  auto *Copy = cast<LoadInst>(I->clone());
  Copy->setName("speculated");
  Copy->dropUnknownNonDebugMetadata();
  Copy->insertBefore(L->getLoopPreheader()->getTerminator());
  Copies.push_back(Copy);
  return Copy;
}

void SpeculatedValues::speculateChunkedLists() {
  for (Loop *L : LI.getLoopsInPreorder())
    if (L->getLoopPreheader() && L->getLoopLatch()) speculateChunkedLists(L);
}

void SpeculatedValues::speculateChunkedLists(Loop *L) {
  DenseMap<Value *, std::optional<ChunkedListPosition>> Positions; // by where they are kept
  for (BasicBlock *Block : L->blocks()) {
    if (LI.getLoopFor(Block) != L) continue;
    for (Instruction &I : *Block) {
      std::optional<ChunkedListWalk> W = chunkedListWalk(&I, L, DT);
      if (!W) continue;
      auto [At, New] = Positions.try_emplace(W->At);
      if (New) At->second = loadPosition(*W, W->At, L->getLoopPreheader()->getTerminator(), DT);
      if (!At->second) continue;
      if (New) append_range(Copies, At->second->Made);
      ChunkedValues.try_emplace(&I, ChunkedListStart{L, W->Step, W->Size, At->second->Offset, At->second->Chunk});
    }
  }
}

const ChunkedListStart *SpeculatedValues::chunked(const Instruction *I) const {
  auto Found = ChunkedValues.find(I);
  return Found == ChunkedValues.end() ? nullptr : &Found->second;
}

const SCEV *SpeculatedValues::rewrite(const SCEV *S) {
  if (isa<SCEVCouldNotCompute>(S)) return S;
  return withUsualQuotients(Known.empty() ? S : SCEVParameterRewriter::rewrite(S, SE, Known), SE);
}

/// Whether `S` has a counter that begins or steps by `Copy` in a loop around `I`: such a counter has one beginning for all of the loop's
/// iterations, and what `I` loads is another value in each.
static bool countsFrom(const SCEV *S, const SCEV *Copy, const Instruction *I) {
  return SCEVExprContains(S, [&](const SCEV *Part) {
    const auto *Counter = dyn_cast<SCEVAddRecExpr>(Part);
    return Counter && Counter->getLoop()->contains(I) && SCEVExprContains(Counter, [&](const SCEV *In) { return In == Copy; });
  });
}

const SCEV *SpeculatedValues::exact(const SCEV *S, const Loop *Root) {
  auto IsCopy = [&](const SCEV *Part) {
    const auto *Unknown = dyn_cast<SCEVUnknown>(Part);
    return Unknown && is_contained(Copies, Unknown->getValue());
  };
  if (!SCEVExprContains(S, IsCopy)) return S;
  DenseMap<Value *, LoadInst *> Latest; // of those with one copy: which is the same in each compilation
  for (const auto &[Original, Same] : Known) {
    const auto *Copy = dyn_cast<SCEVUnknown>(Same);
    auto *I = const_cast<LoadInst *>(dyn_cast<LoadInst>(static_cast<const Value *>(Original)));
    if (!Copy || !I || Copy->getType() != I->getType() || !DT.dominates(I, Root->getLoopPreheader()->getTerminator()) ||
        countsFrom(S, Copy, I))
      continue;
    LoadInst *&Now = Latest[Copy->getValue()];
    if (!Now || DT.dominates(Now, I)) Now = I;
  }
  ValueToSCEVMapTy Own;
  for (auto [Copy, I] : Latest) Own[Copy] = SE.getUnknown(I);
  return Own.empty() ? S : SCEVParameterRewriter::rewrite(S, SE, Own);
}

const SCEV *SpeculatedValues::scev(Value *V) { return rewrite(SE.getSCEV(V)); }

bool SpeculatedValues::movesWith(const SCEV *S, const Loop *L) {
  constexpr unsigned Deepest = 8;
  return moves(S, L, Deepest);
}

bool SpeculatedValues::moves(const SCEV *S, const Loop *L, unsigned Depth) {
  return SCEVExprContains(S, [&](const SCEV *Part) {
    if (const auto *Walk = dyn_cast<SCEVAddRecExpr>(Part)) return Walk->getLoop() == L; // of inner loops: their operands
    const auto *Unknown = dyn_cast<SCEVUnknown>(Part);
    return Unknown && moves(Unknown->getValue(), L, Depth);
  });
}

/// The same for values that scalar evolution cannot tell apart.
bool SpeculatedValues::moves(Value *V, const Loop *L, unsigned Depth) {
  const auto *I = dyn_cast<Instruction>(V);
  if (!I || !L->contains(I)) return false;
  if (const ChunkedListStart *Walk = chunked(I); Walk && Walk->L == L) return true;
  if (Depth == 0 || (!isa<LoadInst>(I) && (isa<PHINode>(I) || I->mayReadOrWriteMemory()))) return true;
  return any_of(I->operands(), [&](Value *Operand) {
    return SE.isSCEVable(Operand->getType()) ? moves(scev(Operand), L, Depth - 1) : moves(Operand, L, Depth - 1);
  });
}

Value *SpeculatedValues::bits(Value *Number) {
  auto [Found, New] = Bits.try_emplace(Number, nullptr);
  if (!New) return Found->second;
  Instruction *At = nullptr;
  if (auto *I = dyn_cast<Instruction>(Number)) At = behind(*I);
  else if (auto *A = dyn_cast<Argument>(Number)) At = &*A->getParent()->getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
  if (!At) return nullptr;
  Type *Integer = IntegerType::get(Number->getContext(), Number->getType()->getScalarSizeInBits());
  Found->second = new BitCastInst(Number, Integer, Number->getName() + ".bits", At);
  Copies.push_back(Found->second);
  return Found->second;
}

bool SpeculatedValues::removeUnused() {
  bool Left = false;
  for (Instruction *Copy : reverse(Copies)) { // what is computed from copies before these
    if (Copy->use_empty()) {
      SE.forgetValue(Copy);
      Copy->eraseFromParent();
    } else {
      Left = true;
    }
  }
  Copies.clear();
  Bits.clear();
  Known.clear();
  KeptValues.clear();
  ChunkedValues.clear();
  return Left;
}

} // namespace pagecast
