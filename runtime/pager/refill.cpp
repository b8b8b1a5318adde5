// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places that go on where they ended (core/faults/append_streams.h), in memory that has contents: the second pass of a radix sort, a
// merge of many runs, buckets that are freed and filled again. The pages must be read, and streams (core/faults/fault_streams.h)
// tell only so many places apart. What they learn from are faults on absent pages: does the page before lie in memory, and the
// page behind it not? Of pages at random, a quarter at most look so.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <algorithm>

namespace pagecast {

/// Pages in memory right before `slot`, up to `most`.
uint32_t Pager::resident_before(const Region &r, uint32_t slot, uint32_t most) const {
  return pages_before(r, slot, most, [this](PageState s) { return resident(s); });
}

/// Absent pages from `slot` on, up to `most`.
uint32_t Pager::absent_from(const Region &r, uint32_t slot, uint32_t most) const {
  return pages_from(r, slot, most, [](PageState s) { return s == PageState::kAbsent; });
}

/// How many pages before the end of a run slices are to ask for the next one; 0: not at all.
uint32_t Pager::refill_ahead(const Region &r) const {
  const uint32_t run = core::AppendStreams::run_for_fault(core::AppendStreams::kMostForFault, allowance_.pages());
  return r.refill.grows() ? (run + core::AppendStreams::kAhead - 1) / core::AppendStreams::kAhead : 0;
}

/// Reads the page that the program faulted on, and where the region's places go on, as many behind it as lie before it:
/// where there are more places than memory holds runs of, little lies before. Returns 0 if there is no room now.
uint32_t Pager::refill(Region &r, uint32_t slot, bool write) {
  const bool expected = !write && r.store_predictor.expected();
  if (read_in(r, slot, 1, {0, 0, 0, write || expected, true}) == 0) return 0;
  if (!write) r.store_predictor.loaded(slot, expected);
  statistics.stores_expected += expected;
  if (!options_->history || nest_missed(pages_.address(slot))) return 1;
  const uint32_t before = resident_before(r, slot, core::AppendStreams::kMostForFault);
  r.refill.fault(before && absent_from(r, slot + 1, 1));
  look_ahead(r);
  for (uint32_t i = slot - before; i < slot; ++i) // the place has passed them
    if (pages_[i].site == Statistics::kHistory) pages_[i].flags &= static_cast<uint8_t>(~kPrefetched);
  if (!r.refill.grows()) return 1;
  const uint32_t run = absent_from(r, slot + 1, core::AppendStreams::run_for_fault(before, allowance_.pages()) - 1);
  if (run) read_in(r, slot + 1, run, {Statistics::kHistory, 0, 0, write, false});
  return 1;
}

/// The run of absent pages to read for a slice's hint at `slot`, which a store is coming to: it goes on where pages in memory end.
Run Pager::refill_run(Region &r, uint32_t slot) {
  const uint32_t back = std::min(refill_ahead(r), slot - r.first_slot);
  uint32_t begin = slot;
  while (slot - begin < back && pages_[begin - 1].state == PageState::kAbsent) --begin;
  const bool goes_on = resident_before(r, begin, 1) && absent_from(r, slot + 1, 1);
  r.refill.fault(goes_on);
  look_ahead(r);
  if (!goes_on || back == 0) return {slot, 1};
  const uint32_t most = core::AppendStreams::run_for_fault(core::AppendStreams::kMostForFault, allowance_.pages());
  return {begin, absent_from(r, begin, std::max(most, slot - begin + 1))};
}

} // namespace pagecast
