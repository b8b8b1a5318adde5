// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program's ticks and the core's steps. In nests in strips they are the same. In others the program ticks once for each
// iteration of the ticked loop, and where those touch little, many make a step: the cursors then move seldom. The last
// step of each execution of the ticked loop is the shorter one, as the last strip is.
//
// Example: 118 ticks for each row, 50 in a step: steps end after ticks 50, 100, 118, 168, 218, 236, ...
#pragma once
#include "core/arithmetic.h"
#include "core/types.h"

namespace pagecast::core {

class Ticks {
public:
  /// `strip`: iterations of the ticked loop in a step.
  void start(const Shape &s, uint64_t strip) {
    trips_ = s.loops && !s.strips && strip > 1 ? s.trips[s.ticked] : 0;
    strip_ = most(strip, 1);
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
  uint64_t trips_ = 0; ///< of the ticked loop; 0: a tick is a step
  uint64_t strip_ = 1;
  uint64_t steps_ = 0; ///< in one execution of the ticked loop
};

} // namespace pagecast::core
