// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strip mining: making a loop pause every so many iterations.
//
//     for (i = 0; ; ) { body; i++; if (i == n) break; }
// =>
//     limit = n                                      or less, where the nest has been opened
//     strip: for (; ; ) { body; i++; if (i == limit) break; }
//     if (ticket) {                                  predicted not taken
//         limit = __pagecast_next(i, n, ticket)
//         if (limit != i) goto strip
//     }
//
// In place: where nothing is paged the loop runs as one strip that ends where the loop did, at the
// cost of the test of `ticket`. The body is untouched: its header phis continue through the strip
// loop, so early exits and reductions stay what they were, and the loop vectorizes as before.
// The program keeps count of its iterations itself; the runtime only says how many come next.
#ifndef PAGECAST_COMPILER_STRIPMINE_H
#define PAGECAST_COMPILER_STRIPMINE_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/ValueHandle.h"

namespace pagecast {

/// Whether `L`, in simplified and LCSSA form, ends in an exit test that can be replaced: one whose iterations are
/// counted before the loop.
bool canStripMine(llvm::Loop *L, llvm::ScalarEvolution &SE);

/// The exit test of a latch: it leaves once `Moving`, which goes by one an iteration, equals `Bound`.
struct ExitTest {
  llvm::Value *Moving;
  llvm::Value *Bound; ///< invariant in the loop
  llvm::Value *Entry; ///< of the header phi behind `Moving`, on entry
  bool Down;          ///< by minus one
  bool After;         ///< `Moving` is the phi plus one step, not the phi

  /// `From` moved by `Count` (an i64) iterations.
  llvm::Value *moved(llvm::IRBuilder<> &B, llvm::Value *From, llvm::Value *Count) const;
  /// Iterations left once `Moving` is `At`, as an i64.
  llvm::Value *left(llvm::IRBuilder<> &B, llvm::Value *At) const;
  /// What `Moving` is compared with when the first strip is `Count` iterations.
  llvm::Value *firstLimit(llvm::IRBuilder<> &B, llvm::Value *Count) const;
};

/// The exit test of `L`. One of another form is replaced by a counter of `Trips` (an i64 available in
/// the preheader) iterations, and its condition added to `Dead`.
ExitTest exitTestOf(llvm::Loop *L, llvm::Value *Trips, llvm::ScalarEvolution &SE,
                    llvm::SmallVectorImpl<llvm::WeakTrackingVH> &Dead);

/// Strip-mines `L`. `Limit`, `Ticket` and `Test.Bound` are available in the preheader; `Next` is
/// __pagecast_next. Expressions that scalar evolution has of the loop must be forgotten. Returns the
/// new loop. Keeps the dominator tree, the loop info, and simplified and LCSSA form.
llvm::Loop *stripMine(llvm::Loop *L, const ExitTest &Test, llvm::Value *Limit, llvm::Value *Ticket, llvm::FunctionCallee Next,
                      llvm::MDNode *Unlikely, llvm::LoopInfo &LI, llvm::DominatorTree &DT,
                      llvm::SmallVectorImpl<llvm::WeakTrackingVH> &Dead);

} // namespace pagecast

#endif
