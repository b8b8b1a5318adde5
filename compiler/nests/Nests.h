// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests: the analysis. Every innermost loop whose trip count is known on entry starts a chain that
// climbs outwards while
//
//   - the trip count of the parent is known on its entry;
//   - the trip counts inside stay fixed in it;
//   - no reference that could be hinted so far loses its form;
//   - the parent has no other sub-loop, or its iterations move on to other data.
//
// Small inner loops of constant length (the five unknowns of a grid point) count as part of the loop around them. So do loops
// that end when they have found something (Searches.h).
//
// An inner loop's bounds or bases may differ from one iteration of its parent to the next: rows of a sparse matrix, triangles,
// pointers to rows. Then the chain begins with the parent, and a slice (Slice.h) goes through its inner loops. An iteration of
// the parent may be too much at a time where inner loops have loops inside, or where rows are places of their own and not pieces
// of one sequence (vectors of vectors, diagonals). There the inner loops are nests as well.
//
// The chain with the groups of its references is a nest. Chains may share outer loops: in
//
//     for (t..T) { for (i..n) { for (j..m) x[i][j] = z[i];  for (j..m) y[i][j] += x[i][j]; }
//                  for (k..n) x[k][0] = 0; }
//
// there are three nests, (i, j), (i, j) and (k). The first two are open at the same time, each with
// its own steps; the reference in their shared loop, z[i], belongs to the first. Those that are ticked on a loop
// that they share are joined in the end (NestFusion.h).
#ifndef PAGECAST_COMPILER_NESTS_H
#define PAGECAST_COMPILER_NESTS_H

#include "loops/Control.h"
#include "nests/Groups.h"
#include "nests/Transfers.h"

#include "llvm/IR/PassManager.h"
#include <optional>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace pagecast {

struct Nest {
  Chain Loops; ///< the outermost first
  llvm::SmallVector<const llvm::SCEV *, 8> Backedges; ///< trip count - 1 of each loop, invariant in the root
  llvm::SmallVector<Group, 8> Groups;
  unsigned Ticked = 0; ///< the loop whose steps are ticked
  bool Strips = false; ///< that loop is to be strip-mined
  bool Closes = false; ///< the runtime closes it by itself (endsByItself): there are no calls for that but on early exits
  bool Sliced = false; ///< the innermost loop of the chain has loops inside, which a slice goes through
  bool Apart = false; ///< sliced: the rows are places of their own, each of which may be large
  bool Exact = false; ///< each loop, once entered, runs as often as its count says, unless an iteration ends it early
  unsigned Beside = 0; ///< loops at the end of the chain that are not inside the one before, but next to it (NestFusion.h)
  Slice Code; ///< for the indirect groups
  uint64_t Bytes = 0; ///< footprint per innermost iteration, for the gate
  llvm::SmallVector<Condition, 2> Guards; ///< fixed in the nest: unless all hold it does nothing and is not entered

  std::optional<Upwards> Up; ///< unless it holds the nest is not entered: its strips are memmove's

  llvm::Loop *root() const { return Loops.front(); }
  bool hasIndirect() const {
    return llvm::any_of(Groups, [](const Group &G) { return G.indirect(); });
  }
  /// The place in the source that stands for one of the groups: the nest's where optimizations have left it none.
  llvm::DebugLoc placeOf(const Group &G) const {
    const llvm::DebugLoc Where = G.where();
    return Where ? Where : root()->getStartLoc();
  }
};

/// A loop or reference that gets no hints, and why: one missed remark.
struct Refused {
  Refusal Why;
  llvm::DebugLoc Where;
  llvm::BasicBlock *In;
  std::string Detail;
  llvm::DebugLoc Nest; ///< of the outermost loop around it
};

struct NestList {
  std::vector<Nest> Nests;
  std::vector<Refused> Refusals;
};

/// Which loops are looked at; null for all. Of an outermost loop it must be all or nothing.
using OfLoops = llvm::function_ref<bool(const llvm::Loop &)>;

/// All nests of a function, whose loops are in simplified and LCSSA form, as far as `Where` has them.
/// Expressions of the nests may have copies of `Speculated`.
NestList findNests(llvm::Function &F, llvm::LoopInfo &LI, llvm::DominatorTree &DT, llvm::ScalarEvolution &SE,
                   SpeculatedValues &Speculated, const Transfers &, NeedsChecks Checks, OfLoops Where);

} // namespace pagecast

#endif
