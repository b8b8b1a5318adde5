// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trip counts: how often a loop runs each time it is entered. They are for hints: where a loop can end early, or a
// counter could wrap around, it is taken not to. In
//
//     for (i = 0; i < n; i += m) ...
//
// the count is (n + m - 1) / m, which can only be computed ahead where m is not 0. A sweep in a direction that only the
// program knows, for (i = first; i != end; i += step), is taken to meet its end.
#ifndef PAGECAST_COMPILER_TRIPCOUNTS_H
#define PAGECAST_COMPILER_TRIPCOUNTS_H

#include "loops/SpeculatedValues.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace pagecast {

/// The largest trip count of `L` if that is a constant below `Most`, else 0.
uint64_t fewTrips(llvm::Loop *L, uint64_t Most, llvm::ScalarEvolution &SE);

/// Trip count - 1 of `L` on each entry to it, optimistically: early exits are not taken. Null if unknown.
const llvm::SCEV *backedgesOf(llvm::Loop *L, llvm::ScalarEvolution &SE, SpeculatedValues &Speculated);

/// Trip count from the number of backedges taken, as an i64.
const llvm::SCEV *tripsOf(const llvm::SCEV *Backedges, llvm::ScalarEvolution &SE);

/// The trip counts of a function in forms that can be computed before the loops.
class TripCounts {
public:
  TripCounts(llvm::Function &F, const llvm::LoopInfo &LI, llvm::ScalarEvolution &SE, SpeculatedValues &Speculated);

  /// Trip count - 1 per entry to `L`, if known there, else null.
  const llvm::SCEV *backedges(llvm::Loop *L);
  /// Trip count - 1 without assumptions, in terms of what the program itself has computed; null if that is not known.
  const llvm::SCEV *exact(llvm::Loop *L);
  /// An expression with the value of `S` wherever the program computes it, and with some value everywhere else: it divides by
  /// no zero.
  const llvm::SCEV *defined(const llvm::SCEV *S);
  /// Whether `L` runs as often as `Backedges`, its own, say, unless it ends early.
  bool isExact(llvm::Loop *L, const llvm::SCEV *Backedges);

private:
  const llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  SpeculatedValues &Speculated;
  llvm::DenseMap<const llvm::SCEV *, llvm::Value *> Quotients; ///< the first of each in the function

  const llvm::SCEV *definedCount(const llvm::SCEV *Count, llvm::Loop *L);
};

} // namespace pagecast

#endif
