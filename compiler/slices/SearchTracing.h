// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Search tracing: which searches a slice can go on with by itself, because all that leads from one place to the next is integer
// arithmetic over what it can load. In
//
//     while (from < to) { middle = from + (to - from) / 2; if (a[middle] < key) from = middle + 1; else to = middle; }
//     for (j = head[h]; j >= 0 && row[j].key != key; j = row[j].next) ;
//     while (node) node = key < node->key ? node->left : node->right;
//
// it can. Not traced is what compares floating-point numbers or calls functions, and what only creeps: a search
// that goes on to the place next to the last one (linear probing, a scan for a character) mostly stays where it begins.
#ifndef PAGECAST_COMPILER_SEARCHTRACING_H
#define PAGECAST_COMPILER_SEARCHTRACING_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace pagecast {

class SearchTracing {
public:
  /// Finds which of the searches `All` can be traced; `Small` loops count as part of the loop around them.
  SearchTracing(const llvm::LoopInfo &LI, const llvm::DominatorTree &DT, const llvm::DenseSet<const llvm::Loop *> &All,
                const llvm::DenseSet<const llvm::Loop *> &Small);

  bool traces(const llvm::Loop *L) const { return L && Found.count(L); }
  /// Whether a value in a search that is traced is integer arithmetic over loads, what searches carry, and values from outside.
  bool computes(const llvm::Value *V);

private:
  const llvm::LoopInfo &LI;
  const llvm::DominatorTree &DT;
  const llvm::DenseSet<const llvm::Loop *> &All;
  const llvm::DenseSet<const llvm::Loop *> &Small;
  llvm::DenseSet<const llvm::Loop *> Found;
  llvm::DenseSet<const llvm::PHINode *> Lost; ///< header phis that become what cannot be computed
  llvm::DenseMap<const llvm::Value *, bool> Known;

  bool losesPhi(const llvm::Loop *L);
  bool leads(const llvm::Loop *L);
  bool creeps(const llvm::Loop *L) const;
  bool computesPhi(const llvm::PHINode *Phi);
  bool computesOperation(const llvm::Instruction *I);
};

} // namespace pagecast

#endif
