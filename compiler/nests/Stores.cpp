// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores: comparing addresses.

#include "nests/Stores.h"
#include "loops/Affine.h"
#include "pagecast/abi.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <cstdlib>
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

// --- byte coverage -----------------------------------------------------------------------------

namespace {

/// The places of one instruction in one iteration of the chain, which may be in loops inside, are at most so many.
constexpr unsigned MostPlaces = 1024;

} // namespace

bool ByteCoverage::places(const Group &G, Value *Pointer, const Instruction *At, SmallVectorImpl<int64_t> &Out) const {
  const SCEV *Offset = SE.getMinusSCEV(SE.getSCEV(Pointer), addressOf(G));
  return !isa<SCEVCouldNotCompute>(Offset) && valuesOf(Offset, At, Out);
}

bool ByteCoverage::runsAlways(const BasicBlock *Block) const {
  Loop *In = LI.getLoopFor(Block);
  for (; isInside(In); In = In->getParentLoop()) {
    if (!In->getLoopPreheader() || !trips(In) || !DT.dominates(Block, In->getLoopLatch())) return false;
    Block = In->getLoopPreheader();
  }
  return is_contained(N.Loops, In) && DT.dominates(Block, In->getLoopLatch());
}

const Group *ByteCoverage::seenIn(Instruction *At, Value *Pointer) const {
  const Group *Found = find_if(N.Groups, [&](const Group &G) {
    if (!(G.Flags & PAGECAST_READS) || G.indirect() || !is_contained(G.Members, At)) return false;
    uint64_t Bytes = certainBytes(At);
    SmallVector<int64_t, 8> Begins;
    return Bytes && places(G, Pointer, At, Begins) &&
           all_of(Begins, [&](int64_t Begin) { return Begin >= G.Lo && Begin + int64_t(Bytes) <= G.Hi; });
  });
  return Found == N.Groups.end() ? nullptr : Found;
}

/// The addresses of the group's first reference as scalar evolution would write them.
const SCEV *ByteCoverage::addressOf(const Group &G) const {
  const SCEV *S = G.Form.Base;
  for (unsigned K = 0; K < N.Loops.size(); ++K)
    S = SE.getAddRecExpr(S, SE.getTruncateOrSignExtend(G.Form.Stride[K], SE.getEffectiveSCEVType(S->getType())), N.Loops[K],
                         SCEV::FlagAnyWrap);
  return S;
}

bool ByteCoverage::isInside(const Loop *L) const { return L != N.Loops.back() && N.Loops.back()->contains(L); }

/// The exact trip count of a loop that is left by its latch only, if it is a small constant, else 0.
uint64_t ByteCoverage::trips(Loop *L) const {
  BasicBlock *Latch = L->getLoopLatch();
  if (!Latch || L->getExitingBlock() != Latch) return 0;
  std::optional<int64_t> Last = constantOf(SE.getExitCount(L, Latch));
  return Last && *Last >= 0 && *Last < int64_t(MostPlaces) ? uint64_t(*Last) + 1 : 0;
}

/// All values that `Offset` has at `At` in an iteration of the chain. False if they are not known.
bool ByteCoverage::valuesOf(const SCEV *Offset, const Instruction *At, SmallVectorImpl<int64_t> &Out) const {
  if (std::optional<int64_t> Only = constantOf(Offset)) {
    Out.push_back(*Only);
    return true;
  }
  const auto *Walk = dyn_cast<SCEVAddRecExpr>(Offset);
  std::optional<int64_t> Step = Walk && Walk->isAffine() ? constantOf(Walk->getOperand(1)) : std::nullopt;
  if (!Step || std::abs(*Step) > INT32_MAX || !isInside(Walk->getLoop()) || !Walk->getLoop()->contains(At) ||
      !valuesOf(Walk->getStart(), At, Out))
    return false;
  uint64_t Times = trips(const_cast<Loop *>(Walk->getLoop())), First = Out.size();
  if (Times == 0 || Times * First > MostPlaces) return false;
  for (uint64_t Time = 1; Time < Times; ++Time)
    for (uint64_t I = 0; I < First; ++I) Out.push_back(Out[I] + *Step * int64_t(Time));
  return true;
}

} // namespace pagecast
