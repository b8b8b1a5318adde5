// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages that were never stored to: how many are filled with zeros at a time (core/faults/append_streams.h).
#include "runtime/pager/pager.h"

#include <algorithm>

namespace pagecast {

/// Pages in use right before `slot`, up to `most`.
uint32_t Pager::used_before(const Region &r, uint32_t slot, uint32_t most) const {
  return pages_before(r, slot, most, [](PageState s) { return s != PageState::kZero; });
}

/// Pages from `slot` on that were never stored to, up to `most`, one at least.
uint32_t Pager::zeros_from(const Region &r, uint32_t slot, uint32_t most) const {
  return 1 + pages_from(r, slot + 1, std::max(most, 1u) - 1, [](PageState s) { return s == PageState::kZero; });
}

/// The first of the pages up to `slot` that were never stored to, not below `lowest`.
uint32_t Pager::zeros_begin(uint32_t slot, uint32_t lowest) const {
  while (slot > lowest && pages_[slot - 1].state == PageState::kZero) --slot;
  return slot;
}

/// How many pages are filled for a fault on one that was never stored to. Where hints do most of the work, they know
/// better what comes next.
uint32_t Pager::zero_cluster(Region &r, uint32_t slot) {
  const uint32_t before = used_before(r, slot, core::AppendStreams::kMostForFault);
  r.append_streams.fault(before != 0);
  look_ahead(r);
  if (r.zero_hints > r.zero_faults / 2) return 1;
  return zeros_from(r, slot, core::AppendStreams::run_for_fault(before, allowance_.pages()));
}

/// Tells slices how far ahead of the program's stores to look.
void Pager::look_ahead(Region &r) {
  const uint64_t pages = std::max(r.append_streams.ahead(allowance_.pages()), refill_ahead(r));
  __atomic_store_n(&r.look_ahead, pages << shift_, __ATOMIC_RELAXED);
}

/// A slice had pages filled or read at `slot`, where those in use end: the program is `ahead` of it, and has finished what lies
/// behind. That is released, in whole blocks: what goes next is written at once, and is not what is being stored to.
void Pager::release_behind(Region &r, uint32_t slot, uint32_t ahead) {
  if (ahead == 0 || options_->release != ReleasePolicy::kBuffered || slot - r.first_slot <= ahead) return;
  const uint32_t end = slot - ahead, lowest = end - std::min(end - r.first_slot, 2 * core::AppendStreams::kMostRun);
  uint32_t begin = end;
  while (begin > lowest && pages_[begin - 1].state == PageState::kDirty && !(pages_[begin - 1].flags & kDone) &&
         !order_.is_released(begin - 1))
    --begin;
  if (begin == end) return;
  gather(begin, end, {0, false, 0});
  map_.clear({pages_.address(begin), pages_.address(begin) + (static_cast<uint64_t>(end - begin) << shift_)});
}

/// The run of untouched pages to fill for a hint at `slot`. In a region that grows, it goes on where pages in use end.
/// Else the run within the block of eight, where the block is in use already: it fills up sooner or later, and one
/// call for several pages costs little more than for one. Else the page.
Run Pager::zero_run(const Region &r, uint32_t slot) const {
  if (pages_[slot].state != PageState::kZero) return {slot, 1};
  if (r.append_streams.grows()) {
    const uint32_t run = r.append_streams.run(allowance_.pages());
    const uint32_t begin = zeros_begin(slot, slot - std::min(run - 1, slot - r.first_slot));
    return used_before(r, begin, 1) ? Run{begin, zeros_from(r, begin, run)} : Run{slot, 1};
  }
  const uint32_t start = std::max(slot & ~7u, r.first_slot);
  const uint32_t stop = std::min((slot | 7u) + 1, r.first_slot + static_cast<uint32_t>(r.bytes >> shift_));
  const uint32_t begin = zeros_begin(slot, start), end = slot + zeros_from(r, slot, stop - slot);
  if (begin == start && end == stop) return {slot, 1};
  return {begin, end - begin};
}

} // namespace pagecast
