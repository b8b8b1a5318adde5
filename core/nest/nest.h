// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One execution of a nest: fetches run on a cursor ahead of the program, releases one step behind it.
//
// Threads: one at a time calls the methods of a Nest. The residency map that advance() reads may change
// under it. A Nest has no pointers; it may live in static storage and be started again and again.
#pragma once
#include "core/nest/cursor.h"
#include "core/nest/distance.h"
#include "core/nest/fetcher.h"
#include "core/nest/plan.h"
#include "core/nest/releaser.h"
#include "core/nest/ticks.h"
#include "core/residency.h"
#include "core/types.h"

namespace pagecast::core {

class Nest {
public:
  /// Makes the plan (core/nest/plan.h) and puts the cursors at the start. Cost: O(loops * groups).
  void start(const Shape &, const Conditions &, uint64_t now_ns);

  /// The nest is not alone in memory: plans again for `budget` bytes at `program_step`. `left_to_others`: bit g =
  /// group g's pages are given up by another nest, which uses them after this one. Cost: as start().
  void share(uint64_t budget, uint32_t left_to_others, uint64_t program_step);
  /// The nest fits, but only where pages are that others may want sooner than what it has finished with: it releases
  /// as it goes, but for the groups whose bit is set in `kept`. Cost: as start().
  /// Not where there are scattered groups: what these touch is not given up, so that all else would go before it. A list of rows
  /// that is gone through again for each column went each time for the columns, which are wanted once.
  void release_along(uint32_t kept, uint64_t program_step);

  /// Iterations of the ticked loop per step (a multiple of 64 when the loop is strip-mined).
  uint64_t strip() const { return plan_.strip; }
  /// Steps in the whole nest.
  uint64_t steps() const { return program_at_.steps(); }
  /// True when all that the nest touches fits and nothing is released within it.
  bool fits() const { return plan_.fits; }

  /// The program has finished `program_step` steps at `now_ns`. Moves the fetch cursors up to the distance
  /// ahead (absent pages of the map go to sink.fetch, adjacent ones merged up to max_io) and the release
  /// cursor to one step behind. Does bounded work: kBurst pieces of steps.
  /// Returns the step at which it wants to be called again (<= program_step: at once, when the sink has
  /// room). ~0: never.
  uint64_t advance(uint64_t program_step, uint64_t now_ns, const ResidencyMap &, Sink &);
  /// The fetch cursor stopped because the sink refused.
  bool blocked() const { return blocked_; }

  /// The program left the nest after `program_step` steps: the releases that are left.
  void finish(uint64_t program_step, Sink &);

  /// Nothing at or behind this step is fetched: who brings it from further away has not been asked for it yet. ~0: there is no such.
  void stop_before(uint64_t step) { fence_ = step; }
  /// There is such a step: that pages were not fetched in time says nothing of the nest.
  bool is_held() const { return fence_ != ~uint64_t{0}; }

  /// Measurements. `late`: the program ran into a page in flight. `unused`: fetched, evicted untouched.
  /// `crowded`: pages that nobody had released were evicted.
  void measured(uint64_t latency_ns) { distance_.measured(latency_ns); }
  void late(unsigned group);
  void unused(uint64_t pages) { distance_.unused(pages); }
  void crowded(uint64_t pages) { distance_.crowded(pages); }

  /// The memory for regions has become more or less, bytes. The plan stays, the distance follows.
  void budget(uint64_t bytes) { distance_.budget(bytes); }

  uint64_t distance() const { return distance_.steps(); } ///< steps, now
  /// Steps by which slices run ahead of the program: what a slice touches needs as long as anything else.
  uint64_t slice_distance() const { return distance_.steps(); }
  /// What a group touches in the whole nest; for indirect groups nothing.
  void footprint(unsigned group, Pieces *p) const { program_at_.unit_pieces(shape_.group[group], -1, conditions_.page, p); }
  const Plan &plan() const { return plan_; }
  const Shape &shape() const { return shape_; }

  /// Pieces (of groups, of steps) that one advance() fetches, and that it releases, at most.
  static constexpr uint64_t kBurst = 1024;

private:
  void plan_leaps(Shape *);
  /// Leaps that are finished after so many steps, and those that have begun. kUnbounded stays so.
  uint64_t leaps(uint64_t steps) const { return leaps_.steps(steps); }
  uint64_t begun_leaps(uint64_t steps) const { return steps && steps != kUnbounded ? leaps_.steps(steps - 1) + 1 : steps; }
  uint64_t target(uint64_t program_step, uint64_t distance, uint64_t batch);
  uint64_t nested_target(uint64_t program_step, uint64_t distance, uint64_t batch);
  bool fetch(Fetcher &, uint64_t program_step, uint64_t distance, const ResidencyMap &, Sink &);
  uint64_t fetch_wake(const Fetcher &, uint64_t program_step, uint64_t distance) const;

  Shape shape_;
  Conditions conditions_;
  Plan plan_;
  Plan leap_plan_; ///< by which the cursors go
  Ticks leaps_; ///< of some steps each
  Distance distance_;
  Fetcher direct_, index_; ///< the index arrays of slices are fetched further ahead
  Releaser releaser_;
  Cursor program_at_; ///< by steps; its position is scratch, for the nested schedule
  uint64_t fence_ = ~uint64_t{0}; ///< step
  bool blocked_ = false;
  bool unfinished_ = false; ///< a fetcher stopped before its target: go on at the next call
};

} // namespace pagecast::core
