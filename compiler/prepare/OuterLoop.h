// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop around a loop, of which it makes pieces: strips (StripMine.h), rounds (Worklists.h), bit runs (BitRuns.h). What the inner
// loop carries from one iteration to the next it carries from piece to piece as well:
//
//     preheader -> start -> header ... latch -> end (-> back) -> start
//
// `end` is where the inner loop goes when a piece is done: what leaves the loop there goes through phis in it (LCSSA).
// `back`, which may be `end`, goes on with the next piece.
#ifndef PAGECAST_COMPILER_OUTERLOOP_H
#define PAGECAST_COMPILER_OUTERLOOP_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include <string>

namespace pagecast {

class OuterLoop {
public:
  /// Makes `start`, which goes on to the header, and has the preheader go there. The latch is what it will be. `Name`: of a
  /// piece, for blocks and phis.
  OuterLoop(llvm::Loop *L, llvm::StringRef Name);

  llvm::BasicBlock *start() const { return Start; }

  /// The phis of the header go on with what they were at the end of the last piece. `End`, whose only predecessor is the
  /// latch, and `Back` exist; what ends the latch and them is the caller's.
  void thread(llvm::BasicBlock *End, llvm::BasicBlock *Back);
  /// A value of the loop in `end` and behind it; others as they are. After thread().
  llvm::Value *closed(llvm::Value *);
  /// Loop info, with the blocks of `Others` in the new loop, and the blocks of its own that exits need. The dominator tree
  /// is up to date. Returns the new loop.
  llvm::Loop *finish(llvm::ArrayRef<llvm::BasicBlock *> Others, llvm::LoopInfo &, llvm::DominatorTree &);

private:
  llvm::Loop *L;
  std::string Name;
  llvm::BasicBlock *Preheader, *Header, *Latch, *Start, *End = nullptr;
  llvm::DenseMap<llvm::Value *, llvm::PHINode *> Closed;
};

} // namespace pagecast

#endif
