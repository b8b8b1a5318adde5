// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which steps of a stage are to be run again. A search goes as far as what it loads is in memory, and asks for what it lacks:
// in the same step it gets further when that has come. So a step is run until all its searches have ended, or the program is
// past it. Only so many steps behind the first are remembered; those beyond are run once.
//
// Example: steps 5 to 8 have been run, 6 to its end. With the program in step 5, steps 5, 7, and 8 are run again.
//
// Threads: the slicer's. Belongs to one stage of one execution of a nest.
#pragma once
#include <cstdint>

namespace pagecast {

class SliceRepeats {
public:
  static constexpr uint64_t kMost = 64;

  void start() { *this = {}; }

  /// Step `step` has been run; `ended`: all that it searched for was found.
  void ran(uint64_t step, bool ended) {
    if (open_ == 0) first_ = step;
    if (step < first_ || step - first_ >= kMost) return;
    const uint64_t bit = uint64_t{1} << (step - first_);
    open_ = ended ? open_ & ~bit : open_ | bit;
  }

  /// The program is in step `step`.
  void pass(uint64_t step) {
    if (step <= first_) return;
    open_ = step - first_ < kMost ? open_ >> (step - first_) : 0;
    first_ = step;
  }

  /// The first step from `*step` on that is to be run again. False: there is none.
  bool next(uint64_t *step) const {
    const uint64_t from = *step > first_ ? *step - first_ : 0;
    const uint64_t left = from < kMost ? open_ >> from << from : 0;
    if (left == 0) return false;
    *step = first_ + static_cast<uint64_t>(__builtin_ctzll(left));
    return true;
  }

private:
  uint64_t first_ = 0; ///< step of bit 0
  uint64_t open_ = 0;
};

} // namespace pagecast
