// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/cleaner.h"

#include "runtime/kernel/os.h"
#include "runtime/state/open_nests.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint32_t kBatch = Requests::kMostUnderWay; ///< pages written at once
constexpr uint32_t kPassedOver = 4096;  ///< clean ones looked at in one turn of the loop: some 50 us
} // namespace

/// Nothing is cleaned where all data fit, or where what others may take is free anyway; nor beside other I/O.
bool Cleaner::may_clean() const {
  return (memory_.statistics.evicted_clean || memory_.statistics.evicted_dirty) && !store_.busy() &&
         limit_.exposed(core::Cleaning::kNearBytes);
}

void Cleaner::clean(uint64_t now, bool busy) {
  if (memory_.cleaning.writing() && store_.pages_cleaning() == 0) memory_.cleaning.done(now);
  if (busy) return memory_.cleaning.disturbed(now);
  if (now < memory_.cleaning.next_ns() || !may_clean()) return;
  if (store_.writes_are_refused() || store_.stalled()) return memory_.cleaning.ran_out(now);
  const bool in_nest = open_nest_mask.load(std::memory_order_relaxed) != 0;
  const uint32_t want =
      memory_.cleaning.wanted({now, os::process_cpu_ns(), in_nest, limit_.exposed(core::Cleaning::kNearBytes),
                               limit_.exposed(core::Cleaning::kFarBytes), memory_.order.released_clean() + walked_clean_});
  if (!want) return;
  if (memory_.cleaning.begins()) {
    walked_clean_ = 0;
    memory_.order.start_walk();
    if (!in_nest) releases_.release_clusters(); // what they waited for does not come
  }
  uint32_t slots[kBatch];
  bool more = true;
  const uint32_t n = next_to_clean(slots, want, now, &more);
  if (write_back_.write_ahead(slots, n, WriteBack::Why::kIdle)) memory_.cleaning.began(now);
  else if (!more) memory_.cleaning.ran_out(now);
}

/// Of the slots those that are dirty and may be cleaned now, moved to the front. How many.
uint32_t Cleaner::keep_cleanable(uint32_t *slots, uint32_t count, uint64_t now) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (memory_[slots[i]].state != PageState::kDirty) continue;
    if (memory_.cleaning.may_clean(slots[i], now)) slots[kept++] = slots[i];
    else memory_.order.not_cleaned(slots[i]);
  }
  return kept;
}

/// Up to kBatch dirty pages of the first `want` that are given up. `more`: the order goes on.
uint32_t Cleaner::next_to_clean(uint32_t *slots, uint32_t want, uint64_t now, bool *more) {
  uint32_t n = 0;
  if (const uint32_t clean = memory_.order.released_clean(); clean < want)
    n = keep_cleanable(slots, memory_.order.clean(slots, std::min(kBatch, want - clean)), now);
  for (uint32_t passed = 0; n < kBatch && passed < kPassedOver; ++passed) {
    if (memory_.order.released_clean() + walked_clean_ >= want) break;
    const uint32_t slot = memory_.order.walk();
    *more = slot != kNoSlot;
    if (!*more) break;
    const Page &p = memory_[slot];
    const bool dirty = p.state == PageState::kDirty;
    if (dirty && ((p.flags & kDone) || !memory_.cleaning.may_clean(slot, now))) continue;
    if (dirty) slots[n++] = slot;
    ++walked_clean_;
  }
  return n;
}

} // namespace pagecast
