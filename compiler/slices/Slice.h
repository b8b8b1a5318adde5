// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices: the addresses that the strides of a nest do not give, as operations for the runtime's machine
// (pagecast_slice in pagecast/abi.h). In
//
//     for (j..n) for (k = row[j]; k < row[j + 1]; k++) y[j] += a[k] * x[column[k]];
//
// the nest is the loop j, and its slice
//
//     from = load row[j], to = load row[j + 1]         stage 1
//     range a + 8 * from, stride 8, to - from times    stage 1
//     range column + 4 * from ...                      stage 1
//     loop k, to - from times:
//         c = load column[from + k]                    stage 2
//         touch x + 8 * c                              stage 2
//
// A reference is taken when everything that its address and its loops' trip counts need is integer
// arithmetic over loaded values, iteration numbers and values fixed in the nest. Conditions are kept where
// they are that, and taken to hold where not.
#ifndef PAGECAST_COMPILER_SLICE_H
#define PAGECAST_COMPILER_SLICE_H

#include "slices/Refusals.h"
#include "slices/SliceTarget.h"
#include "pagecast/abi.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace pagecast {

struct Slice {
  llvm::SmallVector<pagecast_op, 16> Ops;
  unsigned Scalars = 0, Vectors = 0, Depths = 0;
  unsigned Carried = 0; ///< how many PREVIOUS
  bool HasLoops = false;
  llvm::SmallVector<const llvm::SCEV *, 8> Live;      ///< invariant in the root
  llvm::SmallVector<llvm::LoadInst *, 4> Index;       ///< loads at addresses affine in the chain
  bool empty() const { return Ops.empty(); }
};

/// The value that a slice gets for an expression which is invariant in the root of the nest: the expression
/// itself or one that can be computed on entry; null if there is none.
using LiveFunction = llvm::function_ref<const llvm::SCEV *(const llvm::SCEV *)>;

struct SliceContext {
  llvm::ArrayRef<llvm::Loop *> Chain;
  llvm::LoopInfo &LI;
  llvm::DominatorTree &DT;
  llvm::ScalarEvolution &SE;
  SpeculatedValues &Speculated;
  const Searches &S;
  LiveFunction Live;
};

/// Whether a slice can touch it: Refusal::None, or why not. The loads that it needs go to `Index`; `Moves` tells whether
/// the address differs from one iteration of the chain to another.
Refusal sliceable(const SliceTarget &, const SliceContext &, llvm::SmallVectorImpl<llvm::LoadInst *> &Index, bool &Moves);

/// The slice that touches the targets, each given with its group's number. None too many are given: those that
/// do not fit (Refusal::SliceTooLarge) are left out, and their group numbers added to `Left`.
Slice buildSlice(llvm::ArrayRef<std::pair<unsigned, SliceTarget>> Targets, const SliceContext &,
                 llvm::SmallVectorImpl<unsigned> &Left);

} // namespace pagecast

#endif
