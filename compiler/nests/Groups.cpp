// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups: collection of references and their merging.

#include "nests/Groups.h"
#include "pagecast/abi.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <cstdlib>

using namespace llvm;

namespace pagecast {
namespace {

/// Members of one indirect group lie within one element of the target, those of a range within a cluster.
constexpr int64_t ElementReach = 256;

void addReference(SmallVectorImpl<Reference> &Out, Instruction &I, const DataLayout &DL) {
  auto Add = [&](Value *Pointer, Type *T, bool Reads, bool Writes) {
    TypeSize Size = DL.getTypeStoreSize(T);
    if (Size.isScalable() || Pointer->getType()->getPointerAddressSpace() != 0 || isSmallObject(Pointer, DL)) return;
    Out.push_back({&I, Pointer, Size.getFixedValue(), Reads, Writes});
  };
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    if (!Load->isVolatile()) Add(Load->getPointerOperand(), Load->getType(), true, false);
  } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
    if (!Store->isVolatile()) Add(Store->getPointerOperand(), Store->getValueOperand()->getType(), false, true);
  } else if (auto *RMW = dyn_cast<AtomicRMWInst>(&I)) {
    if (!RMW->isVolatile()) Add(RMW->getPointerOperand(), RMW->getType(), true, true);
  } else if (auto *CAS = dyn_cast<AtomicCmpXchgInst>(&I)) {
    if (!CAS->isVolatile()) Add(CAS->getPointerOperand(), CAS->getCompareOperand()->getType(), true, true);
  } else if (auto *Call = dyn_cast<CallBase>(&I); Call && !isa<IntrinsicInst>(Call) && !Call->isInlineAsm()) {
    for (unsigned N = 0; N < Call->arg_size(); ++N) {
      Value *V = Call->getArgOperand(N);
      bool Reads = !Call->onlyWritesMemory(N), Writes = !Call->onlyReadsMemory(N);
      if (!V->getType()->isPointerTy() || isa<Constant>(V) || Call->doesNotAccessMemory(N) || isSmallObject(V, DL) ||
          V->getType()->getPointerAddressSpace() != 0)
        continue;
      Out.push_back({&I, V, 1, Reads, Writes, true});
    }
  } else if (auto *Memory = dyn_cast<MemIntrinsic>(&I)) {
    auto *Length = dyn_cast<ConstantInt>(Memory->getLength());
    if (Memory->isVolatile() || !Length || Length->isZero() || Length->getZExtValue() > uint64_t(ClusterBytes)) return;
    Type *Bytes = ArrayType::get(Type::getInt8Ty(I.getContext()), Length->getZExtValue());
    Add(Memory->getRawDest(), Bytes, false, true);
    if (auto *Transfer = dyn_cast<MemTransferInst>(Memory)) Add(Transfer->getRawSource(), Bytes, true, false);
  }
}

unsigned accessFlags(const Classified &C) {
  return (C.Ref.Reads ? unsigned(PAGECAST_READS) : 0u) | (C.Ref.Writes ? unsigned(PAGECAST_WRITES) : 0u);
}

/// Sign of the innermost stride that is not 0: the direction in which the group moves through memory.
bool movesDown(const AffineForm &Form) {
  for (const SCEV *Stride : reverse(Form.Stride)) {
    if (Stride->isZero()) continue;
    std::optional<int64_t> Value = constantOf(Stride);
    return Value && *Value < 0;
  }
  return false;
}

/// The innermost loop that moves the group goes by a page or more: what lies between two members is touched by no
/// iteration of it.
bool walksColumns(const AffineForm &Form) {
  for (const SCEV *Stride : reverse(Form.Stride)) {
    if (Stride->isZero()) continue;
    std::optional<int64_t> Value = constantOf(Stride);
    return Value && std::abs(*Value) >= PageBytes;
  }
  return false;
}

/// A group of one.
Group groupOf(const Classified &C) {
  Group G;
  G.Flags = accessFlags(C) | (C.Is == Classified::Indirect ? unsigned(PAGECAST_INDIRECT) : 0u) |
            (C.Conditional ? unsigned(PAGECAST_CONDITIONAL) : 0u);
  G.Searched = C.Searched;
  G.Traced = C.Traced;
  G.Element = C.Ref.Size;
  G.Hi = int64_t(C.Bytes);
  G.Form = C.Form;
  G.Target = C.Target;
  G.Index = C.Index;
  G.Leading = C.Ref.At;
  G.Members.push_back(C.Ref.At);
  return G;
}

class Grouper {
public:
  Grouper(ScalarEvolution &SE, DominatorTree &DT) : SE(SE), DT(DT) {}

  SmallVector<Group, 8> Groups;
  DenseMap<const Instruction *, unsigned> GroupOf;

  bool addDirect(const Classified &C) {
    for (Group &G : Groups) {
      if (G.indirect() || G.Form.Stride != C.Form.Stride) continue;
      std::optional<int64_t> Offset = constantDifference(G.Form.Base, C.Form.Base, SE);
      if (!Offset || std::max(G.Hi, *Offset) - std::min(G.Lo, *Offset) > GroupReach) continue;
      const int64_t Hole = std::max(*Offset - G.Hi, G.Lo - *Offset - int64_t(C.Bytes));
      if (Hole >= PageBytes && walksColumns(G.Form)) continue;
      join(G, C, *Offset);
      return true;
    }
    return open(C);
  }

  bool addIndirect(const Classified &C) {
    for (Group &G : Groups) {
      if (!G.indirect() || G.Target.Step != C.Target.Step || G.Target.Over != C.Target.Over) continue;
      std::optional<int64_t> Offset = 0;
      if (G.Target.Address != C.Target.Address) Offset = constantDifference(G.Target.Address, C.Target.Address, SE);
      if (!Offset || std::abs(*Offset) > (C.Target.Step ? ClusterBytes : ElementReach)) continue;
      G.Target.At = DT.findNearestCommonDominator(G.Target.At, C.Target.At);
      join(G, C, *Offset);
      return true;
    }
    return open(C);
  }

private:
  ScalarEvolution &SE;
  DominatorTree &DT;

  bool open(const Classified &C) {
    if (Groups.size() == PAGECAST_MAX_GROUPS) return false;
    GroupOf[C.Ref.At] = Groups.size();
    Groups.push_back(groupOf(C));
    return true;
  }

  void join(Group &G, const Classified &C, int64_t Offset) {
    G.absorb(groupOf(C), Offset);
    if (movesDown(G.Form) ? Offset < G.LeadingOffset : Offset > G.LeadingOffset) {
      G.Leading = C.Ref.At;
      G.LeadingOffset = Offset;
    }
    GroupOf[C.Ref.At] = &G - Groups.data();
  }
};

} // namespace

bool isSmallObject(const Value *Pointer, const DataLayout &DL) {
  const Value *Object = getUnderlyingObject(Pointer, 12);
  if (const auto *Alloca = dyn_cast<AllocaInst>(Object)) {
    std::optional<TypeSize> Size = Alloca->getAllocationSize(DL);
    return Size && !Size->isScalable() && Size->getFixedValue() < uint64_t(ClusterBytes);
  }
  if (const auto *Global = dyn_cast<GlobalVariable>(Object)) {
    TypeSize Size = DL.getTypeAllocSize(Global->getValueType());
    return Global->isThreadLocal() ||
           (!Size.isScalable() && Size.getFixedValue() > 0 && Size.getFixedValue() < uint64_t(ClusterBytes));
  }
  return false;
}

bool Group::indirect() const { return Flags & PAGECAST_INDIRECT; }

void Group::absorb(const Group &Other, int64_t Offset) {
  // A group is conditional only when every member is.
  unsigned Both = Flags & Other.Flags;
  Flags = ((Flags | Other.Flags) & ~unsigned(PAGECAST_CONDITIONAL)) | (Both & PAGECAST_CONDITIONAL);
  Searched &= Other.Searched;
  Traced &= Other.Traced;
  Element = std::max(Element, Other.Element);
  Lo = std::min(Lo, Offset + Other.Lo);
  Hi = std::max(Hi, Offset + Other.Hi);
  append_range(Members, Other.Members);
  for (LoadInst *I : Other.Index)
    if (!is_contained(Index, I)) Index.push_back(I);
}

DebugLoc Group::where() const {
  if (const DebugLoc &Where = Leading->getDebugLoc(); Where && Where.getLine()) return Where;
  for (const Instruction *I : Members)
    if (const DebugLoc &Where = I->getDebugLoc(); Where && Where.getLine()) return Where;
  return {};
}

SmallVector<Reference, 16> referencesIn(ArrayRef<Loop *> Loops, const LoopInfo &LI, function_ref<bool(const Loop *)> Belongs) {
  SmallVector<Reference, 16> Result;
  const DataLayout &DL = Loops.front()->getHeader()->getModule()->getDataLayout();
  for (BasicBlock *Block : Loops.front()->blocks())
    if (const Loop *L = LI.getLoopFor(Block); is_contained(Loops, L) || Belongs(L))
      for (Instruction &I : *Block) addReference(Result, I, DL);
  return Result;
}

SmallVector<Group, 8> groupsOf(ArrayRef<Classified> References, ScalarEvolution &SE, DominatorTree &DT,
                               SmallVectorImpl<Instruction *> &Overflow) {
  Grouper All(SE, DT);
  for (const Classified &C : References) {
    bool Fits = true;
    if (C.Is == Classified::Direct) Fits = All.addDirect(C);
    else if (C.Is == Classified::Indirect) Fits = All.addIndirect(C);
    if (!Fits) Overflow.push_back(C.Ref.At);
  }
  for (const Group &G : All.Groups)
    for (LoadInst *Index : G.Index)
      if (auto Found = All.GroupOf.find(Index); Found != All.GroupOf.end()) All.Groups[Found->second].Flags |= PAGECAST_INDEX;
  return std::move(All.Groups);
}

StringRef reuseName(const SCEV *Stride) {
  if (Stride->isZero()) return "temporal";
  std::optional<int64_t> Bytes = constantOf(Stride);
  if (!Bytes) return "unknown";
  return std::abs(*Bytes) < ClusterBytes ? "spatial" : "none";
}

} // namespace pagecast
