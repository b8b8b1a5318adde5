// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether what a slice has found in memory will still be there. What it finds it does not ask for; and where it finds nearly
// everything, nothing but the distance keeps it from the end of its nest. By the time the program comes there, other pages may
// have taken the place of what was found: so many given up in between, though nobody had released them, that a page may have
// been first in use, then on probation (Pager::keep_aging), and gone. Then the slice goes back to the program, and keeps half
// its lead for as long as that lasts.
//
// Example: 1000 steps ahead, and 400 pages given up since the program's step was looked at, of 300 that may be. The slice begins
// again behind the program, and goes 500 steps ahead; after another 500 steps without that, 1000.
//
// Threads: the slicer's. Belongs to one stage of one execution of a nest.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast {

class SliceLead {
public:
  static constexpr uint64_t kLeast = 8; ///< steps that are always run ahead

  /// `most`: pages that may be given up between the look at a step and the step itself.
  void start(uint64_t most) {
    *this = {};
    most_ = std::max<uint64_t>(most, 1);
  }

  /// Step `step` is about to be run; so many pages have been given up by now. Steps come in order, but after back_to().
  void runs(uint64_t step, uint64_t given_up) {
    if (count_ > 0 && given_up - mark(count_ - 1).given_up < most_ / (kMarks / 2)) return; // as good as the last one
    if (count_ == kMarks) return;                                                          // the last one counts as older
    part_[(first_ + count_++) % kMarks] = {step, given_up};
  }

  /// The program is in step `step`: whether too much has been given up since the slice was there.
  bool is_stale(uint64_t step, uint64_t given_up) {
    while (count_ > 1 && mark(1).step <= step) first_ = (first_ + 1) % kMarks, --count_;
    if (step >= doubles_at_) {
      limit_ = limit_ < kFar ? limit_ * 2 : kFar;
      doubles_at_ = limit_ < kFar ? step + limit_ : kFar;
    }
    return count_ > 0 && mark(0).step <= step && given_up - mark(0).given_up > most_;
  }

  /// The slice, which was about to run step `position`, goes back to the program.
  void back_to(uint64_t step, uint64_t position) {
    limit_ = std::max(position > step ? (position - step) / 2 : 0, kLeast);
    doubles_at_ = step + limit_;
    first_ = count_ = 0;
  }

  /// The step before which the slice stops.
  uint64_t end(uint64_t step) const { return limit_ < kFar ? step + 1 + limit_ : ~0ull; }

private:
  static constexpr unsigned kMarks = 64;
  static constexpr uint64_t kFar = 1ull << 40;
  struct Mark {
    uint64_t step, given_up; ///< from `step` on, steps were run when at least so many had been given up
  };
  const Mark &mark(unsigned i) const { return part_[(first_ + i) % kMarks]; }

  Mark part_[kMarks];
  unsigned first_ = 0, count_ = 0;
  uint64_t most_ = 1;
  uint64_t limit_ = kFar, doubles_at_ = kFar;
};

} // namespace pagecast
