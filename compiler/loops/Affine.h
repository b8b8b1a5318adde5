// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Affine forms. The address of a reference in a chain of loops, the outermost first, is
//
//     base + stride[0] * i0 + stride[1] * i1 + ...
//
// where base and strides are fixed on entry to the outermost loop (the root). Example: in
//
//     for (i = 0; i < n; i++) for (j = 0; j < m; j++) sum += a[i * m + j + 2];   // double
//
// the load has base a + 16 and strides { 8 * m, 8 }.
//
// The form is a hint, not a proof: extensions of recurrences that may wrap are looked through as if
// they did not. But the rest of a counter comes round again and again, as in u[t & 1][i][j]: there is no stride for t.
#ifndef PAGECAST_COMPILER_AFFINE_H
#define PAGECAST_COMPILER_AFFINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include <optional>

namespace pagecast {

/// Loops of a nest, the outermost first. Each is the parent of the next one.
using Chain = llvm::SmallVector<llvm::Loop *, 8>;

struct AffineForm {
  const llvm::SCEV *Base = nullptr;                ///< pointer or integer, invariant in the root
  llvm::SmallVector<const llvm::SCEV *, 8> Stride; ///< one per loop of the chain, i64, invariant in the root
  uint64_t Around = 0; ///< how many bytes from there it may be, by what comes round again and again: (t & 1) * 8

  bool invariant() const {
    for (const llvm::SCEV *S : Stride)
      if (!S->isZero()) return false;
    return true;
  }
};

enum class AffineFailure { None, NonAffine, VariantStride };

/// The affine form of `S` in `Loops`, or nothing and the reason in `Why`.
std::optional<AffineForm> affineForm(const llvm::SCEV *S, llvm::ArrayRef<llvm::Loop *> Loops, llvm::ScalarEvolution &SE,
                                     AffineFailure *Why = nullptr);

/// The value of a constant stride; nothing when it is a symbol.
std::optional<int64_t> constantOf(const llvm::SCEV *S);

/// `To - From` where that is a constant; nothing for a pointer and an integer.
std::optional<int64_t> constantDifference(const llvm::SCEV *From, const llvm::SCEV *To, llvm::ScalarEvolution &SE);

/// Whether `S` is a recurrence whose distance from one iteration of `L` to the next is no constant.
bool movesBySymbol(const llvm::SCEV *S, const llvm::Loop *L);

/// Whether `S` depends on what is loaded in `L`.
bool hasLoaded(const llvm::SCEV *S, const llvm::Loop *L);

} // namespace pagecast

#endif
