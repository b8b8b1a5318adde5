// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice before its operations have registers: what Slice.cpp builds and SliceEncoder.cpp writes down.
#ifndef PAGECAST_COMPILER_SLICEPROGRAM_H
#define PAGECAST_COMPILER_SLICEPROGRAM_H

#include "slices/Slice.h"

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

/// What a search hands on: operation `To` gets the value `From`.
struct Carry {
  unsigned To; ///< for the next time round: what it begins with; for after the search: CARRY in the node around, a place alone
  Operand From;
  bool Result; ///< for after the search, also when it ends here
};

/// One loop: the innermost of the chain, or one inside it.
struct LoopNode {
  llvm::Loop *L;
  int Parent;
  Operand Trips, When;                ///< in the parent's node
  llvm::SmallVector<unsigned, 8> Ops; ///< in the order of their making, which is that of their dependences
  bool Search =
      false; ///< without a trip count: an operation SEARCH of the parent's, with this node as `Extra`, says where it stands
  bool Closed = false;
  bool Failed = false; ///< nothing in it can be used
  unsigned Depth = 1; ///< search: of all in it
  llvm::SmallVector<Carry, 4> Carries = {};
  llvm::SmallVector<Operand, 2> Until = {};
  Operand Zero = {};
};

struct SliceProgram {
  llvm::SmallVector<PendingOp, 32> Ops;
  llvm::SmallVector<LoopNode, 4> Nodes; ///< a parent before its children; 0: the innermost loop of the chain

  bool encloses(int Outer, int Inner) const {
    while (Inner >= 0 && Inner != Outer) Inner = Nodes[Inner].Parent;
    return Inner == Outer;
  }

  /// The innermost search that `Node` is or is in; -1 if none.
  int searchOf(int Node) const {
    while (Node >= 0 && !Nodes[Node].Search) Node = Nodes[Node].Parent;
    return Node;
  }

  /// The outermost search that `Node` is or is in; -1 if none.
  int searchAround(int Node) const {
    int Found = -1;
    for (; Node >= 0; Node = Nodes[Node].Parent)
      if (Nodes[Node].Search) Found = Node;
    return Found;
  }
};

/// The operations that some touch needs, with registers, loop by loop. `LiveValues` registers come first, then the iteration
/// numbers of `Outer` loops. Live and Index are left empty.
Slice encodeSlice(const SliceProgram &, unsigned LiveValues, unsigned Outer);

} // namespace pagecast

#endif
