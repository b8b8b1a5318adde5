// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What references are to a chain of loops: direct, where their addresses are strides in the loops; indirect, where a slice can
// tell the addresses; ignored, or refused. Small inner loops count as part of the loop around them: what a reference touches in
// them is one piece. So do searches, as far as their first iteration goes.
#ifndef PAGECAST_COMPILER_CLASSIFY_H
#define PAGECAST_COMPILER_CLASSIFY_H

#include "nests/Groups.h"
#include "slices/Searches.h"
#include "loops/TripCounts.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

namespace pagecast {

class Classifier {
public:
  Classifier(llvm::Function &, llvm::LoopInfo &, llvm::DominatorTree &, llvm::ScalarEvolution &, SpeculatedValues &,
             TripCounts &);

  /// Whether the loop counts as part of the one around it.
  bool folds(const llvm::Loop *L) const { return Small.count(L) || Search.contains(L); }
  const Searches &searches() const { return Search; }
  /// The loop's trip count - 1, if it is known on its entry; else null.
  const llvm::SCEV *count(llvm::Loop *L);

  /// Whether `S` can be computed before `Root`.
  bool available(const llvm::SCEV *S, llvm::Loop *Root);

  /// A slice's value: the expression, or one that is as good, if it can be computed before `Root`; else null.
  const llvm::SCEV *live(const llvm::SCEV *S, llvm::Loop *Root);

  /// All that belong to the chain. `Sliced`: loops inside the innermost one do as well.
  llvm::SmallVector<Classified, 16> classify(llvm::ArrayRef<llvm::Loop *> Loops, bool Sliced);

private:
  llvm::LoopInfo &LI;
  llvm::DominatorTree &DT;
  llvm::ScalarEvolution &SE;
  SpeculatedValues &Speculated;
  TripCounts &Counts;
  llvm::SCEVExpander Expander;
  llvm::DenseSet<const llvm::Loop *> Small;
  Searches Search;

  bool available(const AffineForm &, llvm::Loop *Root);
  bool classifyDirect(Classified &, const SliceTarget &Folded, llvm::ArrayRef<llvm::Loop *> Loops);
  Classified classify(const Reference &, llvm::ArrayRef<llvm::Loop *> Loops);
  const llvm::SCEV *baseOf(const llvm::SCEV *Address, llvm::Loop *Root);
};

} // namespace pagecast

#endif
