// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program, one memory, one array of disks, in virtual time; one innermost iteration takes one cycle. The
// same core that runs in programs gives the hints. Deterministic.
//
// It is the simulator of the thesis's section 5.2.2: exact LRU, no contention unless a bandwidth is given,
// and a reference to a page that is not there stalls until the disk has brought it.
#pragma once
#include "core/types.h"
#include <cstdint>
#include <vector>

namespace pagecast::simulator {

enum class Hints : uint8_t {
  kNone,
  kCore,     ///< core::Nest, by Machine::schedule
  kOriginal, ///< the papers' first algorithm: each execution of the inner loop starts with a block prefetch
             ///< of the whole distance, wherever that ends (section 5.2.2, figures 5.6 left and 5.8 (c), (d))
};

struct Machine {
  uint64_t page = 4096;
  uint32_t frames = 1024;
  uint64_t latency = 20000; ///< cycles
  double bandwidth = 0;     ///< bytes per cycle; 0 = unlimited
  uint64_t max_io = 4096;   ///< bytes in one request at most
  uint64_t queue_bytes = 0;
  uint64_t fixed_distance = 0; ///< steps; 0 = measured, as in the runtime
  Hints hints = Hints::kCore;
  core::Schedule schedule = core::Schedule::kContinuous;
  bool release = true;
  bool timeline = false; ///< record every change of the number of outstanding prefetches
};

/// The number of prefetched pages that have not been referenced yet, from `cycle` on.
struct Sample {
  uint64_t cycle, outstanding;
};

struct Report {
  uint64_t cycles = 0;
  uint64_t stalls = 0, stall_cycles = 0;
  std::vector<uint64_t> outer_stalls, outer_stall_cycles; ///< by iteration of the outermost loop
  // What became of each first reference to a page that was not in memory before its hint:
  uint64_t prefetched_hits = 0, late = 0, not_prefetched = 0;
  uint64_t fetched = 0;             ///< pages prefetched
  uint64_t wasted = 0;              ///< of these, never used
  uint64_t rescued = 0;             ///< released pages that were still there when wanted
  uint64_t requests = 0, bytes = 0; ///< of the disk
  /// Outstanding prefetches from the end of the first stall to the last prefetch, weighted by time.
  uint64_t steady_min = 0, steady_max = 0;
  double steady_mean = 0;
  std::vector<Sample> timeline;
};

Report simulate(const core::Shape &, const Machine &);

} // namespace pagecast::simulator
