// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages that the kernel was asked to read and that may not have come yet, oldest first. The kernel can give up none of
// them before they are there: where a disk is slow and memory is small, they would fill it, and who asks for a page
// then finds nothing to reclaim. One thread.
#pragma once
#include "core/types.h"

#include <cstdint>

namespace pagecast {

class UnderWay {
public:
  uint64_t bytes() const { return bytes_; }
  bool any() const { return count_ != 0; }
  core::Extent oldest() const { return asked_[first_]; }
  /// The one that was asked for `n` after the oldest, or the newest. There must be one.
  core::Extent later(unsigned n) const { return asked_[(first_ + (n < count_ ? n : count_ - 1)) % kMost]; }
  void drop_oldest() {
    bytes_ -= asked_[first_].size();
    first_ = (first_ + 1) % kMost;
    --count_;
  }
  /// What was asked for so long ago that it is not kept in mind has come.
  void add(core::Extent e) {
    if (count_ == kMost) drop_oldest();
    asked_[(first_ + count_++) % kMost] = e;
    bytes_ += e.size();
  }

private:
  static constexpr unsigned kMost = 256;
  core::Extent asked_[kMost];
  unsigned first_ = 0, count_ = 0;
  uint64_t bytes_ = 0;
};

} // namespace pagecast
