// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the loops themselves say of values that are assumed to stay: for SpeculatedValues.cpp and SpeculatedCarried.cpp.
#ifndef PAGECAST_COMPILER_SPECULATEDLOOPS_H
#define PAGECAST_COMPILER_SPECULATEDLOOPS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"

namespace pagecast {

/// How often `L` itself says that what is at the address changes.
enum class Changes { Never, NowAndThen, Always };

/// How often `L` changes what is at `Pointer`, by a store to it or a call that is given it. A call that is not made in each
/// iteration, as when a vector grows, changes it now and then.
Changes changes(const llvm::Value *Pointer, const llvm::Loop *L, const llvm::DominatorTree &DT);

/// A call that something is given to: not one that only says something of it.
bool isRealCall(const llvm::Instruction *I);

/// Whether something goes towards an end of `L`: of other loops there are no nests.
bool isCounted(const llvm::Loop *L, llvm::ScalarEvolution &SE);

/// Calls `Each` for every instruction in loops.
template <class Function> void forEachInstruction(const llvm::LoopInfo &LI, Function Each) {
  for (llvm::Loop *Top : LI)
    for (llvm::BasicBlock *Block : Top->blocks())
      for (llvm::Instruction &I : *Block) Each(I);
}

} // namespace pagecast

#endif
