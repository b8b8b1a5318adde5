// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the members of a team lose more by waiting for each other than a helper can bring them. It cannot save more than the time in
// which they do anything else, so a team whose members wait for each other for most of the time is given up: each goes on alone, and
// after a rest the phase may have a team again. A rest is twice as long each time, and short again after a team that paid.
//
// Example: seven ranks read seven parts of a grid, and each interval takes as long as the slowest of them: they wait for 63 % of
// their time. After two periods of 16 intervals the team is given up for two seconds, and after the next two for four.
//
// No clock, no allocation; not thread-safe. Times are nanoseconds.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class MeetingPrice {
public:
  static constexpr uint64_t kPeriod = 16; ///< intervals
  static constexpr uint64_t kLeastNs = 100'000'000; ///< of all members together: shorter periods say little
  static constexpr uint64_t kFirstRest = 2'000'000'000, kMostRest = 64 * kFirstRest;
  static constexpr unsigned kDoubts = 2; ///< bad periods, one after the other

  /// A team may be there.
  bool pays(uint64_t now_ns) const { return now_ns >= rests_until_; }
  /// A team went over so many intervals, in which its members spent `member_ns` together, `met_ns` of that waiting for each other.
  /// True: it is given up.
  bool went(uint64_t intervals, uint64_t member_ns, uint64_t met_ns, uint64_t now_ns) {
    intervals_ += intervals, member_ns_ += member_ns, met_ns_ += met_ns;
    if (intervals_ < kPeriod || member_ns_ < kLeastNs) return false;
    const bool is_bad = met_ns_ > member_ns_ / 2;
    intervals_ = member_ns_ = met_ns_ = 0;
    doubts_ = is_bad ? doubts_ + 1 : 0;
    if (!is_bad) rest_ = kFirstRest;
    if (doubts_ < kDoubts) return false;
    doubts_ = 0;
    rests_until_ = now_ns + rest_;
    rest_ = std::min(rest_ * 2, kMostRest);
    return true;
  }

private:
  uint64_t intervals_ = 0, member_ns_ = 0, met_ns_ = 0;
  uint64_t rests_until_ = 0, rest_ = kFirstRest;
  unsigned doubts_ = 0;
};

} // namespace pagecast::core
