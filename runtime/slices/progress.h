// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far a stage of a slice has come, in five parts.
//
//   SliceWindow   how much it has asked for that the program has not come to yet
//   SliceLead     whether what it found in memory will still be there when the program comes
//   SliceRepeats  which of its steps are to be run again, as their searches had not ended
//   SliceState    what its steps hand on to the next ones
//   SliceSampling how many of its iterations are run
//
// Threads: the slicer's. Each belongs to one stage of one execution of a nest.
#pragma once
#include "runtime/slices/machine.h"

#include <algorithm>
#include <cstdint>

namespace pagecast {

/// How much a slice has asked for that the program has not come to yet. A distance in steps cannot bound it, since only the data
/// know how many pages a step of scattered references touches. Beyond a share of the budget, pages would be evicted again before
/// their turn.
class SliceWindow {
public:
  /// `most`: pages, at least 1.
  void start(uint64_t most) {
    *this = {};
    most_ = most;
  }

  /// The step before which a slice stops, `distance` steps ahead of the program in `step`. That one has no lead, hence
  /// + 1: where a step is a plane, its pages would be asked for when the program is among them. A slice that has not
  /// `worked` in this turn waits until a quarter of the distance is lacking.
  static uint64_t end(uint64_t step, uint64_t distance, bool worked) { return step + 1 + distance - (worked ? 0 : distance / 4); }

  bool full() const { return pages_ >= most_; }
  uint64_t pages() const { return pages_; }

  /// Step `step` asked for so many. Steps come in order, but after back_to(); and the last page of a probe may be asked
  /// for after that.
  void add(uint64_t step, uint64_t pages) {
    if (pages == 0) return;
    back_to(step); // or pass() would wait at a further step's part, and hold up all behind it
    pages_ += pages;
    if (count_ > 0) {
      Part &last = part_[(first_ + count_ - 1) % kParts];
      if (count_ == kParts || last.pages < most_ / kParts) { // few parts will do: it is a bound, not an account
        last = {step, last.pages + pages};
        return;
      }
    }
    part_[(first_ + count_++) % kParts] = {step, pages};
  }

  /// The slice goes on at step `step`, before others that it has run: what they asked for counts as asked for by it.
  void back_to(uint64_t step) {
    for (unsigned i = count_; i-- > 0 && part_[(first_ + i) % kParts].step > step;) part_[(first_ + i) % kParts].step = step;
  }

  /// The program is in step `step`: what earlier ones asked for has been used.
  void pass(uint64_t step) {
    while (count_ > 0 && part_[first_].step < step) {
      pages_ -= part_[first_].pages;
      first_ = (first_ + 1) % kParts;
      --count_;
    }
  }

private:
  static constexpr unsigned kParts = 64;
  struct Part {
    uint64_t step, pages; ///< `step`: the last of the part's
  };
  Part part_[kParts];
  unsigned first_ = 0, count_ = 0;
  uint64_t pages_ = 0, most_ = 1;
};

/// Whether what a slice has found in memory will still be there. It does not ask for what it finds. Where it finds nearly
/// everything, nothing but the distance keeps it from the end of its nest. By the time the program comes there, other pages may
/// have taken the place of what was found.
///
/// A page may have been in use at first, then on probation (Eviction::keep_aging), and then gone. That takes a number of pages that are
/// given up though nobody had released them. Then the slice goes back to the program, and keeps half its lead as long as that lasts.
///
/// Example: the slice is 1000 steps ahead, and 400 pages were given up since the program's step was looked at, of 300 that may be.
/// It begins again behind the program, and goes 500 steps ahead; after another 500 steps without that, 1000.
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
    if (count_ > 0 && given_up - checkpoint(count_ - 1).given_up < most_ / (kCheckpoints / 2)) return; // as good as the last one
    if (count_ == kCheckpoints) return; // the last one counts as older
    checkpoint_[(first_ + count_++) % kCheckpoints] = {step, given_up};
  }

  /// The program is in step `step`: whether too much has been given up since the slice was there.
  bool is_stale(uint64_t step, uint64_t given_up) {
    while (count_ > 1 && checkpoint(1).step <= step) first_ = (first_ + 1) % kCheckpoints, --count_;
    if (step >= doubles_at_) {
      limit_ = limit_ < kFar ? limit_ * 2 : kFar;
      doubles_at_ = limit_ < kFar ? step + limit_ : kFar;
    }
    return count_ > 0 && checkpoint(0).step <= step && given_up - checkpoint(0).given_up > most_;
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
  static constexpr unsigned kCheckpoints = 64;
  static constexpr uint64_t kFar = 1ull << 40;
  struct Checkpoint {
    uint64_t step, given_up; ///< from `step` on, steps were run when at least so many had been given up
  };
  const Checkpoint &checkpoint(unsigned i) const { return checkpoint_[(first_ + i) % kCheckpoints]; }

  Checkpoint checkpoint_[kCheckpoints];
  unsigned first_ = 0, count_ = 0;
  uint64_t most_ = 1;
  uint64_t limit_ = kFar, doubles_at_ = kFar;
};

/// Which steps of a stage are to be run again. A search goes as far as what it loads is in memory, and asks for what it lacks.
/// In the same step it gets further when that has come. So a step is run until all its searches have ended, or the program is
/// past it. Only so many steps behind the first are remembered; those beyond are run once.
///
/// Example: steps 5 to 8 have been run, 6 to its end. With the program in step 5, steps 5, 7, and 8 are run again.
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

/// What a slice's steps hand on to the next ones: the state of a random generator, a rolling hash (PAGECAST_OP_PREVIOUS). A step
/// can be run when it is known what the one before it handed on, so that steps are run in order. A slice that goes back to steps
/// that it has run before goes to the first of those of which that is still known.
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

/// How many iterations of a stage that can be sampled (slice_can_sample()) are run: one of every(). While places come in order it
/// is one of more and more. When they do not all are run, for longer each time that this happens.
class SliceSampling {
public:
  static constexpr uint64_t kMost = 64, kTimes = 4, kLongest = 4096;

  void start(bool can) {
    *this = {};
    can_ = can;
  }
  uint64_t every() const { return every_; }

  /// How many of `steps` steps can be run at once: is_ready(n) tells whether what step n reads is there. It is asked of the first in
  /// each `stride` steps, which read no more than a page, and of the last. The first one of all is ready.
  template <class IsReady> static uint64_t ready(uint64_t steps, uint64_t stride, IsReady is_ready) {
    for (uint64_t n = stride; n < steps; n += stride)
      if (!is_ready(n)) return n - stride + 1; // the page may begin anywhere after the look before
    return is_ready(steps - 1) ? steps : (steps - 1) / stride * stride + 1;
  }

  /// A run with every() has touched places in order, or not. True: it must be run again, with all iterations. `early`: it met what
  /// is still on its way, and will be run again; what lies beyond that is unknown, and says nothing of the order.
  bool ran(bool in_order, bool early = false) {
    if (!can_ || early) return false;
    if (in_order) {
      if (++good_ >= wait_ && every_ < kMost) every_ *= kTimes;
      return false;
    }
    const bool again = every_ > 1;
    if (again || good_ > 0) wait_ = std::min(wait_ * kTimes, kLongest);
    every_ = 1;
    good_ = 0;
    return again;
  }

private:
  bool can_ = false;
  uint64_t every_ = 1, good_ = 0, wait_ = 1;
};

} // namespace pagecast
