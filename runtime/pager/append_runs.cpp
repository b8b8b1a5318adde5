// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/append_runs.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint32_t kBlock = 8; ///< pages that are filled together where some of them are in use
} // namespace

/// Pages in use right before `slot`, up to `most`.
uint32_t AppendRuns::used_before(const PagedRegion &r, uint32_t slot, uint32_t most) const {
  return memory_.pages_before(r, slot, most, [](PageState s) { return s != PageState::kZero; });
}

/// Pages from `slot` on that were never stored to, up to `most`, one at least.
uint32_t AppendRuns::zeros_from(const PagedRegion &r, uint32_t slot, uint32_t most) const {
  return 1 + memory_.pages_from(r, slot + 1, std::max(most, 1u) - 1, [](PageState s) { return s == PageState::kZero; });
}

/// The first of the pages up to `slot` that were never stored to, not below `lowest`.
uint32_t AppendRuns::zeros_begin(uint32_t slot, uint32_t lowest) const {
  while (slot > lowest && memory_[slot - 1].state == PageState::kZero) --slot;
  return slot;
}

/// Pages in memory right before `slot`, up to `most`.
uint32_t AppendRuns::resident_before(const PagedRegion &r, uint32_t slot, uint32_t most) const {
  return memory_.pages_before(r, slot, most, PagedMemory::resident);
}

/// Absent pages from `slot` on, up to `most`.
uint32_t AppendRuns::absent_from(const PagedRegion &r, uint32_t slot, uint32_t most) const {
  return memory_.pages_from(r, slot, most, [](PageState s) { return s == PageState::kAbsent; });
}

/// Tells slices how far ahead of the program's stores to look.
void AppendRuns::look_ahead(PagedRegion &r) {
  const uint64_t pages = std::max(r.append_streams.ahead(limit_.pages()), refill_ahead(r));
  __atomic_store_n(&r.look_ahead, pages << memory_.shift, __ATOMIC_RELAXED);
}

uint32_t AppendRuns::zeros_for_fault(PagedRegion &r, uint32_t slot) {
  const uint32_t before = used_before(r, slot, core::AppendStreams::kMostForFault);
  r.append_streams.fault(before != 0);
  look_ahead(r);
  if (r.zero_hints > r.zero_faults / 2) return 1;
  return zeros_from(r, slot, core::AppendStreams::run_for_fault(before, limit_.pages()));
}

PageRun AppendRuns::zeros_for_hint(const PagedRegion &r, uint32_t slot) const {
  if (memory_[slot].state != PageState::kZero) return {slot, 1};
  if (r.append_streams.grows()) {
    const uint32_t run = r.append_streams.run(limit_.pages());
    const uint32_t begin = zeros_begin(slot, slot - std::min(run - 1, slot - r.first_slot));
    return used_before(r, begin, 1) ? PageRun{begin, zeros_from(r, begin, run)} : PageRun{slot, 1};
  }
  const uint32_t start = std::max(slot & ~(kBlock - 1), r.first_slot);
  const uint32_t stop = std::min((slot | (kBlock - 1)) + 1, memory_.end_of(r));
  const uint32_t begin = zeros_begin(slot, start), end = slot + zeros_from(r, slot, stop - slot);
  if (begin == start && end == stop) return {slot, 1};
  return {begin, end - begin};
}

uint32_t AppendRuns::refill_ahead(const PagedRegion &r) const {
  const uint32_t run = core::AppendStreams::run_for_fault(core::AppendStreams::kMostForFault, limit_.pages());
  return r.refill.grows() ? (run + core::AppendStreams::kAhead - 1) / core::AppendStreams::kAhead : 0;
}

uint32_t AppendRuns::refill_for_fault(PagedRegion &r, uint32_t slot) {
  const uint32_t before = resident_before(r, slot, core::AppendStreams::kMostForFault);
  r.refill.fault(before && absent_from(r, slot + 1, 1));
  look_ahead(r);
  for (uint32_t i = slot - before; i < slot; ++i) // the place has passed them
    if (memory_[i].site == Statistics::kHistory) memory_[i].flags &= static_cast<uint8_t>(~kPrefetched);
  if (!r.refill.grows()) return 0;
  return absent_from(r, slot + 1, core::AppendStreams::run_for_fault(before, limit_.pages()) - 1);
}

PageRun AppendRuns::refill_for_hint(PagedRegion &r, uint32_t slot) {
  const uint32_t back = std::min(refill_ahead(r), slot - r.first_slot);
  uint32_t begin = slot;
  while (slot - begin < back && memory_[begin - 1].state == PageState::kAbsent) --begin;
  const bool goes_on = resident_before(r, begin, 1) && absent_from(r, slot + 1, 1);
  r.refill.fault(goes_on);
  look_ahead(r);
  if (!goes_on || back == 0) return {slot, 1};
  const uint32_t most = core::AppendStreams::run_for_fault(core::AppendStreams::kMostForFault, limit_.pages());
  return {begin, absent_from(r, begin, std::max(most, slot - begin + 1))};
}

} // namespace pagecast
