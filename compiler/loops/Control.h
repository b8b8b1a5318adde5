// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control: under which conditions a block runs in an iteration of its loop.
#ifndef PAGECAST_COMPILER_CONTROL_H
#define PAGECAST_COMPILER_CONTROL_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include <optional>

namespace pagecast {

/// `When` must be `Holds` for the block to be reached.
struct Condition {
  llvm::Value *When;
  bool Holds;
};

/// Conditions between the header of `Within` and `Block`, a block of it: necessary, not always sufficient.
/// Where paths meet again nothing is said of the ways there; the ends of inner loops are no conditions.
/// At most 8, the nearest first.
llvm::SmallVector<Condition, 4> conditionsOf(const llvm::BasicBlock *Block, const llvm::Loop *Within, const llvm::LoopInfo &LI,
                                             const llvm::DominatorTree &DT);

/// Whether `Block` runs in every iteration of its loop. The guard of an inner loop (it may have no
/// iterations) does not count for blocks that run whenever that loop does.
bool runsEachIteration(const llvm::BasicBlock *Block, const llvm::LoopInfo &LI, const llvm::DominatorTree &DT);

/// A phi where the ways from one branch or switch meet, each of them with one value, whatever further ways it has gone. What
/// goes elsewhere counts as any other.
struct Choice {
  llvm::Value *On; ///< what is branched or switched on
  llvm::SmallVector<std::pair<llvm::ConstantInt *, llvm::Value *>, 4> Cases;
  llvm::Value *Otherwise;
};
std::optional<Choice> choiceOf(const llvm::PHINode *Phi, const llvm::DominatorTree &DT);

} // namespace pagecast

#endif
