// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cleaning while the program rests (core/memory/cleaning.h): dirty pages are written and stay.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint32_t kBatch = Requests::kMostUnderWay; ///< pages written at once
constexpr uint32_t kPassedOver = 4096;  ///< clean ones looked at in one turn of the loop: some 50 us
} // namespace

/// Nothing is cleaned where all data fit, or where what others may take is free anyway; nor beside other I/O.
bool Pager::may_clean() const {
  return (statistics.evicted_clean || statistics.evicted_dirty) && !requests_.any() && !preallocation_.busy() &&
         allowance_.exposed(used_, core::Cleaning::kNearBytes);
}

/// `busy`: something happened for the program in this turn.
void Pager::clean_while_idle(uint64_t now, bool busy) {
  if (cleaning_.writing() && pages_cleaning_ == 0) cleaning_.done(now);
  if (busy) return cleaning_.disturbed(now);
  if (now < cleaning_.next_ns() || !may_clean()) return;
  if (disk_errors_.writes_refused() || disk_errors_.stalled()) return cleaning_.ran_out(now);
  const bool in_nest = open_nest_mask.load(std::memory_order_relaxed) != 0;
  const uint32_t want =
      cleaning_.wanted({now, os::process_cpu_ns(), in_nest, allowance_.exposed(used_, core::Cleaning::kNearBytes),
                        allowance_.exposed(used_, core::Cleaning::kFarBytes), order_.released_clean() + walked_clean_});
  if (!want) return;
  if (cleaning_.begins()) {
    walked_clean_ = 0;
    order_.start_walk();
    if (!in_nest) release_clusters(); // what they waited for does not come
  }
  uint32_t slots[kBatch];
  bool more = true;
  const uint32_t n = next_to_clean(slots, want, now, &more);
  if (write_ahead(slots, n, Write::kIdle)) cleaning_.began(now);
  else if (!more) cleaning_.ran_out(now);
}

/// Up to kBatch dirty pages of the first `want` that are given up. `more`: the order goes on.
uint32_t Pager::next_to_clean(uint32_t *slots, uint32_t want, uint64_t now, bool *more) {
  uint32_t n = order_.released_clean() < want ? order_.clean(slots, std::min(kBatch, want - order_.released_clean())) : 0,
           kept = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (pages_[slots[i]].state != PageState::kDirty) continue;
    if (cleaning_.may_clean(slots[i], now)) slots[kept++] = slots[i];
    else order_.not_cleaned(slots[i]);
  }
  n = kept;
  for (uint32_t passed = 0; n < kBatch && passed < kPassedOver; ++passed) {
    if (order_.released_clean() + walked_clean_ >= want) break;
    const uint32_t slot = order_.walk();
    *more = slot != kNoSlot;
    if (!*more) break;
    const Page &p = pages_[slot];
    const bool dirty = p.state == PageState::kDirty;
    if (dirty && ((p.flags & kDone) || !cleaning_.may_clean(slot, now))) continue;
    if (dirty) slots[n++] = slot;
    ++walked_clean_;
  }
  return n;
}

} // namespace pagecast
