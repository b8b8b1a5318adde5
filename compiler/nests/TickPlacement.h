// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tick placement: which loop of a nest is ticked, whether it runs in strips, and what its gate takes an iteration to touch.
#ifndef PAGECAST_COMPILER_TICKPLACEMENT_H
#define PAGECAST_COMPILER_TICKPLACEMENT_H

#include "nests/Nests.h"

namespace pagecast {

/// A step should move by about a page: constant inner loops that move less are not ticked.
constexpr uint64_t StepBytes = 4096;

/// Nests whose whole footprint is a small constant. An indirect access may touch a page each.
bool isSmall(const Nest &);

struct TickContext {
  llvm::ScalarEvolution &SE;
  llvm::DominatorTree &DT;
  NeedsChecks Checks;
  bool Exact;    ///< the innermost loop's trip count is not assumed: strips end where it says
  bool InPlanes; ///< the nest is a plane of a larger one, whose slice goes through planes
  bool OnlyRows; ///< the loops inside a sliced nest's innermost one are loops of elements
  bool Apart;    ///< and what each of them goes over is a place of its own
  bool Whole;    ///< the innermost loop must not run in strips
};

/// Sets Ticked and Strips. False if there is no loop to tick.
bool chooseTicked(Nest &, const TickContext &);

/// Whether a chosen nest ends with the last strip or tick of its ticked loop, and the runtime can tell which that is: each
/// iteration of the loops around it gets there, as often as their counts say. The first `Exact` loops run as often as theirs.
/// A nest of one loop in strips may have early exits besides.
bool endsByItself(const Nest &, unsigned Exact, const llvm::DominatorTree &);

/// The largest element, or the stride where whole elements are skipped; a page when every stride
/// is a symbol; a cache line for an indirect access. It is only for the gate: on entry
/// the runtime computes the footprint of each group.
uint64_t bytesPerIteration(const Nest &, const TickContext &);

} // namespace pagecast

#endif
