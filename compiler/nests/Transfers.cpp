// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transfers: which calls become loops, how, and how they become calls again.

#include "nests/Transfers.h"
#include "loops/SpeculatedValues.h"
#include "nests/Groups.h"
#include "nests/Nests.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace pagecast {
namespace {

/// A function with more of them copies small things: tables, strings. Each costs code.
constexpr unsigned MostTransfers = 64;

bool isLarge(const Value *Place, const DataLayout &DL) {
  return Place->getType()->getPointerAddressSpace() == 0 && !isSmallObject(Place, DL);
}

bool mayBeLarge(MemIntrinsic &Call, ScalarEvolution &SE) {
  if (isa<MemCpyInlineInst, MemSetInlineInst>(Call)) return false; // strips have no constant length
  // Constants up to a cluster are references as they are (Groups.h).
  if (Call.isVolatile() || !Call.getLength()->getType()->isIntegerTy(64)) return false;
  if (SE.getUnsignedRangeMax(SE.getSCEV(Call.getLength())).ule(ClusterBytes)) return false;
  const DataLayout &DL = Call.getModule()->getDataLayout();
  auto *Copy = dyn_cast<MemTransferInst>(&Call);
  return isLarge(Call.getRawDest(), DL) || (Copy && isLarge(Copy->getRawSource(), DL));
}

/// What the loop has, `Call` keeps no uses of: it is in no block meanwhile.
void forgetOperands(MemIntrinsic *Call) {
  for (unsigned N = 0; N < 3; ++N) Call->setArgOperand(N, PoisonValue::get(Call->getArgOperand(N)->getType()));
}

Value *beginOf(Instruction *Access) { return cast<GetElementPtrInst>(getLoadStorePointerOperand(Access))->getPointerOperand(); }

/// Takes away from a call what is not so of a part that begins anywhere.
void loosen(MemIntrinsic *Part) {
  AAMDNodes Kept = Part->getAAMetadata();
  Kept.TBAAStruct = nullptr; // is of offsets
  Part->setAAMetadata(Kept);
  Part->setDestAlignment(Align(1));
  if (auto *Copy = dyn_cast<MemTransferInst>(Part)) Copy->setSourceAlignment(Align(1));
}

/// The instructions whose references are hinted.
SmallPtrSet<const Instruction *, 32> hintedIn(const NestList &List) {
  SmallPtrSet<const Instruction *, 32> Hinted;
  for (const Nest &N : List.Nests)
    for (const Group &G : N.Groups) Hinted.insert(G.Members.begin(), G.Members.end());
  return Hinted;
}

} // namespace

Transfers::Transfers(Function &F, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE) : F(F), LI(LI), DT(DT), SE(SE) {
  for (Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<MemIntrinsic>(&I); Call && mayBeLarge(*Call, SE))
      All.push_back({Call, nullptr, LI.getLoopFor(Call->getParent()) != nullptr});
  if (All.size() > MostTransfers) All.clear();
}

Transfers::~Transfers() { fold(); }

/// The outermost loops that have some inside.
SmallPtrSet<const Loop *, 8> Transfers::outermostAround() const {
  SmallPtrSet<const Loop *, 8> Around;
  for (const Transfer &T : All)
    if (T.InLoop) Around.insert(LI.getLoopFor(T.Call->getParent())->getOutermostLoop());
  return Around;
}

NestList Transfers::unfoldWhatPays(SpeculatedValues &Speculated, NeedsChecks Checks) {
  auto Find = [&](OfLoops Where) {
    Speculated.insert();
    return findNests(F, LI, DT, SE, Speculated, *this, Checks, Where);
  };
  if (!any()) return Find(nullptr); // scalar evolution keeps what it knows
  SmallPtrSet<const Instruction *, 32> Before;
  // What is hinted elsewhere stays so.
  if (auto Around = outermostAround(); !Around.empty()) {
    Before = hintedIn(Find([&](const Loop &L) { return Around.contains(L.getOutermostLoop()); }));
    Speculated.removeUnused();
  }
  unfold();
  NestList With = Find(nullptr);
  if (Before.empty()) return With;
  const SmallPtrSet<const Instruction *, 32> After = hintedIn(With);
  if (all_of(Before, [&](const Instruction *I) { return After.contains(I); })) return With;
  Speculated.removeUnused();
  fold(/*InLoopsOnly=*/true);
  return Find(nullptr);
}

void Transfers::unfold() {
  for (Transfer &T : All) unfold(T);
  SE.forgetAllLoops();
}

void Transfers::unfold(Transfer &T) {
  BasicBlock *Before = T.Call->getParent();
  T.Body = SplitBlock(Before, T.Call, &DT, &LI, nullptr, "transfer");
  BasicBlock *After = SplitBlock(T.Body, T.Call->getNextNode(), &DT, &LI, nullptr, "transferred");
  fillBody(T, Before, After);
  Loop *Around = LI.getLoopFor(T.Body), *L = LI.AllocateLoop();
  if (Around) Around->addChildLoop(L);
  else LI.addTopLevelLoop(L);
  LI.changeLoopFor(T.Body, L);
  L->addBlockEntry(T.Body);
  T.Call->removeFromParent();
  forgetOperands(T.Call);
}

/// The bytes have nothing of what is known of the call: it says nothing of single bytes.
void Transfers::fillBody(Transfer &T, BasicBlock *Before, BasicBlock *After) {
  T.Body->getTerminator()->eraseFromParent();
  IRBuilder<> B(T.Body, T.Body->begin());
  PHINode *At = B.CreatePHI(B.getInt64Ty(), 2, "transfer.at");
  B.SetInsertPoint(T.Body);
  B.SetCurrentDebugLocation(T.Call->getDebugLoc());
  At->setDebugLoc(T.Call->getDebugLoc());
  auto Place = [&](Value *Begin) { return GetElementPtrInst::Create(B.getInt8Ty(), Begin, At, "transfer.place", T.Body); };
  Value *Byte;
  if (auto *Copy = dyn_cast<MemTransferInst>(T.Call))
    Byte = B.CreateAlignedLoad(B.getInt8Ty(), Place(Copy->getRawSource()), Align(1));
  else Byte = cast<MemSetInst>(T.Call)->getValue();
  B.CreateAlignedStore(Byte, Place(T.Call->getRawDest()), Align(1));
  Value *Next = B.CreateAdd(At, B.getInt64(1), "transfer.next");
  B.CreateCondBr(B.CreateICmpEQ(Next, T.Call->getLength()), After, T.Body);
  At->addIncoming(B.getInt64(0), Before);
  At->addIncoming(Next, T.Body);
}

void Transfers::fold(bool InLoopsOnly) {
  bool Changed = false;
  for (Transfer &T : All)
    if (T.Body && (T.InLoop || !InLoopsOnly)) {
      fold(T);
      Changed = true;
    }
  if (Changed) SE.forgetAllLoops();
}

/// The accesses of its loop; a null load for memset.
std::pair<StoreInst *, LoadInst *> Transfers::accessesOf(const Transfer &T) {
  for (Instruction &I : *T.Body)
    if (auto *Store = dyn_cast<StoreInst>(&I))
      return {Store, isa<MemTransferInst>(T.Call) ? cast<LoadInst>(Store->getValueOperand()) : nullptr};
  llvm_unreachable("a transfer stores");
}

/// Strip mining has put another bound and another beginning into the loop, and uses of where it ends behind it.
void Transfers::fold(Transfer &T) {
  auto *At = cast<PHINode>(&T.Body->front());
  auto *Branch = cast<BranchInst>(T.Body->getTerminator());
  auto *Next = cast<Instruction>(At->getIncomingValueForBlock(T.Body));
  auto *Compare = cast<ICmpInst>(Branch->getCondition());
  Value *Begin = At->getIncomingValue(At->getIncomingBlock(0) == T.Body ? 1 : 0);
  Value *End = Compare->getOperand(Compare->getOperand(0) == Next ? 1 : 0);
  auto [Store, Load] = accessesOf(T);

  IRBuilder<> B(Branch);
  B.SetCurrentDebugLocation(T.Call->getDebugLoc());
  const bool Whole = isa<Constant>(Begin) && cast<Constant>(Begin)->isNullValue();
  auto Place = [&](Value *First) { return Whole ? First : B.CreateGEP(B.getInt8Ty(), First, Begin); };
  T.Call->setDest(Place(beginOf(Store)));
  if (Load) cast<MemTransferInst>(T.Call)->setSource(Place(beginOf(Load)));
  else cast<MemSetInst>(T.Call)->setValue(Store->getValueOperand());
  T.Call->setLength(Whole ? End : B.CreateSub(End, Begin));
  if (!Whole) loosen(T.Call);
  B.Insert(T.Call);

  BasicBlock *After = Branch->getSuccessor(Branch->getSuccessor(0) == T.Body ? 1 : 0);
  B.CreateBr(After);
  Branch->eraseFromParent();
  Loop *L = LI.getLoopFor(T.Body);
  SE.forgetLoop(L);
  At->replaceAllUsesWith(Begin);
  At->eraseFromParent();
  Next->replaceAllUsesWith(End);
  Store->eraseFromParent();
  for (Instruction *I : {static_cast<Instruction *>(Load), static_cast<Instruction *>(Compare), Next})
    if (I && I->use_empty()) I->eraseFromParent();
  LI.erase(L);
  T.Body = nullptr;
}

const Transfers::Transfer *Transfers::of(const Loop *L) const {
  const Transfer *Found = find_if(All, [&](const Transfer &T) { return T.Body && T.Body == L->getHeader(); });
  return Found == All.end() ? nullptr : Found;
}

std::optional<Transfers::Parts> Transfers::parts(const Loop *L) const {
  const Transfer *T = of(L);
  if (!T) return std::nullopt;
  auto [Store, Load] = accessesOf(*T);
  auto *Compare = cast<ICmpInst>(cast<BranchInst>(T->Body->getTerminator())->getCondition());
  return Parts{beginOf(Store), Load ? beginOf(Load) : nullptr, Load ? nullptr : Store->getValueOperand(), Compare->getOperand(1)};
}

bool Transfers::isMove(const Loop *L) const {
  const Transfer *T = of(L);
  return T && isa<MemMoveInst>(T->Call);
}

Upwards Transfers::upwards(const Loop *L) const {
  auto [Store, Load] = accessesOf(*of(L));
  auto Number = [&](Instruction *Access) {
    return SE.getPtrToIntExpr(SE.getSCEV(beginOf(Access)),
                              Store->getModule()->getDataLayout().getIntPtrType(Store->getContext()));
  };
  return {SE.getMinusSCEV(Number(Store), Number(Load)),
          SE.getAddExpr(SE.getBackedgeTakenCount(L), SE.getOne(Type::getInt64Ty(Store->getContext())))};
}

} // namespace pagecast
