// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/files/hint_log.h"
#include "core/arithmetic.h"

namespace pagecast::core {

void HintLog::attach(Hinted *entries, uint64_t capacity, unsigned page_shift, uint64_t kept, uint64_t most_kept) {
  *this = HintLog();
  entries_ = entries;
  mask_ = capacity - 1;
  shift_ = page_shift;
  most_kept_ = most(most_kept, kLeastKept);
  kept_ = least(most(kept, kLeastKept), most_kept_);
}

void HintLog::add(const Hinted &hint, ResidencyMap &residency) {
  while (next_ - oldest_ > mask_ || (held_ + hint.pages > kept_ && oldest_ != next_)) forget_oldest(residency);
  entries_[next_++ & mask_] = hint;
  held_ += hint.pages;
  if (hint.bounded) ahead_pages_ += hint.pages;
  residency.set({hint.address, hint.address + (uint64_t{hint.pages} << shift_)});
  while (first_ahead_ != next_ && !entries_[first_ahead_ & mask_].bounded) pass(1);
}

void HintLog::pass(uint64_t hints) {
  for (; hints && first_ahead_ != next_; --hints, ++first_ahead_) {
    const Hinted &h = entries_[first_ahead_ & mask_];
    if (h.bounded) ahead_pages_ -= h.pages;
  }
}

void HintLog::forget_oldest(ResidencyMap &residency) {
  if (first_ahead_ == oldest_) pass(1);
  const Hinted &h = entries_[oldest_++ & mask_];
  held_ -= h.pages;
  // What was released, or found missing, says nothing about age.
  if (residency.test(h.address) && ++forgotten_ % kSampleEvery == 0) sample_ = h.address;
  residency.clear({h.address, h.address + (uint64_t{h.pages} << shift_)});
}

bool HintLog::sample(Addr *address) {
  *address = sample_;
  sample_ = 0;
  return *address != 0;
}

/// In balance nine in ten of what grows old is still there: what is missing counts nine times.
void HintLog::sampled(bool in_memory) {
  constexpr uint64_t kRise = 128, kFall = 14; // parts of what is kept: nine rises make up for a fall
  if (in_memory) kept_ = least(kept_ + kept_ / kRise, most_kept_);
  else kept_ = most(kept_ - kept_ / kFall, kLeastKept);
}

} // namespace pagecast::core
