// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/map_sync.h"

#include <algorithm>
#include <cerrno>

namespace pagecast {

/// Goes through pages of exports that may be written, from `*from` on: `pages(region, slot)` says how many it has seen to; 0: no
/// more now. True: all of them.
template <typename Do> bool MapSync::each_page(uint64_t *from, uint64_t end, Do pages) {
  for (PagedRegion *r; *from < end && (r = memory_.regions.at_or_after(*from)) && r->base < end;) {
    const uint64_t stop = std::min(end, r->end());
    for (*from = std::max(*from, r->base); r->origin.is_map() && r->origin.writable && *from < stop;) {
      const uint32_t n = pages(*r, memory_.slot_of(*r, *from));
      if (!n) return false;
      *from += memory_.bytes(n);
    }
    *from = stop;
  }
  return true;
}

/// The exports in the range that may be written, a bit each, and their failures so far.
uint32_t MapSync::maps_in(uint64_t begin, uint64_t end, uint64_t *failures) {
  uint32_t maps = 0;
  *failures = 0;
  for (unsigned i = 0; i < memory_.regions.count(); ++i) {
    const PagedRegion &r = memory_.regions[i];
    if (!r.origin.is_map() || !r.origin.writable || r.base >= end || r.end() <= begin) continue;
    maps |= 1u << r.origin.map;
    *failures += store_.map_failures(r.origin);
  }
  return maps;
}

/// Has what is dirty from there on be written. How many pages are seen to; 0: not now.
uint32_t MapSync::send(PagedRegion &r, uint32_t slot) {
  const Page &p = memory_[slot];
  if (p.state == PageState::kWriting && (p.flags & kRedirtied)) return 0; // it must be written again
  if (p.state != PageState::kDirty) return 1;
  const uint32_t most = std::min(memory_.end_of(r), slot + store_.io_pages());
  uint32_t n = 1;
  while (slot + n < most && memory_[slot + n].state == PageState::kDirty) ++n;
  for (uint32_t s = slot; s < slot + n; ++s) memory_[s].flags &= static_cast<uint8_t>(~kDone);
  return write_back_.write_out(r, slot, n, WriteBack::Why::kNext) ? n : 0;
}

/// Asks the exports to keep what they have; true: they do, or cannot.
bool MapSync::sync() {
  bool all = true;
  for (uint32_t left = syncing_; left; left &= left - 1) {
    const int result = store_.synced(static_cast<uint8_t>(__builtin_ctz(left)));
    if (result > 0) all = false;
    else if (result < 0 && result != -EOPNOTSUPP) error_ = result;
  }
  return all;
}

int MapSync::flush(uint64_t begin, uint64_t end) {
  uint64_t failures = 0;
  const uint32_t maps = maps_in(begin, end, &failures);
  if (step_ == Step::kNone) step_ = Step::kSend, at_ = begin, failures_ = failures, error_ = 0;
  if (failures > failures_ && step_ != Step::kSync) return step_ = Step::kNone, -EIO;
  if (step_ == Step::kSend) {
    if (!each_page(&at_, end, [this](PagedRegion &r, uint32_t slot) { return send(r, slot); })) return kNotYet;
    step_ = Step::kArrive;
    at_ = begin;
  }
  if (step_ == Step::kArrive) {
    const auto arrived = [this](PagedRegion &, uint32_t slot) { return memory_[slot].state == PageState::kWriting ? 0u : 1u; };
    if (!each_page(&at_, end, arrived)) return kNotYet;
    step_ = Step::kSync;
    syncing_ = maps;
    for (uint32_t left = maps; left; left &= left - 1) store_.sync(static_cast<uint8_t>(__builtin_ctz(left)));
  }
  if (!sync()) return kNotYet;
  step_ = Step::kNone;
  return error_;
}

/// Forgets what is in memory of the pages, which are of one region, but for what was stored.
void MapSync::drop(PagedRegion &r, uint32_t first, uint32_t end) {
  uint32_t run = 0;
  for (uint32_t s = first; s < end; ++s) {
    Page &p = memory_[s];
    if (p.state == PageState::kClean) {
      memory_.order.remove(s);
      ++run;
      continue;
    }
    if (run) discards_.add(s - run, run);
    run = 0;
    if (p.state == PageState::kMark) marks_.drop(s);
    if (p.state == PageState::kLost) placement_.heal(s), p.state = PageState::kAbsent, p.flags = 0;
  }
  if (run) discards_.add(end - run, run);
  placement_.wake(memory_.pages.address(first), memory_.bytes(end - first));
  r.draining = false;
}

void MapSync::refresh(uint64_t begin, uint64_t end) {
  for (unsigned i = 0; i < memory_.regions.count(); ++i) {
    PagedRegion &r = memory_.regions[i];
    if (r.base >= end || r.end() <= begin || !r.origin.is_map()) continue;
    drop(r, memory_.slot_of(r, std::max(begin, r.base)), memory_.slot_of(r, std::min(end, r.end())));
  }
  discards_.flush();
  memory_.note_freed();
}

void MapSync::flush_now() {
  uint64_t at = 0;
  each_page(&at, ~0ull, [this](PagedRegion &r, uint32_t slot) {
    if (memory_[slot].state != PageState::kDirty) return 1u;
    placement_.protect(slot, 1);
    if (store_.write_now(slot, memory_.pages.address(slot), r.origin)) return placement_.unprotect(slot, 1), 1u;
    memory_[slot].state = PageState::kClean;
    memory_[slot].flags &= kPrefetched;
    return 1u;
  });
}

} // namespace pagecast
