// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passed words: of what the arguments of a nest are computed, so that the program passes few words. In
//
//     for (i = first; i < last; i++) a[n * from + i] = 0
//
// the trip count, which the gate knows, is passed, and not `first` and `last`. What goes up with the iterations of a loop
// around, as rows = 32 (k + 1) and bytes = 256 (k + 1) do, is computed from one of them.
#ifndef PAGECAST_COMPILER_PASSEDWORDS_H
#define PAGECAST_COMPILER_PASSEDWORDS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

#include <optional>

namespace pagecast {

class PassedWords {
public:
  /// Another expression that is to be known.
  void want(const llvm::SCEV *S);
  /// To be called when all are wanted. `Anyway`, of them, are computed before the nest is entered.
  void choose(llvm::ArrayRef<const llvm::SCEV *> Anyway);

  /// Whether `S` is passed as it is, though it has parts from which it could be computed.
  bool isWhole(const llvm::SCEV *S) const { return Whole.contains(S); }

  /// Constant + Linear * Of + Square * Of * Of, modulo 2^64.
  struct Polynomial {
    const llvm::SCEVAddRecExpr *Of;
    int64_t Constant, Linear, Square;
  };
  /// `S` by the one recurrence of its loop that is passed. Nothing if it is that one itself, or not to be had from it.
  std::optional<Polynomial> byAnother(const llvm::SCEV *S) const;

private:
  llvm::SmallVector<const llvm::SCEV *, 16> Wanted;
  llvm::SmallPtrSet<const llvm::SCEV *, 8> Whole;
  llvm::SmallDenseMap<const llvm::Loop *, const llvm::SCEVAddRecExpr *, 4> Leading; ///< of each loop, that with the least step

  void lead(const llvm::SCEV *S);
  unsigned words() const;
  void tryWhole(const llvm::SCEV *S, unsigned &Best);
};

/// Whether the runtime is told of `S` as of a constant: a number, the null pointer, or where a global begins.
bool isKnownToTables(const llvm::SCEV *S);

} // namespace pagecast

#endif
