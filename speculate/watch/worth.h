// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a copy is worth its price. The price is paid only after so much waiting that it is small beside it:
//
//   at first                   waits of twice the price
//   waits too short to stop in waits of 50 times the price: what is gained is not known before
//   after a useless copy       waits of 50 times the price, then 100, 200 ...: at most 2 % of what was waited for
//   after a useful one         twice the price again
//
// And only for a program that waits for a good part of its time, an eighth or, if its waits are short, a quarter: no copy can
// gain more than that, and a copy computes what the program computes.
//
// Example: a program of 10 MB waits 15 ms a read. The price is 1.4 ms: the first wait pays for it. A program of 1 GB pays
// 120 ms: it must have waited a quarter of a second.
//
// Where most of the waiting is in short waits, a few long ones do not make a slow disk: all count as short ones.
//
// Long waits count that nothing was hinted for, and all short ones. Time is an argument. Not thread-safe.
#pragma once
#include <cstdint>

namespace pagecast::speculate {

class Worth {
public:
  static constexpr uint64_t kLeastWait = 300000;       ///< ns: shorter waits cost less than what can be done about them
  static constexpr uint64_t kLongWait = 1000000;       ///< ns: what is between is one of the short waits; a fast disk has them
  static constexpr uint64_t kBasicPrice = 400000;      ///< ns: stop, clone, lock up
  static constexpr uint64_t kPricePerMegabyte = 100000; ///< ns: page tables, and the first stores to pages that are shared
  static constexpr uint64_t kPause = 50000000;         ///< ns after a useless copy; doubles with each
  static constexpr unsigned kMostDoublings = 10;
  static constexpr uint64_t kShareLong = 8, kShareBrief = 4; ///< 1 / so much of the time must be waits
  static constexpr uint64_t kMemory = 400000000;       ///< ns: what is longer ago counts half

  static uint64_t price(uint64_t resident_bytes) { return kBasicPrice + (resident_bytes >> 20) * kPricePerMegabyte; }

  /// Some time has passed, in which it waited or not.
  void passed(uint64_t ns, bool waiting) {
    time_ += ns;
    if (waiting) waiting_ += ns;
    if (time_ < kMemory) return;
    time_ /= 2;
    waiting_ /= 2;
  }
  /// A long wait that was not hinted, or some more of it.
  void waited(uint64_t ns) { waited_ += ns; }
  /// Short waits, as two looks have found them.
  void waited_briefly(uint64_t ns) { briefly_ += ns; }
  bool pays(uint64_t now, uint64_t price) const;
  /// By short waits alone: the copy is made in whichever wait comes next.
  bool pays_briefly(uint64_t now, uint64_t price) const;
  /// ns of waiting at least that are still to come before a copy can pay; more than any wait while none is made at all.
  uint64_t lacks(uint64_t now) const;
  uint64_t briefly() const { return briefly_; } ///< ns since the last copy
  uint64_t at_length() const { return waited_; } ///< the same, in long waits
  /// A copy has been made.
  void made() { waited_ = briefly_ = 0; }
  /// It has ended. `done`: hints of it that were carried out; `missed`: waits that it should have hinted and had not.
  void ended(uint64_t now, uint64_t done, uint64_t missed);
  unsigned useless() const { return useless_; } ///< in a row

private:
  uint64_t factor() const;
  bool waits_for(uint64_t part) const { return waiting_ * part >= time_; }

  uint64_t time_ = 0, waiting_ = 0; ///< ns, of late
  uint64_t waited_ = 0, briefly_ = 0; ///< ns
  uint64_t not_before_ = 0; ///< ns
  unsigned useless_ = 0;
};

} // namespace pagecast::speculate
