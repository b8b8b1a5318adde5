// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much a slice has asked for that the program has not come to yet. A distance in steps cannot bound it: how many
// pages a step of scattered references touches, only the data know. Beyond a share of the budget, pages would be
// evicted again before their turn.
//
// Threads: the slicer's. A window belongs to one stage of one execution of a nest.
#pragma once
#include <cstdint>

namespace pagecast {

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

} // namespace pagecast
