// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a client's prefetches into a shared storage cache do more good than harm. The client cannot see that itself: what it
// prefetches pushes out what others are about to read. Each prefetch that is used is worth a unit of credit, and each harmful one
// costs one. Without credit, the client's prefetches are refused for a while; then it gets a little credit to be tried again.
//
// Example: of 600 prefetches 400 are harmful. The first 64 units are used up after about 200 of them, 256 prefetches are refused,
// and then 512 after the next ones that were as bad.
//
// No clock. Not thread-safe.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class PrefetchCredit {
public:
  static constexpr uint32_t kFirst = 64, kAgain = 16, kMost = 256; ///< units
  static constexpr uint32_t kFirstRest = 256, kMostRest = 1u << 16; ///< prefetches

  bool has_any() const { return credit_ > 0; }
  void used() {
    if (!has_any()) return; // it was made before
    credit_ = std::min(credit_ + 1, kMost);
    if (credit_ == kMost) next_rest_ = kFirstRest;
  }
  /// A prefetch has turned out to be harmful.
  void harmed() {
    if (!has_any() || --credit_) return;
    rest_ = next_rest_;
    next_rest_ = std::min(next_rest_ * 2, kMostRest);
  }
  /// A prefetch was refused.
  void refused() {
    if (rest_ && --rest_ == 0) credit_ = kAgain;
  }

private:
  uint32_t credit_ = kFirst, rest_ = 0, next_rest_ = kFirstRest;
};

} // namespace pagecast::core
