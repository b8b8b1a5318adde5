// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults: what no hint foresaw, or foresaw too late.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

namespace pagecast {

bool Pager::take_faults() {
  os::Fault faults[32];
  const int n = os::fault_read(faults_, faults, 32);
  for (int i = 0; i < n; ++i) {
    statistics.fault_events.fetch_add(1, std::memory_order_relaxed);
    const uint64_t began = os::now_ns();
    Region *r = regions_.find(faults[i].address);
    if (!r) {
      os::fault_wake(faults_, faults[i].address, page_);
      continue;
    }
    if (faults[i].protect) {
      stored_to_protected(*r, slot_of(*r, faults[i].address));
      statistics.stall_ns += os::now_ns() - began;
      continue;
    }
    const Page before = pages_[slot_of(*r, faults[i].address)];
    const bool served = serve(faults[i].address, faults[i].write, false);
    if (!served && !waiting_.add(faults[i].address, faults[i].write))
      os::fault_wake(faults_, faults[i].address, page_); // it faults again
    if (!resident(before.state) && (before.state != PageState::kReading || (before.flags & kToMark)))
      follow(faults[i].place, faults[i].write);
    const PageState state = pages_[slot_of(*r, faults[i].address)].state;
    if (resident(state)) statistics.stall_ns += os::now_ns() - began;
    else if (!served || state == PageState::kReading) stalls_.begin(slot_of(*r, faults[i].address), began);
  }
  return n > 0;
}

bool Pager::retry_waiting() {
  return waiting_.retry([this](uint64_t address, bool write) { return serve(address, write, true); });
}

/// Serves a fault on a page that is not there. False: no room now, ask again.
bool Pager::serve(uint64_t address, bool write, bool again) {
  Region *r = regions_.find(address);
  if (!r) {
    os::fault_wake(faults_, address, page_);
    return true;
  }
  if (r->draining) return false;
  const uint32_t slot = slot_of(*r, address);
  Page &p = pages_[slot];
  switch (p.state) {
  case PageState::kZero: return zero_fill(*r, slot, zero_cluster(*r, slot), {0, 0, 0, write, true}) != 0;
  case PageState::kAbsent: return refill(*r, slot, write) != 0;
  case PageState::kMark: show_mark(slot, write); return true;
  case PageState::kReading:
    p.flags |= static_cast<uint8_t>(kDemand | (write ? kWriteIntent : 0));
    if (!again && (p.flags & kPrefetched)) {
      ++statistics.site[p.site].late;
      p.flags &= static_cast<uint8_t>(~kPrefetched);
      if (p.site != Statistics::kHistory) nest_late(p.nest, p.site);
    }
    p.flags &= static_cast<uint8_t>(~kToMark);
    return true; // its installation wakes the thread
  case PageState::kLost: // the program took the mark away behind our back
    os::fault_poison(faults_, address, page_);
    os::fault_wake(faults_, address, page_);
    return true;
  default:
    os::fault_wake(faults_, address, page_); // arrived in the meantime
    end_wait(slot, 1);
    return true;
  }
}

/// The first store to a protected page. Neighbours follow where the stores come in order.
void Pager::stored_to_protected(Region &r, uint32_t slot) {
  Page &p = pages_[slot];
  if (p.state == PageState::kWriting) {
    if (cleaning_.is_cleaned(slot)) cleaning_.stored(slot, os::now_ns());
    p.flags = static_cast<uint8_t>((p.flags | kRedirtied) & ~kEvict);
    if (!map_.test(pages_.address(slot))) order_.touch(slot), map_.set(extent(slot, 1));
    os::fault_protect(faults_, pages_.address(slot), page_, false);
    ++statistics.protect_faults;
    return;
  }
  if (p.state != PageState::kClean) { // unprotected in the meantime, or on its way out and in again
    if (p.state == PageState::kDirty) os::fault_protect(faults_, pages_.address(slot), page_, false);
    else os::fault_wake(faults_, pages_.address(slot), page_);
    return;
  }
  r.store_predictor.stored(slot);
  if (stored_in_stream(r, slot)) return;
  const uint32_t end = r.first_slot + static_cast<uint32_t>(r.bytes >> shift_);
  const auto dirty = [&](uint32_t at) { return at >= r.first_slot && at < end && pages_[at].state == PageState::kDirty; };
  const bool down = !dirty(slot - 1) && dirty(slot + 1);
  uint32_t want = 1;
  if (down || dirty(slot - 1)) want = slot == r.store_next && r.store_pages * 2 < 64 ? r.store_pages * 2 : 16;
  const uint32_t room = down ? slot - r.first_slot + 1 : end - slot;
  uint32_t n = 1;
  while (n < want && n < room && pages_[down ? slot - n : slot + n].state == PageState::kClean) ++n;
  r.store_next = down ? slot - n : slot + n;
  r.store_pages = n;
  make_writable(r, down ? slot - n + 1 : slot, n);
  statistics.protect_faults += n;
}

void Pager::end_wait(uint32_t slot, uint32_t pages) {
  if (stalls_.any()) statistics.stall_ns += stalls_.end(slot, pages, os::now_ns());
}

} // namespace pagecast
