// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores: what an iteration of a loop has stored for certain before it comes to a place. In
//
//     for (i..n) { for (l..5) a[i][l] = w[l];  a[i][k] = a[i][k] + x; }      0 <= k < 5
//
// the load gets what was stored just before, whatever k is, and touches no page that was not touched. All in here is
// proved: expressions are the program's own, not those with assumed values.
#ifndef PAGECAST_COMPILER_STORES_H
#define PAGECAST_COMPILER_STORES_H

#include "nests/Nests.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace pagecast {

/// Bytes that a load or store, or a call of memset and the like, is certain to touch; 0 if that is unknown. Types whose
/// bits do not fill their bytes do not count.
uint64_t certainBytes(llvm::Instruction *I);

/// The address at which a store, or a call of memset and the like, begins to store, or at which a load begins to read.
llvm::Value *firstByte(llvm::Instruction *I);

class Stores {
public:
  Stores(llvm::Loop *L, const llvm::LoopInfo &LI, const llvm::DominatorTree &DT, llvm::ScalarEvolution &SE);

  /// Whether an iteration that comes to `At`, in the loop or a loop inside it, has stored all of the `Bytes` at `Pointer`.
  bool precede(const llvm::Instruction *At, llvm::Value *Pointer, uint64_t Bytes) const;

private:
  struct Store {
    llvm::Instruction *At;
    int64_t Begin; ///< bytes from the first byte of the family's first store
  };
  /// Stores a constant number of bytes apart, in the loop and the loops inside.
  struct Family {
    const llvm::SCEV *From;
    llvm::SmallVector<Store, 8> Members;
  };

  void add(llvm::Instruction *At);

  const llvm::LoopInfo &LI;
  const llvm::DominatorTree &DT;
  llvm::ScalarEvolution &SE;
  llvm::SmallVector<Family, 4> Families;
};

// --- byte coverage -----------------------------------------------------------------------------
//
// Which bytes of a nest's groups an instruction touches, proved. Groups are hints, and their forms may rest on assumptions; here
// addresses are the program's own.

class ByteCoverage {
public:
  ByteCoverage(const Nest &N, const llvm::LoopInfo &LI, const llvm::DominatorTree &DT, llvm::ScalarEvolution &SE)
      : N(N), LI(LI), DT(DT), SE(SE) {}

  /// The offsets of a pointer from the group's first reference in an iteration of the chain, if they are the same in all.
  bool places(const Group &G, llvm::Value *Pointer, const llvm::Instruction *At, llvm::SmallVectorImpl<int64_t> &Out) const;
  /// Whether it runs in each iteration of a loop of the chain: in all iterations of the loops inside that it is in, whose
  /// trip counts are constant.
  bool runsAlways(const llvm::BasicBlock *Block) const;
  /// The direct group that reads whose extent has all that is read at `Pointer`, or null.
  const Group *seenIn(llvm::Instruction *At, llvm::Value *Pointer) const;

private:
  const Nest &N;
  const llvm::LoopInfo &LI;
  const llvm::DominatorTree &DT;
  llvm::ScalarEvolution &SE;

  const llvm::SCEV *addressOf(const Group &G) const;
  bool isInside(const llvm::Loop *L) const;
  uint64_t trips(llvm::Loop *L) const;
  bool valuesOf(const llvm::SCEV *Offset, const llvm::Instruction *At, llvm::SmallVectorImpl<int64_t> &Out) const;
};

} // namespace pagecast

#endif
