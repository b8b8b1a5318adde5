// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a slice's steps hand on to the next ones: the state of a random generator, a rolling hash (PAGECAST_OP_PREVIOUS). A step can
// be run when it is known what the one before it handed on, so that steps are run in order; a slice that goes back to steps
// that it has run before goes to the first of those of which that is still known.
//
// Threads: the slicer's. Belongs to one stage of one execution of a nest.
#pragma once
#include "runtime/slices/machine.h"

namespace pagecast {

class SliceState {
public:
  static constexpr unsigned kKept = 128; ///< steps

  void start() { first_ = end_ = 0; }

  /// What step `step` is given; nothing is known of it if the step before was not run.
  SliceCarried before(uint64_t step) const { return knows(step) ? kept_[step % kKept] : SliceCarried{}; }

  /// Step `step` has been run, and hands this on.
  void after(uint64_t step, const SliceCarried &carried) {
    const uint64_t next = step + 1;
    if (next != end_ && !knows(next)) first_ = end_ = next; // the first one, or after steps that were left out
    if (next == end_) ++end_;
    if (end_ - first_ > kKept) first_ = end_ - kKept;
    kept_[next % kKept] = carried;
  }

  /// Where to go on instead of at step `step`, from step `position` on, which it is before.
  uint64_t back_to(uint64_t step, uint64_t position) const {
    if (knows(step)) return step;
    return first_ < end_ && step < first_ && first_ < position ? first_ : position;
  }

private:
  bool knows(uint64_t step) const { return first_ <= step && step < end_; }

  SliceCarried kept_[kKept];
  uint64_t first_ = 0, end_ = 0; ///< the steps that are known of, [first, end)
};

} // namespace pagecast
