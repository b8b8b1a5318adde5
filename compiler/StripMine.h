// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strip mining: splitting a loop into an outer loop over strips and the loop itself over one strip.
//
//     for (i = 0; i < n; i++) body          for (done = 0; ; done += strip)
//                                               last = umin(n - 1 - done, strip - 1)
//                                      =>       for (c = 0; ; c++) { body; i++; if (c == last) break; }
//                                               <tick>
//                                               if (n - 1 - done < strip) break;
//
// Written with the *last* iteration number instead of the count, so that nothing overflows even for
// 2^64 iterations and for strip = 2^64 - 1. The body is untouched: its header phis continue through
// the strip loop, so early exits and reductions stay what they were, and the loop vectorizes as before.
#ifndef PAGECAST_COMPILER_STRIPMINE_H
#define PAGECAST_COMPILER_STRIPMINE_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/ValueHandle.h"

namespace pagecast {

/// Whether `L`, in simplified and LCSSA form, ends in an exit test that can be replaced.
bool canStripMine(const llvm::Loop *L);

struct StripLoop {
  llvm::Loop *Outer;           ///< the new loop
  llvm::Instruction *TickPoint; ///< executed once after each strip
};

/// Strip-mines `L`. `Last` is its trip count - 1 and `StripLast` the strip length - 1, both i64 and
/// available in the preheader. Expressions that scalar evolution has of the loop must be forgotten. The old exit condition is added to `Dead`. Keeps the dominator tree,
/// the loop info, and simplified and LCSSA form.
StripLoop stripMine(llvm::Loop *L, llvm::Value *Last, llvm::Value *StripLast, llvm::LoopInfo &LI,
                    llvm::DominatorTree &DT,
                    llvm::SmallVectorImpl<llvm::WeakTrackingVH> &Dead);

} // namespace pagecast

#endif
