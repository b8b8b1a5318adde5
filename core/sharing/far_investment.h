// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a process that asks a server's cache ahead for what a nest will touch gains by it. Hints that are late, or for what is
// there already, or whose blocks are pushed out again, cost requests and gain nothing. So the pace of the nest is measured with
// hints and without.
//
//   asks      the process asks; after kFirstTrial intervals there is a trial, and after each that is passed four times as many
//   with      it asks, and what the nest does in a period is noted
//   draining  it does not ask, and the nest goes over what was asked for
//   without   it does not ask, and what the nest does is noted; then it asks again, or rests if that is the second time
//   rests     it does not ask for kFirstRest intervals, twice as many each time; the last period of them is noted
//   warming   it asks again, and has kSettle intervals to get ahead; then it is as in `with`, and compared to what was before
//
//   asks -> with -> draining -> without -- faster with hints, or in doubt ------> asks
//                                  '------ twice not -> rests -> warming -> with'
//
// Example: a nest does 2 MiB in an interval, which takes 10 ms with hints and 9 ms without. After 64 intervals there is a trial, and
// after 64 more another one: from then on nothing is asked for in 128 intervals, and then, after another trial, in 256.
//
// No clock, no allocation; not thread-safe. Times are nanoseconds.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class FarInvestment {
public:
  static constexpr uint32_t kPeriod = 12, kSettle = 2; ///< intervals
  static constexpr uint64_t kLeastNs = 20'000'000; ///< of a period: shorter ones say little
  static constexpr uint32_t kFirstTrial = 64, kMostTrial = 1u << 14;
  static constexpr uint32_t kFirstRest = 128, kMostRest = 1u << 14;

  bool asks() const { return phase_ != kDraining && phase_ != kWithout && phase_ != kRests; }

  /// The nest has gone over an interval. `work`: of any unit that is the same in all.
  void went(uint64_t work, uint64_t ns) {
    ++passed_;
    if (phase_ == kRests && passed_ + kPeriod == rest_) period_ = {};
    period_.work += work, period_.ns += ns, ++period_.intervals;
    switch (phase_) {
    case kAsks: return passed_ < trial_at_ ? void() : begin(kWith);
    case kDraining: return passed_ < kSettle ? void() : begin(kWithout);
    case kWarming: return passed_ < kSettle ? void() : begin(kAgain);
    case kRests:
      if (passed_ < rest_ || !period_.is_full()) return;
      without_ = period_;
      return begin(kWarming);
    case kWith:
      if (!period_.is_full()) return;
      with_ = period_;
      return begin(kDraining);
    case kWithout:
      if (!period_.is_full()) return;
      without_ = period_;
      return judge(true);
    case kAgain:
      if (!period_.is_full()) return;
      with_ = period_;
      return judge(false);
    }
  }

  uint64_t trials() const { return trials_; }
  uint64_t stops() const { return stops_; }

private:
  enum Phase : uint8_t { kAsks, kWith, kDraining, kWithout, kRests, kWarming, kAgain };
  struct Period {
    uint64_t work = 0, ns = 0;
    uint32_t intervals = 0;
    bool is_full() const { return intervals >= kPeriod && ns >= kLeastNs; }
    double pace() const { return work ? static_cast<double>(ns) / static_cast<double>(work) : 0; }
  };

  void begin(Phase phase) {
    phase_ = phase;
    passed_ = 0;
    period_ = {};
  }
  /// `may_doubt`: it has been asking, and goes on unless it was in doubt before.
  void judge(bool may_doubt) {
    ++trials_;
    const bool pays = with_.pace() < without_.pace();
    if (pays) trial_at_ = may_doubt ? std::min(trial_at_ * 4, kMostTrial) : kFirstTrial, rest_ = kFirstRest;
    if (pays || (may_doubt && !is_in_doubt_)) {
      if (!pays) trial_at_ = kFirstTrial;
      is_in_doubt_ = !pays;
      return begin(kAsks);
    }
    if (!may_doubt) rest_ = std::min(rest_ * 2, kMostRest);
    ++stops_;
    is_in_doubt_ = false;
    begin(kRests);
  }

  Phase phase_ = kAsks;
  bool is_in_doubt_ = false;
  uint32_t passed_ = 0, trial_at_ = kFirstTrial, rest_ = kFirstRest; ///< intervals
  Period period_, with_, without_;
  uint64_t trials_ = 0, stops_ = 0;
};

} // namespace pagecast::core
