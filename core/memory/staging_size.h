// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much memory staging takes, where reads arrive before their pages are shown. Streams fill all of it, and a program that waits for
// one page after the other needs some pages, while each page of memory more saves it reads. So it shrinks to twice what was in use at
// once, when that has been so for a while; and doubles as soon as more is wanted, until it is whole. Then it shrinks later each time.
//
// Example: of 256 pages 3 were in use at once for 0.2 s: 32 stay. A stream begins, 24 are in use: 64 are there, and soon 256.
//
// The pager's thread; O(1).
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

namespace pagecast::core {

class StagingSize {
public:
  static constexpr uint32_t kLeast = 32; ///< pages
  static constexpr uint64_t kCalm = 200'000'000, kMostCalm = 3'200'000'000; ///< ns

  void start(uint32_t whole) { *this = StagingSize(), whole_ = wanted_ = whole; }
  /// Pages that it should take now.
  uint32_t wanted() const { return wanted_; }
  /// So many pages have been in use at once since the last look; `lacked`: more were wanted.
  void look(uint32_t most, bool lacked, uint64_t now) {
    most_ = std::max(most_, most);
    if (wanted_ < whole_ && (lacked || uint64_t{most} * kFull >= uint64_t{wanted_} * (kFull - 1))) {
      wanted_ = std::min(2 * wanted_, whole_);
      calm_ns_ = std::min(2 * calm_ns_, kMostCalm);
      begin(most, now);
    } else if (began_ns_ == 0) {
      begin(most, now);
    } else if (now - began_ns_ >= calm_ns_) {
      if (wanted_ < whole_) calm_ns_ = std::max(calm_ns_ / 2, kCalm);
      wanted_ = std::min(wanted_, std::max(std::bit_ceil(2 * most_), kLeast));
      begin(most, now);
    }
  }

private:
  static constexpr uint32_t kFull = 4; ///< all but one part in so many is in use: it is full
  void begin(uint32_t most, uint64_t now) { most_ = most, began_ns_ = now; }

  uint32_t whole_ = 0, wanted_ = 0;
  uint32_t most_ = 0; ///< since began_ns_
  uint64_t began_ns_ = 0, calm_ns_ = kCalm;
};

} // namespace pagecast::core
