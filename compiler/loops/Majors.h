// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What differs between the major versions of LLVM that the pass is built with: 16, which Debian 12 has, to 19. Nothing else asks for
// the version.
#pragma once
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/ModRef.h"
#if LLVM_VERSION_MAJOR >= 17
#include "llvm/IR/EHPersonalities.h"
#else
#include "llvm/Analysis/EHPersonalities.h"
#endif
#if LLVM_VERSION_MAJOR >= 19
#include "llvm/IR/DebugProgramInstruction.h"
#endif

namespace pagecast {

/// What is built goes behind the block's phis, of which it may be one, and before records for debuggers there.
inline void setBehindPhis(llvm::IRBuilderBase &B, llvm::BasicBlock *Block) {
#if LLVM_VERSION_MAJOR >= 18
  B.SetInsertPoint(Block, Block->getFirstNonPHIIt());
#else
  if (llvm::Instruction *Next = Block->getFirstNonPHI()) B.SetInsertPoint(Next);
  else B.SetInsertPoint(Block);
#endif
}

/// A phi behind the block's others.
inline llvm::PHINode *phiBehindOthers(llvm::Type *T, unsigned Ways, const llvm::Twine &Name, llvm::BasicBlock *Block) {
#if LLVM_VERSION_MAJOR >= 18
  return llvm::PHINode::Create(T, Ways, Name, Block->getFirstNonPHIIt());
#else
  if (llvm::Instruction *Next = Block->getFirstNonPHI()) return llvm::PHINode::Create(T, Ways, Name, Next);
  return llvm::PHINode::Create(T, Ways, Name, Block); // which has no other instruction yet
#endif
}

/// A phi before everything in the block, which is not empty.
inline llvm::PHINode *phiBeforeOthers(llvm::Type *T, unsigned Ways, const llvm::Twine &Name, llvm::BasicBlock *Block) {
#if LLVM_VERSION_MAJOR >= 18
  return llvm::PHINode::Create(T, Ways, Name, Block->begin());
#else
  return llvm::PHINode::Create(T, Ways, Name, &Block->front());
#endif
}

/// Where what uses the instruction's value can be: null if nowhere.
inline llvm::Instruction *behind(llvm::Instruction &I) {
#if LLVM_VERSION_MAJOR >= 18
  const auto At = I.getInsertionPointAfterDef();
  return At ? &**At : nullptr;
#else
  return I.getInsertionPointAfterDef();
#endif
}

/// Whether the compiler knows that what is extended is not negative.
inline bool isNonNegative(const llvm::CastInst &Wider) {
#if LLVM_VERSION_MAJOR >= 18
  return Wider.hasNonNeg();
#else
  (void)Wider;
  return false;
#endif
}

/// Shows `Visit` what tells debuggers of variables with the value.
template <typename Visitor> void eachVariable(llvm::Value *V, Visitor Visit) {
  llvm::SmallVector<llvm::DbgVariableIntrinsic *, 2> Intrinsics;
#if LLVM_VERSION_MAJOR >= 19
  llvm::SmallVector<llvm::DbgVariableRecord *, 2> Records;
  llvm::findDbgUsers(Intrinsics, V, &Records);
  for (llvm::DbgVariableRecord *Record : Records) Visit(Record);
#else
  llvm::findDbgUsers(Intrinsics, V);
#endif
  for (llvm::DbgVariableIntrinsic *Intrinsic : Intrinsics) Visit(Intrinsic);
}

/// Shows `Visit` all that the function tells debuggers of variables.
template <typename Visitor> void eachOfVariables(llvm::Function &F, Visitor Visit) {
  for (llvm::Instruction &I : llvm::instructions(F)) {
#if LLVM_VERSION_MAJOR >= 19
    for (const llvm::DbgVariableRecord &Record : llvm::filterDbgVars(I.getDbgRecordRange())) Visit(&Record);
#endif
    if (const auto *Intrinsic = llvm::dyn_cast<llvm::DbgVariableIntrinsic>(&I)) Visit(Intrinsic);
  }
}

} // namespace pagecast
