// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/discards.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/sandbox.h"
#include "runtime/state/open_nests.h"

namespace pagecast {

/// Counts a page that goes: did the program get to it?
void Discards::settle(uint32_t slot) {
  Page &p = memory_[slot];
  if (!(p.flags & kPrefetched)) return;
  p.flags &= static_cast<uint8_t>(~kPrefetched);
  uint64_t &unused = memory_.statistics.site[p.site].unused;
  if (p.site == Statistics::kHistory) ++unused, memory_.stream_wasted(slot); // the flag goes when the stream passes
  else if (nest_not_there_yet(p.nest, p.turn, p.wanted_by, p.site)) ++unused;
}

/// Nobody stores to the pages any more. A sandbox need not allow the call that copies.
void Discards::save_margins(uint32_t slot, uint32_t pages) {
  if (sandboxed()) margins_.forget_all();
  else margins_.save(memory_.extent(slot, pages));
}

void Discards::add(uint32_t slot, uint32_t pages) {
  memory_.residency.clear(memory_.extent(slot, pages));
  save_margins(slot, pages);
  for (uint32_t s = slot; s < slot + pages; ++s) {
    settle(s);
    Page &p = memory_[s];
    p.state = (p.flags & kNoBacking) ? PageState::kZero : PageState::kAbsent;
    p.flags = 0;
    memory_.went(s);
  }
  if (count_ == kMost) flush();
  run_[count_++] = {slot, pages};
  memory_.statistics.evicted_clean += pages;
}

void Discards::flush() {
  if (count_ == 0) return;
  iovec ranges[kMost];
  uint32_t pages = 0;
  for (unsigned i = 0; i < count_; ++i) {
    ranges[i] = {reinterpret_cast<void *>(memory_.pages.address(run_[i].slot)), memory_.bytes(run_[i].pages)};
    pages += run_[i].pages;
  }
  os::discard(ranges, count_);
  const unsigned count = count_;
  count_ = 0;
  for (unsigned i = 0; i < count; ++i) tables_.gone(run_[i].slot, run_[i].pages);
  memory_.used -= pages;
  memory_.note_freed();
}

} // namespace pagecast
