// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches: inner loops that nobody can count, because they end when they have found something. In
//
//     for (i..n) for (j = head[hash(key[i])]; j >= 0; j = next[j]) if (row[j].key == key[i]) sum += row[j].value;
//
// the loop j is a search. It counts as part of the loop around it. Where a slice can trace it (SearchTracing.h), it does; else it
// counts as far as its first iteration goes: what changes in it has the value that it begins with. Then a search that
// begins at the same place each time gives no hints.
#ifndef PAGECAST_COMPILER_SEARCHES_H
#define PAGECAST_COMPILER_SEARCHES_H

#include "slices/SearchTracing.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace pagecast {

class Searches {
public:
  /// `Counted`: its trip count is known on its entry. `Small` count as part of the loop around them anyway.
  Searches(llvm::LoopInfo &LI, llvm::DominatorTree &DT, llvm::ScalarEvolution &SE, llvm::function_ref<bool(llvm::Loop *)> Counted,
           const llvm::DenseSet<const llvm::Loop *> &Small);

  bool contains(const llvm::Loop *L) const { return Found.count(L); }
  /// Whether slices go through it.
  bool traces(const llvm::Loop *L) const { return Tracing && Tracing->traces(L); }
  /// Whether slices can compute a value of a search that is traced.
  bool computes(const llvm::Value *V) const { return Tracing && Tracing->computes(V); }
  /// The search that is traced and leaves `Phi` behind; null if none does.
  llvm::Loop *leftBy(const llvm::PHINode *Phi) const;
  /// The search that is traced and that `I` is in, or left behind by; null if there is none.
  const llvm::Loop *tracedAt(const llvm::Instruction *I) const;
  /// Whether `S` depends on how far a search inside `Within` that is traced has come.
  bool comesFrom(const llvm::SCEV *S, const llvm::Loop *Within) const;
  /// The innermost loop from `L` outwards that is no search, or traced.
  llvm::Loop *around(llvm::Loop *L) const;
  /// Whether there is one inside `L`.
  bool anyIn(const llvm::Loop *L) const;

  /// `S` as it is in the first iterations of the searches inside `Within`: what others have found is known.
  const llvm::SCEV *first(const llvm::SCEV *S, const llvm::Loop *Within) const;
  /// What `Phi` is in the first iteration of a search, or behind one that finds at once; null if that is not what it is for.
  llvm::Value *first(const llvm::PHINode *Phi) const;

private:
  const llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::DenseSet<const llvm::Loop *> Found;
  mutable std::optional<SearchTracing> Tracing;

  bool begins(const llvm::Loop *L) const { return Found.count(L) && !traces(L); }
  bool leavesSearch(const llvm::BasicBlock *From, const llvm::BasicBlock *To) const;
  bool isResult(const llvm::Value *V) const;
};

} // namespace pagecast

#endif
