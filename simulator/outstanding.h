// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number of outstanding prefetches over time: what the thesis's figures 5.6, 5.8 and 5.13 plot.
#pragma once
#include "simulator/simulator.h"

namespace pagecast::simulator {

class Outstanding {
public:
  explicit Outstanding(bool keep) : keep_(keep) {}

  void add(uint64_t now);    ///< a page was prefetched
  void remove(uint64_t now); ///< ... and has been referenced, or evicted
  void stalled(uint64_t until);
  /// Fills in the steady state and the timeline.
  void finish(Report *) const;

private:
  void change(uint64_t now, int64_t by);

  bool keep_;
  uint64_t first_stall_ = ~uint64_t{0}; ///< when the first stall ended
  uint64_t last_add_ = 0;
  uint64_t value_ = 0;
  std::vector<Sample> samples_;
};

} // namespace pagecast::simulator
