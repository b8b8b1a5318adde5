// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indirect references: recognition of their address trees.

#include "Indirect.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pagecast {
namespace {

/// Larger trees are not address computations any more, and a slice must be cheap.
constexpr unsigned MaxNodes = 48;

bool isSliceType(const Type *T) {
  if (const auto *P = dyn_cast<PointerType>(T))
    return P->getAddressSpace() == 0;
  const auto *I = dyn_cast<IntegerType>(T);
  return I && I->getBitWidth() <= 64;
}

/// Instructions that a slice may repeat at any time: pure, cheap, and never trapping.
bool isPureOperation(const Instruction &I) {
  switch (I.getOpcode()) {
  case Instruction::GetElementPtr:
  case Instruction::SExt:
  case Instruction::ZExt:
  case Instruction::Trunc:
  case Instruction::PtrToInt:
  case Instruction::IntToPtr:
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::Mul:
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
  case Instruction::Freeze:
    return true;
  case Instruction::UDiv:
  case Instruction::URem: {
    const auto *Divisor = dyn_cast<ConstantInt>(I.getOperand(1));
    return Divisor && !Divisor->isZero();
  }
  default:
    return false;
  }
}

bool hasThreadLocal(const Constant *C) {
  if (const auto *G = dyn_cast<GlobalValue>(C))
    return G->isThreadLocal();
  for (const Use &U : C->operands())
    if (const auto *Operand = dyn_cast<Constant>(U); Operand && hasThreadLocal(Operand))
      return true;
  return false;
}

Node refuse(Refusal Why) {
  Node N;
  N.Why = Why;
  return N;
}

Node classifyLoad(LoadInst *Load, ArrayRef<Loop *> Loops, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE) {
  if (!Load->isSimple())
    return refuse(Refusal::NonAffine);
  AffineFailure Failure;
  std::optional<AffineForm> Form = affineForm(SE.getSCEV(Load->getPointerOperand()), Loops, SE, &Failure);
  if (!Form)
    return refuse(Failure == AffineFailure::VariantStride ? Refusal::VariantStride : Refusal::IndirectDepth);
  if (!runsEachIteration(Load->getParent(), LI, DT))
    return refuse(Refusal::ConditionalIndex);
  Node N;
  N.Is = Node::Index;
  N.Form = std::move(*Form);
  return N;
}

} // namespace

StringRef nameOf(Refusal Why) {
  switch (Why) {
  case Refusal::None:
    return "None";
  case Refusal::NonAffine:
    return "NonAffine";
  case Refusal::VariantStride:
    return "VariantStride";
  case Refusal::IndirectDepth:
    return "IndirectDepth";
  case Refusal::ConditionalIndex:
    return "ConditionalIndex";
  case Refusal::UnknownTarget:
    return "UnknownTarget";
  case Refusal::UnknownTripCount:
    return "UnknownTripCount";
  case Refusal::TooManyGroups:
    return "TooManyGroups";
  case Refusal::NotStripMinable:
    return "NotStripMinable";
  }
  return "";
}

StringRef explain(Refusal Why) {
  switch (Why) {
  case Refusal::None:
    return "hinted";
  case Refusal::NonAffine:
    return "not hinted: the address is neither affine in the loops nor indexed by a loaded value";
  case Refusal::VariantStride:
    return "not hinted: a stride changes inside the nest";
  case Refusal::IndirectDepth:
    return "not hinted: the index is itself reached through an index";
  case Refusal::ConditionalIndex:
    return "not hinted: the index is not loaded in every iteration";
  case Refusal::UnknownTarget:
    return "not hinted: the indexed array changes inside the nest";
  case Refusal::UnknownTripCount:
    return "loop not hinted: its trip count is not known on entry";
  case Refusal::TooManyGroups:
    return "not hinted: the nest has too many groups";
  case Refusal::NotStripMinable:
    return "loop not hinted: it cannot be split into strips";
  }
  return "";
}

bool runsEachIteration(const BasicBlock *Block, const LoopInfo &LI, const DominatorTree &DT) {
  const Loop *L = LI.getLoopFor(Block);
  if (DT.dominates(Block, L->getLoopLatch()))
    return true;
  return any_of(L->getSubLoops(), [&](const Loop *Inner) {
    return DT.dominates(Block, Inner->getHeader()) || Block == Inner->getUniqueExitBlock();
  });
}

Node classifyNode(Value *V, ArrayRef<Loop *> Loops, LoopInfo &LI, DominatorTree &DT, ScalarEvolution &SE) {
  Node N;
  if (!isSliceType(V->getType()))
    return refuse(Refusal::NonAffine);
  if (auto *C = dyn_cast<Constant>(V)) {
    // The slice runs on another thread, where the same name means another variable.
    if (hasThreadLocal(C))
      return refuse(Refusal::NonAffine);
    N.Is = Node::Constant;
    return N;
  }
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !Loops.front()->contains(I)) {
    N.Is = Node::Invariant;
    return N;
  }
  if (std::optional<AffineForm> Form = affineForm(SE.getSCEV(V), Loops, SE)) {
    N.Is = Node::Affine;
    N.Form = std::move(*Form);
    return N;
  }
  if (auto *Load = dyn_cast<LoadInst>(I))
    return classifyLoad(Load, Loops, LI, DT, SE);
  if (isPureOperation(*I)) {
    N.Is = Node::Operation;
    return N;
  }
  return refuse(Refusal::NonAffine);
}

std::optional<IndirectAddress> recognise(Value *Address, ArrayRef<Loop *> Loops, LoopInfo &LI,
                                         DominatorTree &DT, ScalarEvolution &SE, Refusal &Why) {
  IndirectAddress Result;
  Result.Address = Address;
  SmallVector<Value *, 16> Work{Address};
  SmallPtrSet<Value *, 16> Seen;
  while (!Work.empty()) {
    Value *V = Work.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    if (Seen.size() > MaxNodes) {
      Why = Refusal::NonAffine;
      return std::nullopt;
    }
    Node N = classifyNode(V, Loops, LI, DT, SE);
    switch (N.Is) {
    case Node::Refused:
      Why = N.Why;
      return std::nullopt;
    case Node::Index:
      Result.Index.push_back(cast<LoadInst>(V));
      break;
    case Node::Operation:
      append_range(Work, cast<Instruction>(V)->operands());
      break;
    default:
      break;
    }
  }
  if (Result.Index.empty()) {
    Why = Refusal::NonAffine;
    return std::nullopt;
  }
  // The runtime looks up the region of the target once, on entry.
  const SCEV *Target = SE.getPointerBase(SE.getSCEV(Address));
  if (!Target->getType()->isPointerTy() || !SE.isLoopInvariant(Target, Loops.front())) {
    Why = Refusal::UnknownTarget;
    return std::nullopt;
  }
  Result.Target = Target;
  return Result;
}

} // namespace pagecast
