// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/discards.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/sandbox.h"
#include "runtime/state/open_nests.h"

#include <algorithm>

namespace pagecast {

namespace {
/// What one of the kernel's page tables maps. Linux 6.14 and later frees one when all of that is discarded in one call.
constexpr uint64_t kTableBytes = 2u << 20;
} // namespace

/// Nothing of them is in memory, on its way there, or marked in the page tables.
bool TableSpace::all_gone(uint32_t first, uint32_t end) const {
  for (uint32_t s = first; s < end; ++s)
    if (memory_[s].state != PageState::kZero && memory_[s].state != PageState::kAbsent) return false;
  return true;
}

/// `slot`: of a page that has gone. Its region's part of the group has one or two of the kernel's tables, or parts of three.
void TableSpace::give_back(uint32_t group, uint32_t slot) {
  constexpr uint64_t kLinkBytes = kGroup * sizeof(core::Replacement::Link);
  const PagedRegion *r = memory_.region_of(slot);
  const uint32_t first = group * kGroup;
  if (!r || kLinkBytes % memory_.page || !all_gone(std::max(first, r->first_slot), std::min(first + kGroup, memory_.end_of(*r))))
    return;
  iovec ranges[4];
  unsigned n = 0;
  ranges[n++] = {memory_.pages.links() + first, kLinkBytes};
  const uint64_t begin = memory_.pages.address(std::max(first, r->first_slot)) & ~(kTableBytes - 1),
                 end = memory_.pages.address(std::min(first + kGroup, memory_.end_of(*r)) - 1) + memory_.page;
  for (uint64_t at = std::max(begin, r->base); at < end && n < 4; at = (at | (kTableBytes - 1)) + 1) {
    const uint64_t next = (at | (kTableBytes - 1)) + 1;
    if (at & (kTableBytes - 1) || next > r->end() || !all_gone(memory_.slot_of(*r, at), memory_.slot_of(*r, next - 1) + 1))
      continue;
    ranges[n++] = {reinterpret_cast<void *>(at), kTableBytes};
  }
  os::discard(ranges, n);
  memory_.order.forget(group);
}

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
  note(slot, pages);
  memory_.statistics.evicted_clean += pages;
}

void Discards::add_shelved(uint32_t slot, uint32_t pages) {
  memory_.residency.clear(memory_.extent(slot, pages));
  save_margins(slot, pages);
  note(slot, pages);
}

void Discards::note(uint32_t slot, uint32_t pages) {
  if (count_ && run_[count_ - 1].slot + run_[count_ - 1].pages == slot &&
      memory_.region_of(slot) == memory_.region_of(slot - 1)) {
    run_[count_ - 1].pages += pages;
    return;
  }
  if (count_ == kMost) flush();
  run_[count_++] = {slot, pages};
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
