// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that one iteration hands to the next: the state of a random generator, a rolling hash. A slice computes them as the
// program does, one after the other:
//
//     for (i..n) { state = state * a + c; table[state >> s]++; }
//     for (i..n) { hash = (hash << 2 | code[text[i]]) & mask; table[hash]++; }
#ifndef PAGECAST_COMPILER_CARRIED_H
#define PAGECAST_COMPILER_CARRIED_H

#include "slices/SliceProgram.h"

namespace pagecast {

/// What a value begins with, in the first iteration of all of these loops, innermost first.
struct CarriedStart {
  llvm::Value *First;
  llvm::SmallVector<llvm::Loop *, 2> Of;
};
/// What a phi in the header of a loop begins with. Where the loop around goes on with what the loop has left, as far as
/// `Root`, both are one loop.
CarriedStart startOf(llvm::PHINode *, const llvm::Loop *Root, const llvm::LoopInfo &);

/// How many operations an operation needs, itself included.
unsigned neededFor(const SliceProgram &, unsigned Operation);

/// Whether it depends on a value that is handed on.
bool needsCarried(const SliceProgram &, const Operand &);

/// Whether nothing searches between a PREVIOUS and what it hands on, which is of no search.
bool carriesApart(llvm::ArrayRef<pagecast_op>);

/// Whether it depends on a value that is handed on and only ever added to, as where elements that are kept are counted, or the
/// lengths of strings added up: it moves on evenly enough for faults to foretell it, and slices could not keep up with it.
bool walks(const SliceProgram &, const Operand &);

} // namespace pagecast

#endif
