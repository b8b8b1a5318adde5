// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a nest is over, for those that close themselves (pagecast_nest.closes).
#pragma once
#include "core/arithmetic.h"
#include "pagecast/abi.h"

namespace pagecast {

/// How often the last loop of a nest is entered, if the nest is closed at the end of the last of these times, else 0.
inline uint64_t ends_of(const pagecast_nest &d, const uint64_t *trips) {
  uint64_t times = d.closes && d.strips ? 1 : 0;
  for (unsigned k = 0; k + 1 < d.loops; ++k) times = core::saturating_mul(times, trips[k]);
  return times;
}

/// The tick of a nest that closes it, or ~0.
inline uint64_t last_tick_of(const pagecast_nest &d, const uint64_t *trips) {
  if (!d.closes || d.strips) return ~0ull;
  uint64_t ticks = 1;
  for (unsigned k = 0; k <= d.ticked; ++k) ticks = core::saturating_mul(ticks, trips[k]);
  return ticks;
}

} // namespace pagecast
