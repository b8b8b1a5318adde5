// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many requests a device is asked to answer at once. Too few leave parts of it idle; too many make the program's own
// requests wait behind ours. So depth follows how long requests take, beside the quickest round of them.
//
// Requests fall on the parts of a device by chance. With D parts and depth d, a request takes (d + D - 1) / D times the
// quickest, and d / (d + D - 1) of the device is busy: at 4 times the quickest some 80 %, at 6 times 88 %.
//
// Example: four disks of 15 ms each. Depth settles between 12 and 22, where a request takes 56 to 94 ms.
//
// Hints that are often wrong get little depth, whatever the device can do: limit().
//
// Times are arguments, in ns. Not thread-safe.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::speculate {

class Depth {
public:
  static constexpr unsigned kFirst = 2, kMost = 32;
  static constexpr uint64_t kShortest = 30000; ///< ns: what is quicker was in a cache on the way

  static constexpr uint64_t kQuick = 3, kSlow = 5; ///< times the quickest round: grow below, shrink above
  static constexpr uint64_t kRound = 8; ///< requests at least: a few that fell together with others say little

  /// A request has been answered after so long.
  void answered(uint64_t ns) {
    if (ns < kShortest) return;
    sum_ += ns;
    if (++count_ >= std::max<uint64_t>(depth_, kRound)) judge();
  }
  unsigned depth() const { return std::min(depth_, limit_); }
  /// No more than this, for the time being.
  void limit(unsigned most) { limit_ = std::clamp(most, 1u, kMost); }
  uint64_t quickest() const { return base_; } ///< ns; 0 = not known yet

private:
  /// After as many answers as requests are under way: once in a round.
  void judge() {
    const uint64_t mean = sum_ / count_;
    base_ = base_ ? std::min(base_ + base_ / 1024, mean) : mean; // devices change: the quickest is forgotten slowly
    if (mean < base_ * kQuick) {
      depth_ = std::min(growing_ ? depth_ * 2 : depth_ + 1, kMost);
    } else {
      growing_ = false;
      if (mean > base_ * kSlow) depth_ = std::max(depth_ - std::max(depth_ / 8, 1u), 2u);
    }
    sum_ = count_ = 0;
  }

  unsigned depth_ = kFirst, limit_ = kMost;
  bool growing_ = true; ///< doubling, until the first queue is seen
  uint64_t sum_ = 0, count_ = 0, base_ = 0;
};

} // namespace pagecast::speculate
