// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program's ticks and the core's steps. In nests in strips they are the same. In others the program ticks once for each
// iteration of the ticked loop, and where those touch little, many make a step: the cursors then move seldom. The last
// step of each execution of the ticked loop is the shorter one, as the last strip is.
//
// Example: 118 ticks for each row, 50 in a step: steps end after ticks 50, 100, 118, 168, 218, 236, ...
//
// The same is between steps and leaps. Where steps are short, as those of rows of eight elements are, or of what a slice goes
// through one by one, the cursors take leaps of many steps. Where a whole execution of the ticked loop moves by less than a page,
// that loop is folded for them into the one around it.
//
// Example: a million rows of eight doubles, a step each: 128 rows make a leap.
#pragma once
#include "core/arithmetic.h"
#include "core/types.h"

namespace pagecast::core {

/// Makes a loop further out the ticked one, as long as an execution of it moves each group by less than a page. `steps`: in one
/// execution of the ticked loop. Returns the steps in one iteration of the new one; 0: nothing is folded. Cost: O(groups * loops).
inline uint64_t fold_short_loops(Shape &s, uint64_t steps, uint64_t page) {
  const auto is_short = [&](unsigned k) {
    for (unsigned g = 0; g < s.groups; ++g)
      if (!s.group[g].indirect && saturating_mul(magnitude(s.group[g].stride[k]), s.trips[k]) >= page) return false;
    return s.trips[k] > 0;
  };
  uint64_t folded = 0;
  while (s.loops && s.ticked > 0 && is_short(s.ticked)) {
    const uint64_t more = folded ? saturating_mul(folded, s.trips[s.ticked]) : steps;
    if (saturating_mul(more, s.trips[s.ticked - 1]) == kUnbounded) break;
    folded = more;
    --s.ticked;
  }
  return folded;
}

class Ticks {
public:
  /// `strip`: iterations of the ticked loop in a step.
  void start(const Shape &s, uint64_t strip) { start(s.loops && !s.strips ? s.trips[s.ticked] : 0, strip); }
  /// `ticks` of one execution of a loop, `strip` of which make a step.
  void start(uint64_t ticks, uint64_t strip) {
    strip_ = most(strip, 1);
    trips_ = strip_ > 1 ? ticks : 0;
    steps_ = divide_up(trips_, strip_);
  }
  /// Steps that are finished after so many ticks. kUnbounded stays so.
  uint64_t steps(uint64_t ticks) const {
    return trips_ && ticks != kUnbounded ? saturating_add(saturating_mul(ticks / trips_, steps_), ticks % trips_ / strip_)
                                         : ticks;
  }
  /// Ticks after which so many steps are finished. kUnbounded stays so.
  uint64_t ticks(uint64_t steps) const {
    if (!trips_ || steps == kUnbounded) return steps;
    return saturating_add(saturating_mul(steps / steps_, trips_), steps % steps_ * strip_);
  }

private:
  uint64_t trips_ = 0; ///< ticks in one execution of the ticked loop; 0: a tick is a step
  uint64_t strip_ = 1; ///< ticks in a step
  uint64_t steps_ = 0; ///< in one execution of the ticked loop
};

} // namespace pagecast::core
