// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/watch/worth.h"
#include <algorithm>

namespace pagecast::speculate {
namespace {

constexpr uint64_t kFactor = 2, kFactorAfterUseless = 50;
constexpr uint64_t kLeastDone = 4;      ///< hints
constexpr uint64_t kDonePerMiss = 16;   ///< hints carried out for each wait that was missed

} // namespace

/// Of a copy's price, how many times as much must have been waited for.
uint64_t Worth::factor() const { return useless_ ? kFactorAfterUseless << std::min(useless_ - 1, kMostDoublings) : kFactor; }

bool Worth::pays(uint64_t now, uint64_t price) const {
  if (now < not_before_ || !waits_for(kShareLong)) return false;
  return waited_ >= factor() * price && waited_ >= briefly_;
}

bool Worth::pays_briefly(uint64_t now, uint64_t price) const {
  const uint64_t factor = kFactorAfterUseless << std::min(useless_ ? useless_ - 1 : 0, kMostDoublings);
  return now >= not_before_ && waits_for(kShareBrief) && waited_ + briefly_ >= factor * price;
}

uint64_t Worth::lacks(uint64_t now) const {
  if (now < not_before_) return ~uint64_t{0};
  const uint64_t needed = factor() * kBasicPrice;
  return needed > waited_ + briefly_ ? needed - waited_ - briefly_ : 0;
}

void Worth::ended(uint64_t now, uint64_t done, uint64_t missed) {
  const bool useful = done >= kLeastDone + kDonePerMiss * missed;
  if (useful) {
    useless_ = 0;
    return;
  }
  not_before_ = now + (kPause << std::min(useless_, kMostDoublings));
  useless_++;
}

} // namespace pagecast::speculate
