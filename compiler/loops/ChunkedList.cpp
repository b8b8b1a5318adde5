// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "loops/ChunkedList.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/Loads.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace pagecast {
namespace {

const DataLayout &layoutOf(const Loop *L) { return L->getHeader()->getModule()->getDataLayout(); }

/// A place a constant number of bytes on from another one; null otherwise.
const GetElementPtrInst *stepFrom(const Value *V, int64_t &Bytes, const DataLayout &Layout) {
  const auto *Place = dyn_cast<GetElementPtrInst>(V);
  APInt Offset(64, 0);
  if (!Place || !Place->accumulateConstantOffset(Layout, Offset) || !Offset.isStrictlyPositive()) return nullptr;
  Bytes = Offset.getSExtValue();
  return Place;
}

/// A load of a pointer from an address that stays in `L`.
const LoadInst *loadFromFixedPlace(const Value *V, const Loop *L) {
  const auto *Load = dyn_cast<LoadInst>(V);
  const bool Fits = Load && Load->isSimple() && Load->getType()->isPointerTy() && L->contains(Load) &&
                    L->isLoopInvariant(Load->getPointerOperand());
  return Fits ? Load : nullptr;
}

/// The store of `V` in `L` to an address that stays there; null if there is none.
const StoreInst *storeOf(const Value *V, const Loop *L) {
  for (const User *U : V->users())
    if (const auto *Store = dyn_cast<StoreInst>(U); Store && Store->isSimple() && Store->getValueOperand() == V &&
                                                    L->contains(Store) && L->isLoopInvariant(Store->getPointerOperand()))
      return Store;
  return nullptr;
}

/// The address that the store of `V` goes to; null if there is no such store.
Value *storedAt(const Value *V, const Loop *L) {
  const StoreInst *Store = storeOf(V, L);
  return Store ? const_cast<Value *>(Store->getPointerOperand()) : nullptr;
}

/// What is stored to `Address` in `L`. False if something else than a pointer is.
bool addStored(Value *Address, const Loop *L, SmallVectorImpl<Value *> &Values) {
  for (User *U : Address->users()) {
    auto *Store = dyn_cast<StoreInst>(U);
    if (!Store || Store->getPointerOperand() != Address || !L->contains(Store)) continue;
    if (!Store->isSimple() || !Store->getValueOperand()->getType()->isPointerTy()) return false;
    Values.push_back(Store->getValueOperand());
  }
  return true;
}

/// How a walk goes on: by a step, or to a place that is loaded.
struct Ways {
  const GetElementPtrInst *Step = nullptr;
  int64_t Bytes = 0;
  const LoadInst *Jump = nullptr;
  Value *Kept = nullptr; ///< where the walk is between iterations
};

/// Follows what `W.Next` begins with back to the ways. Loading it again from where the loop has stored it changes nothing.
std::optional<Ways> waysOf(ChunkedListWalk &W, SmallVectorImpl<Value *> &Work, Value *Kept) {
  constexpr unsigned Most = 16;
  Ways Found;
  Found.Kept = Kept;
  while (!Work.empty()) {
    Value *Next = Work.pop_back_val();
    if (!W.Next.insert(Next).second) continue;
    if (W.Next.size() > Most) return std::nullopt;
    if (!Found.Kept) Found.Kept = storedAt(Next, W.L);
    int64_t Bytes = 0;
    if (auto *Phi = dyn_cast<PHINode>(Next); Phi && W.L->contains(Phi) && Phi->getParent() != W.L->getHeader()) {
      append_range(Work, Phi->incoming_values());
    } else if (const LoadInst *Again = loadFromFixedPlace(Next, W.L)) {
      if (!addStored(const_cast<Value *>(Again->getPointerOperand()), W.L, Work)) return std::nullopt;
      if (Found.Kept && Found.Kept != Again->getPointerOperand()) return std::nullopt;
      Found.Kept = const_cast<Value *>(Again->getPointerOperand());
    } else if (const GetElementPtrInst *Step = stepFrom(Next, Bytes, layoutOf(W.L)); Step && W.L->contains(Step)) {
      if (Found.Step) return std::nullopt;
      Found.Step = Step;
      Found.Bytes = Bytes;
    } else {
      const auto *Jump = dyn_cast<LoadInst>(Next);
      if (!Jump || Found.Jump || !Jump->isSimple() || !W.L->contains(Jump)) return std::nullopt;
      Found.Jump = Jump;
    }
  }
  return Found.Step && Found.Jump && Found.Kept ? std::optional(Found) : std::nullopt;
}

/// The place in the table of chunks, from the load of where the next chunk is; null if that is no next one.
Value *placeInTable(const LoadInst *Jump, const Loop *L, Instruction *&ToNext) {
  int64_t Bytes = 0;
  const GetElementPtrInst *Next = stepFrom(Jump->getPointerOperand(), Bytes, layoutOf(L));
  const LoadInst *Before =
      Next && Bytes == int64_t(sizeof(uint64_t)) ? loadFromFixedPlace(Next->getPointerOperand(), L) : nullptr;
  const StoreInst *Store = Before ? storeOf(Next, L) : nullptr;
  ToNext = const_cast<StoreInst *>(Store);
  return Store && Store->getPointerOperand() == Before->getPointerOperand() ? ToNext->getOperand(1) : nullptr;
}

/// Finds where the end of the chunk is kept, and with it how large chunks are.
bool findEnd(ChunkedListWalk &W, const LoadInst *Jump) {
  for (const User *U : Jump->users()) {
    int64_t Bytes = 0;
    const GetElementPtrInst *End = stepFrom(U, Bytes, layoutOf(W.L));
    Value *Kept = End && End->getPointerOperand() == Jump ? storedAt(End, W.L) : nullptr;
    if (!Kept || Bytes < W.Step || Bytes % W.Step) continue;
    W.End = Kept;
    W.Size = Bytes;
    return true;
  }
  return false;
}

/// Whether each iteration of `L` stores to `Address`.
bool storedAlways(const Value *Address, const Loop *L, const DominatorTree &DT) {
  return any_of(Address->users(), [&](const User *U) {
    const auto *Store = dyn_cast<StoreInst>(U);
    return Store && Store->getPointerOperand() == Address && L->contains(Store) &&
           DT.dominates(Store->getParent(), L->getLoopLatch());
  });
}

/// Whether it is in `L`, but in no loop inside.
bool isOwn(const Instruction *I, const Loop *L) {
  return L->contains(I) && none_of(*L, [&](const Loop *Inner) { return Inner->contains(I); });
}

/// Whether something is stored to where `Load` loads from before it, in the same iteration.
bool storedBefore(const LoadInst *Load, const Loop *L, const DominatorTree &DT) {
  return any_of(Load->getPointerOperand()->users(), [&](const User *U) {
    const auto *Store = dyn_cast<StoreInst>(U);
    return Store && L->contains(Store) && DT.dominates(Store, Load);
  });
}

/// Whether `V` is where the walk is before its step: what it began the iteration with, or what is loaded from where that is kept.
bool isBeforeStep(const Value *V, const Instruction *At, const Value *Kept, const Loop *L) {
  constexpr unsigned Most = 8;
  SmallPtrSet<const Value *, 8> Seen;
  SmallVector<const Value *, 8> Work{V};
  while (!Work.empty()) {
    const Value *Next = Work.pop_back_val();
    if (!Seen.insert(Next).second || Next == At) continue;
    if (Seen.size() > Most) return false;
    const auto *Phi = dyn_cast<PHINode>(Next);
    const LoadInst *Again = loadFromFixedPlace(Next, L);
    if (Phi && L->contains(Phi) && Phi->getParent() != L->getHeader()) append_range(Work, Phi->incoming_values());
    else if (!Again || Again->getPointerOperand() != Kept) return false;
  }
  return true;
}

/// How far it is from one address to another; nothing if they are not constant distances from the same.
std::optional<int64_t> apart(const Value *From, const Value *To, const DataLayout &Layout) {
  APInt Start(64, 0), End(64, 0);
  const Value *Base = From->stripAndAccumulateConstantOffsets(Layout, Start, /*AllowNonInbounds=*/true);
  if (Base != To->stripAndAccumulateConstantOffsets(Layout, End, /*AllowNonInbounds=*/true)) return std::nullopt;
  return (End - Start).getSExtValue();
}

/// `Address` of `W` as it is for a list whose position is kept at `At`; null if they are not pieces of the same.
Value *alike(const ChunkedListWalk &W, Value *Address, Value *At, IRBuilder<> &B, SmallVectorImpl<Instruction *> &Made) {
  if (At == W.At) return Address;
  const std::optional<int64_t> Bytes = apart(W.At, Address, layoutOf(W.L));
  if (!Bytes) return nullptr;
  Value *Place = B.CreateGEP(B.getInt8Ty(), At, B.getInt64(*Bytes));
  if (auto *I = dyn_cast<Instruction>(Place)) Made.push_back(I);
  return Place;
}

} // namespace

std::optional<ChunkedListWalk> chunkedListWalk(Instruction *At, Loop *L, const DominatorTree &DT) {
  if (!At->getType()->isPointerTy() || !L->getLoopLatch()) return std::nullopt;
  ChunkedListWalk W{L, 0, 0, nullptr, nullptr, nullptr, nullptr, {}};
  SmallVector<Value *, 8> Work;
  Value *Kept = nullptr;
  if (const LoadInst *Load = loadFromFixedPlace(At, L)) {
    Kept = const_cast<Value *>(Load->getPointerOperand());
    if (storedBefore(Load, L, DT) || !addStored(Kept, L, Work)) return std::nullopt;
  } else if (auto *Phi = dyn_cast<PHINode>(At); Phi && Phi->getParent() == L->getHeader()) {
    Work.push_back(Phi->getIncomingValueForBlock(L->getLoopLatch()));
  }
  const std::optional<Ways> How = waysOf(W, Work, Kept);
  if (!How) return std::nullopt;
  if (!isBeforeStep(How->Step->getPointerOperand(), At, How->Kept, L)) return std::nullopt;
  if (!isOwn(How->Step, L) || !isOwn(How->Jump, L) || !storedAlways(How->Kept, L, DT)) return std::nullopt;
  W.Step = How->Bytes;
  W.At = How->Kept;
  W.Chunk = placeInTable(How->Jump, L, W.ToNext);
  if (!W.Chunk || !findEnd(W, How->Jump)) return std::nullopt;
  return W;
}

bool tableMayMove(const ChunkedListWalk &W) {
  return any_of(W.L->blocks(), [&](const BasicBlock *Block) {
    return any_of(*Block, [&](const Instruction &I) {
      const auto *Call = dyn_cast<CallBase>(&I);
      return Call && !I.isLifetimeStartOrEnd() &&
             any_of(Call->args(), [&](const Value *V) { return V->getType()->isPointerTy() && apart(W.At, V, layoutOf(W.L)); });
    });
  });
}

bool isEndOf(const ChunkedListWalk &W, Value *End, ArrayRef<Value *> Loaded) {
  const std::optional<int64_t> Chunk = apart(W.At, W.Chunk, layoutOf(W.L));
  if (!Chunk || is_contained(ArrayRef<Value *>{W.At, W.End, W.Chunk}, End)) return false;
  const bool Alone = all_of(Loaded, [&](Value *V) { return V == End || V == W.At; });
  return Alone || any_of(Loaded, [&](Value *V) { return apart(End, V, layoutOf(W.L)) == Chunk; });
}

bool canLoadPosition(const ChunkedListWalk &W, Value *At, Instruction *Where, const DominatorTree &DT) {
  std::optional<ChunkedListPosition> P = loadPosition(W, At, Where, DT);
  if (P)
    for (Instruction *I : reverse(P->Made)) I->eraseFromParent();
  return P.has_value();
}

std::optional<ChunkedListPosition> loadPosition(const ChunkedListWalk &W, Value *At, Instruction *Where,
                                                const DominatorTree &DT) {
  IRBuilder<> B(Where);
  ChunkedListPosition P;
  Value *const Addresses[] = {W.At, W.End, W.Chunk};
  Value *Loaded[3];
  bool Safe = true;
  for (unsigned K = 0; K < 3; ++K) {
    Value *Place = alike(W, Addresses[K], At, B, P.Made);
    Safe &=
        Place && isSafeToLoadUnconditionally(Place, B.getPtrTy(), Align(sizeof(uint64_t)), layoutOf(W.L), Where, nullptr, &DT);
    if (!Safe) break;
    P.Made.push_back(B.CreateAlignedLoad(B.getPtrTy(), Place, Align(sizeof(uint64_t)), "speculated"));
    Loaded[K] = P.Made.back();
  }
  if (!Safe) {
    for (Instruction *I : reverse(P.Made)) I->eraseFromParent();
    return std::nullopt;
  }
  auto Keep = [&](Value *V) {
    P.Made.push_back(cast<Instruction>(V));
    return V;
  };
  Value *Left =
      Keep(B.CreateSub(Keep(B.CreatePtrToInt(Loaded[1], B.getInt64Ty())), Keep(B.CreatePtrToInt(Loaded[0], B.getInt64Ty()))));
  P.Offset = Keep(B.CreateSub(B.getInt64(W.Size), Left, "chunk.offset"));
  P.Chunk = Loaded[2];
  return P;
}

} // namespace pagecast
