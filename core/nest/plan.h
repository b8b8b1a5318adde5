// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the policy decides once, on entry to a nest, with the real trip counts and the real budget: which
// loops keep what they touch (the localized iteration space), how long a step is, and when and with which
// priority each group's pages are given up.
//
// Localized: from the innermost loop outwards, loop k is localized while everything that reuse in it and in
// the loops inside it must keep fits in the budget beside prefetches: these have 1/4 of it, or two iterations of
// the loop where those fetch less, but at least 1/16. A group without reuse in a loop streams through it and needs
// only what its inner loops keep, provided that its pages are released.
//
// Priority (thesis, equation 4.1; OSDI 2000, equation 2): the sum of 2^depth(k) over the loops k in which the
// group has temporal reuse that is not localized; depth 0 = outermost; 0 = never again. Spatial reuse that is not
// localized counts as well, for those pages that the loop does not leave: down a matrix, column after column, 15 of 16
// pages of a column are wanted by the next one, and those that are not must go first, or they are all that stays.
//
// Example, figure 4.3 of the thesis: MATVEC, c[i] += a[i][j] * b[j] in loops iter, i, j. a has temporal reuse
// in iter: priority 1. b has it in iter and i: priority 3 when a row of b does not fit. When it does, b is
// kept through i, released once per iteration of iter, and its priority is 1 as well. Where releases are acted on at
// once (Conditions::at_once), as by the paper's compiler, which took that reuse for lost, temporal reuse in the loops
// outside a step is not kept, whatever fits: b goes behind each step, with priority 3.
#pragma once
#include "core/types.h"

namespace pagecast::core {

struct GroupPlan {
  uint8_t like = 0;         ///< the first group that touches most of the same pages in the whole nest; itself: none before it
  uint8_t temporal = 0;     ///< bit k: stride 0 in loop k, which has more than one iteration
  uint8_t spatial = 0;      ///< bit k: the next iteration of loop k touches most of the same pages
  int8_t release_loop = -1; ///< outermost localized loop with temporal reuse; -1: none
  /// Pages are released when an iteration of this loop has finished and the next one does not touch them:
  /// the loop outside release_loop, or a localized loop with spatial reuse, else the ticked loop.
  /// -1: when the nest has finished.
  int8_t release_unit = 0;
  int8_t comes_back = -1; ///< the innermost loop, outside the ticked one, with spatial reuse that is not localized; -1: none
  bool releases = false;
  bool stored =
      false; ///< another group, which stores, comes to its pages soon, or did in the same step: they are fetched for that
  int8_t wide_loop = -1; ///< loop <= ticked whose next iterations want the neighbouring pages; -1: none
  unsigned priority = 0;
  uint64_t block = 0;      ///< bytes: walks with a wide_loop fetch whole blocks
  uint64_t step_bytes = 0; ///< new bytes per step
};

struct Plan {
  bool fits = false; ///< all that the nest touches fits: nothing is released
  /// It is false where every prefetch would push out a page that is wanted sooner: the step that the program is in and the one
  /// ahead of it do not fit together, or the loops inside a step touch more than there is.
  bool prefetches = true;
  unsigned localized = 0;                   ///< the loops [localized, loops) are localized
  uint64_t iteration_bytes[kMaxLoops] = {}; ///< touched by one iteration of loop k
  uint64_t total_bytes = 0;                 ///< touched by the nest, in pages; what several groups touch is counted once
  uint64_t strip = 1;                       ///< iterations of the ticked loop per step
  uint64_t step_bytes = 0;                  ///< new bytes per step, all direct groups
  uint64_t batch_steps = 1;                   ///< steps in which the fastest group moves by max_io
  GroupPlan group[kMaxGroups];
};

/// Pure. Cost O(groups^2 + groups * loops^2). `shape` must be sane (see sanitized()). `strip`: iterations of the
/// ticked loop per step, when the program is at it already; 0: to be chosen.
Plan make_plan(const Shape &shape, const Conditions &, uint64_t strip = 0);

/// Where the group lies in all iterations, from its first byte to its last. Cost O(loops).
Extent reach_of(const Shape &, const Group &);

/// The shape with counts clipped to their limits. Zero loops stay zero loops.
Shape sanitized(const Shape &);
/// Conditions with every zero replaced by a usable value.
Conditions sanitized(const Conditions &);

} // namespace pagecast::core
