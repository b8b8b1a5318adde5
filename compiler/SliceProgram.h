// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice before its operations have registers: what Slice.cpp builds and SliceEncoder.cpp writes down.
#ifndef PAGECAST_COMPILER_SLICEPROGRAM_H
#define PAGECAST_COMPILER_SLICEPROGRAM_H

#include "Slice.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"

namespace pagecast {

/// A value while the slice is being built.
struct Operand {
  enum Kind : uint8_t { Nothing, Live, Outer, Iteration, Result } Is = Nothing;
  unsigned Number = 0; ///< Live: which; Outer: loop of the chain; Result: operation
  int Node = -1;       ///< -1: fixed in the nest
  unsigned Depth = 0;  ///< loads behind one another in it
};

struct PendingOp {
  unsigned Code, Depth, Width, Extra;
  Operand A, B, C, Times; ///< of a PREVIOUS, B is made after it
};

/// One loop: the innermost of the chain, or one inside it.
struct LoopNode {
  llvm::Loop *L;
  int Parent;
  Operand Trips, When;                ///< in the parent's node
  llvm::SmallVector<unsigned, 8> Ops; ///< in the order of their making, which is that of their dependences
};

struct SliceProgram {
  llvm::SmallVector<PendingOp, 32> Ops;
  llvm::SmallVector<LoopNode, 4> Nodes; ///< a parent before its children; 0: the innermost loop of the chain
};

/// The operations that some touch needs, with registers, loop by loop. `LiveValues` registers come first, then the iteration
/// numbers of `Outer` loops. Live and Index are left empty.
Slice encodeSlice(const SliceProgram &, unsigned LiveValues, unsigned Outer);

} // namespace pagecast

#endif
