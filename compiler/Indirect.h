// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indirect references: addresses that depend on values loaded in the nest, as in
//
//     count[key[i]]++            rank of one index load
//     grid[row[i] * w + col[i]]  two index loads and an invariant
//
// The address is a tree of pure instructions over leaves: index loads (whose own address is
// affine), affine values (recomputed from the iteration numbers) and values fixed in the nest.
// Everything in the tree can be evaluated for any iteration, without the program: by the slice.
#ifndef PAGECAST_COMPILER_INDIRECT_H
#define PAGECAST_COMPILER_INDIRECT_H

#include "Affine.h"

#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace pagecast {

/// Why a reference or a loop gets no hints. The names are those of the missed remarks.
enum class Refusal {
  None,
  NonAffine,        ///< the address is neither affine nor indirect
  VariantStride,    ///< a stride changes inside the nest
  IndirectDepth,    ///< an index load is itself indirect
  ConditionalIndex, ///< an index load is not executed in every iteration
  UnknownTarget,    ///< the array behind an indirect reference changes inside the nest
  UnknownTripCount, ///< the trip count is not known on entry
  TooManyGroups,    ///< the nest has more groups than a site table holds
  NotStripMinable,  ///< the loop cannot be split into strips and has no loop around it
};

llvm::StringRef nameOf(Refusal Why);
llvm::StringRef explain(Refusal Why);

/// Whether `Block` runs in every iteration of its loop. The guard of an inner loop (it may have no
/// iterations) is not held against blocks that run whenever that loop does.
bool runsEachIteration(const llvm::BasicBlock *Block, const llvm::LoopInfo &LI, const llvm::DominatorTree &DT);

/// What a node of an address tree is, to the slice.
struct Node {
  enum Kind { Constant, Invariant, Affine, Index, Operation, Refused } Is = Refused;
  AffineForm Form; ///< Affine: the value; Index: the address of the load
  Refusal Why = Refusal::None;
};

/// The kind of `V` in a tree of the chain `Loops`.
Node classifyNode(llvm::Value *V, llvm::ArrayRef<llvm::Loop *> Loops, llvm::LoopInfo &LI,
                  llvm::DominatorTree &DT, llvm::ScalarEvolution &SE);

struct IndirectAddress {
  llvm::Value *Address = nullptr;              ///< the root of the tree
  const llvm::SCEV *Target = nullptr;          ///< base pointer of the array, invariant in the nest
  llvm::SmallVector<llvm::LoadInst *, 2> Index; ///< the index loads
};

/// Recognises an indirect address, or says why not.
std::optional<IndirectAddress> recognise(llvm::Value *Address, llvm::ArrayRef<llvm::Loop *> Loops,
                                         llvm::LoopInfo &LI, llvm::DominatorTree &DT,
                                         llvm::ScalarEvolution &SE, Refusal &Why);

} // namespace pagecast

#endif
