// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a nest: what the program passes, and what the nest's tables make of it, its end among that.
#pragma once
#include "core/arithmetic.h"
#include "pagecast/abi.h"

namespace pagecast {

inline constexpr unsigned kMostArguments =
    PAGECAST_MAX_LOOPS + PAGECAST_MAX_GROUPS * (1 + PAGECAST_MAX_LOOPS) + PAGECAST_MAX_LIVE;

/// Computes all arguments into `full` (kMostArguments words) from the dynamic words. Returns false, having
/// written nothing beyond them, for a table whose numbers are out of range.
/// Cost: about 2 ns an operation of the prologue and 1 ns an argument.
bool expand_args(const pagecast_nest &, const uint64_t *dynamic, uint64_t *full);

/// The trip count of the ticked loop alone, for which little of the prologue is needed. Returns false as above.
bool ticked_trips(const pagecast_nest &, const uint64_t *dynamic, uint64_t *trips);

/// How often the body of the innermost of so many loops is run.
inline uint64_t iterations_of(const uint64_t *trips, unsigned loops) {
  uint64_t times = 1;
  for (unsigned k = 0; k < loops; ++k) times = core::saturating_mul(times, trips[k]);
  return times;
}

// When a nest is over, for those that close themselves (pagecast_nest.closes).

/// How often the last loop of a nest is entered, if the nest is closed at the end of the last of these times, else 0.
inline uint64_t ends_of(const pagecast_nest &d, const uint64_t *trips) {
  return d.closes && d.strips ? iterations_of(trips, d.loops - 1u) : 0;
}

/// The tick of a nest that closes it, or ~0.
inline uint64_t last_tick_of(const pagecast_nest &d, const uint64_t *trips) {
  return !d.closes || d.strips ? ~0ull : iterations_of(trips, d.ticked + 1u);
}

} // namespace pagecast
