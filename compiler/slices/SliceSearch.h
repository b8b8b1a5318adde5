// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches in slices: a search that can be traced (SearchTracing.h) becomes a node of the slice, in which what its phis hold is
// carried from one time round to the next:
//
//     for (i..n) { from = 0; to = m; while (from < to) { middle = ...; if (a[middle] < key[i]) from = middle + 1; else to = middle; } }
//
//     from = 0, to = m, k = load key[i]
//     search:
//         touch a + 8 * middle
//         c = load a[middle] < k
//         until (c ? middle + 1 : from) >= (c ? to : middle)
//         carry from = c ? middle + 1 : from, to = c ? to : middle
//
// It goes as far as what it loads is in memory. What is not is asked for, and ends it there; the step is run again, and gets
// further.
#ifndef PAGECAST_COMPILER_SLICESEARCH_H
#define PAGECAST_COMPILER_SLICESEARCH_H

#include "slices/SliceProgram.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace pagecast {

/// What a slice that is being built can do for its searches.
class SliceValues {
public:
  virtual int nodeOf(llvm::Loop *) = 0;
  /// The value as an operand; null if it cannot be computed, of which nothing else comes.
  virtual std::optional<Operand> attempt(llvm::Value *) = 0;
  virtual Operand operation(unsigned Code, unsigned Width, Operand A, Operand B, Operand C, unsigned Extra, int At) = 0;
  virtual Operand constant(uint64_t) = 0;
  virtual Operand predicate(llvm::BasicBlock *, llvm::Loop *Within) = 0;

protected:
  ~SliceValues() = default;
};

class SliceSearches {
public:
  SliceSearches(const SliceContext &X, SliceProgram &P, SliceValues &V) : X(X), P(P), V(V) {}

  /// The node of a search that is traced; -1 if it cannot be.
  int open(llvm::Loop *L);
  /// What `Value`, which varies in searches, is in `Node`, outside of them: what it was when they ended.
  Operand leave(Operand Value, int Node);
  /// Whether `Phi` is what a search that is traced carries, or leaves behind.
  bool concerns(const llvm::PHINode *Phi) const;
  /// The value of a phi that concerns searches; null if there is none.
  std::optional<Operand> value(const llvm::PHINode *Phi);

private:
  const SliceContext &X;
  SliceProgram &P;
  SliceValues &V;
  llvm::DenseMap<const llvm::Loop *, int> NodeOf;
  llvm::DenseMap<const llvm::PHINode *, Operand> Values;

  void begin(llvm::Loop *L, int Node);
  bool end(llvm::Loop *L, int Node);
  std::optional<Operand> leaves(llvm::BasicBlock *From, llvm::Loop *L);
  Operand after(Operand Value, int Search);
  std::optional<Operand> result(const llvm::PHINode *Phi, llvm::Loop *L);
  void close(int Node);
};

} // namespace pagecast

#endif
