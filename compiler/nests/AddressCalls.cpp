// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that addresses come from: the way from an address back to the call.

#include "nests/AddressCalls.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace pagecast {
namespace {

/// An address is made of a few values; what is made of more is not looked through.
constexpr unsigned MostValues = 64;

/// A call in the loop that is given the object, and may store to it.
const CallBase *writerOf(const Value *Object, const Loop *Around, const Loop *Root) {
  for (const BasicBlock *Block : Around->blocks())
    for (const Instruction &I : *Block) {
      const auto *Call = dyn_cast<CallBase>(&I);
      if (!Call || isa<IntrinsicInst>(Call) || Root->contains(Call) || Call->onlyReadsMemory()) continue;
      for (const Use &Argument : Call->args())
        if (Argument->getType()->isPointerTy() && getUnderlyingObject(Argument) == Object) return Call;
    }
  return nullptr;
}

} // namespace

const CallBase *callBehind(const SCEV *S, const Loop *Around, const Loop *Root) {
  SmallVector<const Value *, 8> Work;
  SCEVExprContains(S, [&](const SCEV *Part) {
    if (const auto *Unknown = dyn_cast<SCEVUnknown>(Part)) Work.push_back(Unknown->getValue());
    return false;
  });
  SmallPtrSet<const Value *, 16> Seen;
  while (!Work.empty() && Seen.size() < MostValues) {
    const auto *I = dyn_cast<Instruction>(Work.pop_back_val());
    if (!I || !Around->contains(I) || Root->contains(I) || isa<PHINode>(I) || !Seen.insert(I).second) continue;
    if (const auto *Call = dyn_cast<CallBase>(I); Call && !isa<IntrinsicInst>(Call)) return Call;
    if (const auto *Load = dyn_cast<LoadInst>(I)) {
      if (const CallBase *Writer = writerOf(getUnderlyingObject(Load->getPointerOperand()), Around, Root)) return Writer;
    }
    for (const Value *Operand : I->operands()) Work.push_back(Operand);
  }
  return nullptr;
}

} // namespace pagecast
