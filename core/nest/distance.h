// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many steps ahead of the program the fetch cursor runs.
//
//   distance = max(queue_bytes / step bytes, latency / step time) * 2^boost, limited
//
// The first term keeps the disk busy: what is in flight between two touches of a bandwidth-bound nest is the
// queue's depth, whatever the latency. The second hides the latency of a nest that computes. Where the
// queue's depth is known, the second counts for at most twice the first: latency measured under load
// contains the queue that an already too long distance has built, and following it would raise the distance
// for ever. The boost doubles the distance while the program meets pages in flight and doubling helps; it
// takes back doublings that did not help (bandwidth-bound), and falls when fetched pages are evicted unused.
#pragma once
#include "core/nest/plan.h"
#include "core/types.h"

namespace pagecast::core {

class Distance {
public:
  void start(const Plan &, const Conditions &, uint64_t now_ns);
  /// Another budget, other bytes per step; what was measured stays.
  void limit(const Plan &, const Conditions &);

  /// The program has finished `step` steps at `now_ns`.
  void observe(uint64_t step, uint64_t now_ns);
  void measured(uint64_t latency_ns);
  void late() { ++lates_; }
  void unused(uint64_t pages) { unused_ += pages; }
  void crowded(uint64_t pages) { crowded_ += pages; }

  /// The budget has changed. Cost: a compare when it has not.
  void budget(uint64_t bytes);

  uint64_t steps() const { return steps_; } ///< >= 1
  /// Steps that are fetched at a time, so that requests are large and calls are few.
  uint64_t batch() const { return batch_; }

private:
  void adapt(uint64_t step);
  void fit(uint64_t budget);
  void compute();

  uint64_t latency_ = 0; ///< ns
  uint64_t step_ns_ = 0; ///< ns * 16, exponentially averaged; 0 = unknown
  uint64_t floor_ = 1;   ///< steps that keep the queue full
  uint64_t ceiling_ = 1; ///< steps: a quarter of the budget
  uint64_t budget_ = 0;  ///< bytes
  uint64_t fixed_ = 0;
  uint64_t batch_steps_ = 1;
  uint64_t page_ = 4096, max_io_ = 4096, step_bytes_ = 0;
  bool queue_known_ = false;

  uint64_t last_step_ = 0, last_ns_ = 0;
  // What is counted is judged after a whole turnover of what is in flight, so that a change has shown its effect.
  uint64_t turnover_step_ = 0, lates_ = 0, unused_ = 0, crowded_ = 0;
  uint64_t rate_before_ = 0;    ///< lates per 1024 steps in the turnover before the last doubling
  int boost_ = 0, useless_ = 0, quiet_ = 0; ///< useless_: doublings in a row that did not help
  bool settled_ = false;        ///< the first turnover is over: its lates are those of an empty pipeline
  bool growing_ = true;         ///< false: doublings proved useless, until something changes

  uint64_t steps_ = 1, batch_ = 1;
};

} // namespace pagecast::core
