// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/slices/backoff.h"
#include "core/arithmetic.h"

namespace pagecast::core {
namespace {
constexpr uint64_t kPart = 16 * Backoff::kZero; // of found_ in a page: enough for halves of halves
constexpr uint64_t kMemory = 8;                 // probes after which one counts for a third
} // namespace

void Backoff::note(uint64_t work, uint64_t absent, uint64_t untouched) {
  work_ = saturating_add(work_, work);
  found_ = saturating_add(found_, saturating_mul(absent, kPart));
  found_ = saturating_add(found_, saturating_mul(untouched, kPart / kZero));
  found_ -= least(found_, saturating_mul(wasted_, kPart));
  wasted_ = 0;
}

bool Backoff::worth() const { return saturating_mul(found_, kWorth / kPart) >= work_; }

uint64_t Backoff::ran(uint64_t step, uint64_t work, uint64_t absent, uint64_t untouched, uint64_t lead) {
  const uint64_t longest = most(2, least(lead / 2, kMostGap));
  if (!sampling()) {
    note(work, absent, untouched);
    if (work_ < kJudged) return step + 1;
    gap_ = worth() ? 1 : 2;
    work_ = found_ = 0;
  } else {
    ++probes_;
    work_ -= work_ / kMemory;
    found_ -= found_ / kMemory;
    note(work, absent, untouched);
    if (found_ >= kConvincing * kPart && worth()) {
      gap_ = 1;
      work_ = found_ = 0;
      return least(after_probe_, step + 1);
    }
    backed_off_ += step - least(step, after_probe_);
    gap_ = least(gap_ * 2, longest);
  }
  after_probe_ = step + 1;
  return saturating_add(step, gap_);
}

} // namespace pagecast::core
