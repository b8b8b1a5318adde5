// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Speculated values: what is loaded again in every iteration from an address that stays is taken to stay, too.
//
//     for (i = 0; i < n; i++) f(a + 5 * i);        n and a are globals, and f might change them
//     for (i..n) if (wanted(a[i])) v.push_back(a[i]);      and v moves when it needs more space
//
//     for (k = 0; k < n; k++) { i = back ? n - 1 - k : k; ... }            of which nothing is assumed: it is k + back * (n - 1 - 2 * k)
//     for (i = 0; i < n; i++) { next = i == n - 1 ? 0 : i + 1; ... }            it is i + 1 (PeriodicIndices.h)
//
// Hints may be wrong, so the bound and the base are loaded once more before the loop, for the hints alone. The
// program's own loads remain what they are. A copy of a load is made only where it cannot fault.
#ifndef PAGECAST_COMPILER_SPECULATEDVALUES_H
#define PAGECAST_COMPILER_SPECULATEDVALUES_H

#include "loops/ChunkedList.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace pagecast {

/// Whether bounds and bases may be what it loads: a plain load of an integer or a pointer.
bool mayBeBoundOrBase(const llvm::LoadInst *I);

/// Whether a copy of `I`, whose address is known there, can stand in the preheader of `L` without faulting.
bool canLoadBefore(llvm::LoadInst *I, llvm::Loop *L, const llvm::DominatorTree &DT);

/// `Yes` where `Condition` holds, else `No`, which are of one type: scalar evolution has no choices, but sums.
const llvm::SCEV *choiceAsSum(llvm::Value *Condition, const llvm::SCEV *Yes, const llvm::SCEV *No, llvm::ScalarEvolution &SE);

/// What each iteration loads from one place, and stores there anew: a generator's state in an object, when LLVM must fear that other
/// stores go there, too.
struct Kept {
  llvm::StoreInst *Store; ///< the only one there in the loops of `Before`
  llvm::SmallDenseMap<llvm::Loop *, llvm::LoadInst *, 2> Before; ///< loops around the load: a copy of it in front of each
};

/// The place of a walk over a chunked list in the first iteration of its loop.
struct ChunkedListStart {
  llvm::Loop *L;
  int64_t Step, Size;
  llvm::Value *Offset, *Chunk; ///< as in ChunkedListPosition, in front of the loop
};

class SpeculatedValues {
public:
  SpeculatedValues(llvm::LoopInfo &LI, llvm::DominatorTree &DT, llvm::ScalarEvolution &SE) : LI(LI), DT(DT), SE(SE) {}
  SpeculatedValues(const SpeculatedValues &) = delete;

  /// Puts the copies in front of the loops, each as far out as it goes.
  void insert();
  /// The expression of `V` with the copies for the originals.
  const llvm::SCEV *scev(llvm::Value *V);
  const llvm::SCEV *rewrite(const llvm::SCEV *S);
  /// `S` with the program's own values for copies, as far as the program has them in front of `Root`: a copy further out is older.
  const llvm::SCEV *exact(const llvm::SCEV *S, const llvm::Loop *Root);
  /// Whether `S` depends on which iteration of `L` it is: on its counters, or on what is loaded from where these say.
  /// What is loaded from an address that stays is taken to stay.
  bool movesWith(const llvm::SCEV *S, const llvm::Loop *L);
  /// The bits, as an integer, of a floating-point number that is computed before the nest; null if they cannot be had.
  llvm::Value *bits(llvm::Value *Number);
  /// What is loaded and stored anew in each iteration; null for loads of anything else.
  const Kept *kept(const llvm::LoadInst *) const;
  /// The walk over a chunked list that the value is; null if it is none.
  const ChunkedListStart *chunked(const llvm::Instruction *) const;
  /// Removes the copies that nothing uses. True if some are left.
  bool removeUnused();

private:
  llvm::LoopInfo &LI;
  llvm::DominatorTree &DT;
  llvm::ScalarEvolution &SE;
  llvm::ValueToSCEVMapTy Known;
  llvm::SmallVector<llvm::Instruction *, 8> Copies;
  llvm::DenseMap<const llvm::Value *, llvm::Instruction *> Bits;
  llvm::DenseMap<const llvm::LoadInst *, Kept> KeptValues;
  llvm::DenseMap<const llvm::Instruction *, ChunkedListStart> ChunkedValues;

  void speculateLoads();
  void speculateResults();
  void writeChoices();
  void speculatePeriodicIndices();
  void speculateCarried();
  void speculateLoadsOfThose();
  void speculateKept();
  void speculateChunkedLists();
  void speculateChunkedLists(llvm::Loop *);
  llvm::LoadInst *copyBefore(llvm::LoadInst *, llvm::Loop *);
  llvm::LoadInst *loadedBefore(const llvm::LoadInst *, const llvm::SCEV *Address, const llvm::Loop *);
  llvm::Loop *furthest(llvm::LoadInst *I, llvm::Loop *Innermost);
  llvm::Value *known(llvm::Value *V) const;
  bool moves(const llvm::SCEV *S, const llvm::Loop *L, unsigned Depth);
  bool moves(llvm::Value *V, const llvm::Loop *L, unsigned Depth);
};

} // namespace pagecast

#endif
