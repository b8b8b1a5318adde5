// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores: comparing addresses.

#include "nests/Stores.h"
#include "loops/Affine.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <optional>
#include <utility>

using namespace llvm;

namespace pagecast {
namespace {

/// Loops with more are left alone: each is compared with each.
constexpr unsigned MostStores = 128;

bool isPlainStore(const Instruction &I) {
  if (const auto *Store = dyn_cast<StoreInst>(&I)) return Store->isSimple();
  const auto *Memory = dyn_cast<MemIntrinsic>(&I);
  return Memory && !Memory->isVolatile();
}

/// The values that an argument has in the calls there are of its function: all of them constants, and all calls known.
std::optional<ConstantRange> rangeInCalls(const Argument &A) {
  const Function &F = *A.getParent();
  std::optional<ConstantRange> All;
  if (!F.hasLocalLinkage() || F.hasAddressTaken() || F.use_empty() || !A.getType()->isIntegerTy()) return std::nullopt;
  for (const User *U : F.users()) {
    const auto *Call = dyn_cast<CallBase>(U);
    const auto *Passed = Call && Call->getFunctionType() == F.getFunctionType()
                             ? dyn_cast<ConstantInt>(Call->getArgOperand(A.getArgNo()))
                             : nullptr;
    if (!Passed) return std::nullopt;
    ConstantRange One(Passed->getValue());
    All = All ? All->unionWith(One, ConstantRange::Signed) : One;
  }
  return All;
}

/// `S` with the arguments in it clamped to the values that they can have.
const SCEV *withinCalls(const SCEV *S, ScalarEvolution &SE) {
  ValueToSCEVMapTy Clamped;
  SCEVExprContains(S, [&](const SCEV *Part) {
    const auto *Unknown = dyn_cast<SCEVUnknown>(Part);
    const auto *A = Unknown ? dyn_cast<Argument>(Unknown->getValue()) : nullptr;
    std::optional<ConstantRange> Range = A ? rangeInCalls(*A) : std::nullopt;
    if (Range && !Range->isFullSet() && !Range->isSignWrappedSet())
      Clamped[Unknown->getValue()] =
          SE.getSMaxExpr(SE.getSMinExpr(Part, SE.getConstant(Range->getSignedMax())), SE.getConstant(Range->getSignedMin()));
    return false;
  });
  return Clamped.empty() ? S : SCEVParameterRewriter::rewrite(S, SE, Clamped);
}

} // namespace

uint64_t certainBytes(Instruction *I) {
  if (const auto *Memory = dyn_cast<MemIntrinsic>(I)) {
    const auto *Length = dyn_cast<ConstantInt>(Memory->getLength());
    return Length ? Length->getZExtValue() : 0;
  }
  if (!isa<LoadInst, StoreInst>(I)) return 0;
  TypeSize Bits = I->getModule()->getDataLayout().getTypeSizeInBits(getLoadStoreType(I));
  return Bits.isScalable() || Bits.getFixedValue() % 8 ? 0 : Bits.getFixedValue() / 8;
}

Value *firstByte(Instruction *I) {
  if (auto *Memory = dyn_cast<MemIntrinsic>(I)) return Memory->getRawDest();
  return getLoadStorePointerOperand(I);
}

Stores::Stores(Loop *L, const LoopInfo &LI, const DominatorTree &DT, ScalarEvolution &SE) : LI(LI), DT(DT), SE(SE) {
  SmallVector<Instruction *, 16> All;
  for (BasicBlock *Block : L->blocks())
    for (Instruction &I : *Block)
      if (isPlainStore(I) && certainBytes(&I)) All.push_back(&I);
  if (All.size() > MostStores) return;
  for (Instruction *I : All) add(I);
}

void Stores::add(Instruction *At) {
  const SCEV *Address = SE.getSCEV(firstByte(At)), *Base = SE.getPointerBase(Address);
  for (Family &F : Families) {
    if (SE.getPointerBase(F.From) != Base) continue; // much cheaper than to subtract
    if (std::optional<int64_t> Begin = constantDifference(F.From, Address, SE)) return F.Members.push_back({At, *Begin});
  }
  Families.push_back({Address, {{At, 0}}});
}

/// What dominates a place in the same loop, or one inside, has been executed in the same iteration. The address must be
/// within what these stores of one family cover: in loops inside, only differences of addresses are known.
bool Stores::precede(const Instruction *At, Value *Pointer, uint64_t Bytes) const {
  const SCEV *Address = SE.getSCEV(Pointer), *Base = SE.getPointerBase(Address);
  for (const Family &F : Families) {
    if (SE.getPointerBase(F.From) != Base) continue;
    SmallVector<std::pair<int64_t, int64_t>, 16> Parts;
    for (auto [Store, Begin] : F.Members)
      if (Store != At && LI.getLoopFor(Store->getParent())->contains(At) && DT.dominates(Store, At))
        Parts.push_back({Begin, Begin + int64_t(certainBytes(Store))});
    if (Parts.empty()) continue;
    const SCEV *Offset = SE.getMinusSCEV(Address, F.From);
    if (isa<SCEVCouldNotCompute>(Offset)) continue;
    ConstantRange Where = SE.getSignedRange(withinCalls(Offset, SE));
    if (Where.isFullSet() || Where.isSignWrappedSet() || Where.getSignedMin().getSignificantBits() > 32 ||
        Where.getSignedMax().getSignificantBits() > 32)
      continue;
    llvm::sort(Parts);
    int64_t Covered = Where.getSignedMin().getSExtValue(), End = Where.getSignedMax().getSExtValue() + int64_t(Bytes);
    for (auto [Begin, Behind] : Parts)
      if (Begin <= Covered) Covered = std::max(Covered, Behind);
    if (Covered >= End) return true;
  }
  return false;
}

} // namespace pagecast
