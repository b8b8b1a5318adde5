// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program's ticks and the core's steps. In nests in strips they are the same. In others the program ticks once for each
// iteration of the ticked loop, and where those touch little, many make a step: the cursors then move seldom. The last
// step of each execution of the ticked loop is the shorter one, as the last strip is.
//
// Example: 118 ticks for each row, 50 in a step: steps end after ticks 50, 100, 118, 168, 218, 236, ...
//
// Where a whole execution of the ticked loop moves by less than a page, as rows of eight elements do, steps would be as short as
// that. Such a loop is folded into the one around it: to the core that one is ticked, and one of its iterations has some ticks.
//
// Example: a million rows of eight doubles, a tick each: 64 rows, which are a page, and 64 ticks make a step.
#pragma once
#include "core/arithmetic.h"
#include "core/types.h"

namespace pagecast::core {

/// Makes a loop further out the ticked one, as long as an execution of it moves each group by less than a page. Returns the ticks in
/// an iteration of the ticked loop; 1 as well where nothing is folded. A nest in strips must then tick once in an execution of the
/// loop that it ticks. Cost: O(groups * loops).
inline uint64_t fold_short_loops(Shape &s, uint64_t page) {
  const auto is_short = [&](unsigned k) {
    for (unsigned g = 0; g < s.groups; ++g)
      if (!s.group[g].indirect && saturating_mul(magnitude(s.group[g].stride[k]), s.trips[k]) >= page) return false;
    return s.trips[k] > 0;
  };
  uint64_t ticks = 1;
  while (s.loops && s.stages == 0 && s.ticked > 0 && is_short(s.ticked)) {
    const uint64_t more = s.strips ? 1 : saturating_mul(ticks, s.trips[s.ticked]);
    if (saturating_mul(more, s.trips[s.ticked - 1]) == kUnbounded) break;
    ticks = more;
    --s.ticked;
    s.strips = false;
  }
  return ticks;
}

class Ticks {
public:
  /// `strip`: iterations of the ticked loop in a step; `per`: ticks in one of them, as fold_short_loops() says.
  void start(const Shape &s, uint64_t strip, uint64_t per = 1) {
    strip_ = saturating_mul(most(strip, 1), per);
    trips_ = s.loops && !s.strips && strip_ > 1 ? s.trips[s.ticked] * per : 0;
    steps_ = divide_up(trips_, strip_);
  }
  /// Steps that are finished after so many ticks.
  uint64_t steps(uint64_t ticks) const {
    return trips_ ? saturating_add(saturating_mul(ticks / trips_, steps_), ticks % trips_ / strip_) : ticks;
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
