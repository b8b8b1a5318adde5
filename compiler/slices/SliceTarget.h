// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slice targets: what a slice touches for one reference. Loops through which the address moves evenly are not gone
// through: in
//
//     for (j..n) for (k = row[j]; k < row[j + 1]; k++) for (l..5) y[j] += a[k][l];
//
// the five elements are one access of 40 bytes, and the loop k is a range of them, 40 bytes apart.
#ifndef PAGECAST_COMPILER_SLICETARGET_H
#define PAGECAST_COMPILER_SLICETARGET_H

#include "loops/Affine.h"
#include "loops/SpeculatedValues.h"
#include "slices/Searches.h"

namespace pagecast {

/// What one reference touches, for the slice.
struct SliceTarget {
  const llvm::SCEV *Address = nullptr; ///< of the first byte; of a range: in its first iteration
  const llvm::SCEV *Step = nullptr;    ///< range: bytes an iteration; null: one access
  llvm::Loop *Over = nullptr;          ///< the loop that the range replaces
  llvm::BasicBlock *At = nullptr;      ///< where conditions are looked up
  int64_t Hi = 0;                      ///< bytes touched at the address
};

/// What is touched by `Size` bytes at `Pointer` in `At`, a block of the innermost loop of the chain or of a
/// loop inside it: inner loops through which the address moves evenly become ranges, searches count for their first iteration.
SliceTarget sliceTarget(llvm::Value *Pointer, uint64_t Size, llvm::BasicBlock *At, llvm::ArrayRef<llvm::Loop *> Chain,
                        llvm::LoopInfo &LI, llvm::ScalarEvolution &SE, SpeculatedValues &Speculated, const Searches &S);

} // namespace pagecast

#endif
