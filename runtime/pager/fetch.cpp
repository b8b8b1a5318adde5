// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bringing pages in.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <algorithm>
#include <cerrno>

namespace pagecast {
namespace {
/// Hints for more wait until there is room for so many at a time: a request of 64 KiB costs the disk and the pager's thread
/// little more than one of a page.
constexpr uint32_t kLeastLot = 16;
/// Reads under way for hints: a disk is at its speed with fewer. What is left of Requests::kMostUnderWay is for writes.
constexpr uint32_t kMostReading = 192;
} // namespace

/// How many of `pages` may be brought in now. Hints leave a reserve to faults.
uint32_t Pager::admit(uint32_t pages, bool demand) {
  mind_limits(os::now_ns());
  const uint32_t reserve = demand ? 0 : 64;
  if (free_pages() < pages + reserve) raise_ceiling();
  // Memory that is given back, or that may be had in a moment, is not found by evicting for hints.
  const bool wait = !demand && (used_ > allowance_.pages() || allowance_.worth_waiting());
  if (free_pages() < pages + reserve && !wait) evict(pages + reserve - free_pages());
  const uint32_t free = demand ? allowance_.free_for_faults(used_) : free_pages();
  const uint32_t room = free > reserve ? free - reserve : 0;
  if (!demand && room < std::min(pages, kLeastLot)) return 0;
  return std::min(room, pages);
}

/// Sees to the pages of [begin, end). False if some could not be asked for now; `begin` is the first of them then.
bool Pager::fetch(uint64_t &begin, uint64_t end, const Asked &asked) {
  while (begin < end) {
    Region *r = regions_.at_or_after(begin);
    if (!r || r->base >= end) return true;
    if (begin < r->base) begin = r->base;
    const uint64_t stop = end < r->end() ? end : r->end();
    if (r->draining) {
      begin = stop;
      continue;
    }
    const uint32_t slot = slot_of(*r, begin);
    const auto want = static_cast<uint32_t>((stop - begin) >> shift_);
    const uint32_t done = fetch_run(*r, slot, want, asked);
    if (done == 0) {
      ++statistics.refused_fetches;
      return false;
    }
    begin += static_cast<uint64_t>(done) << shift_;
  }
  return true;
}

/// Sees to a first part of the run, of pages in the same state. Returns its length; 0 = not now.
uint32_t Pager::fetch_run(Region &r, uint32_t slot, uint32_t pages, const Asked &asked) {
  auto kind = [](PageState s) { return s >= PageState::kClean ? PageState::kClean : s; };
  const PageState state = kind(pages_[slot].state);
  uint32_t n = 1;
  while (n < pages && kind(pages_[slot + n].state) == state) ++n;
  switch (state) {
  case PageState::kZero: return zero_fill(r, slot, n, asked);
  case PageState::kAbsent:
    if (goes_unread(asked, slot, &n)) return zero_fill(r, slot, n, asked);
    return has_margins(asked, slot, &n) ? fill_rows(r, slot, n, asked) : read_in(r, slot, n, asked);
  case PageState::kReading: map_.set(extent(slot, n)); return n;
  case PageState::kMark: show_mark(slot, asked.write); return 1;
  case PageState::kLost: return n;
  default: want_again(r, slot, n, asked); return n;
  }
}

/// Whether the page is going to be overwritten; `pages` is cut to the first ones of which the same is true.
bool Pager::goes_unread(const Asked &asked, uint32_t slot, uint32_t *pages) const {
  const core::Extent e = extent(slot, *pages), part = asked.unread.first(e);
  if (part.empty()) return false;
  const bool now = part.begin == e.begin;
  *pages = static_cast<uint32_t>(((now ? part.end : part.begin) - e.begin) >> shift_);
  return now;
}

/// Pages that are zero, or whose contents will be overwritten.
uint32_t Pager::zero_fill(Region &r, uint32_t slot, uint32_t pages, const Asked &asked) {
  if (pages > kZeroPages) pages = kZeroPages;
  pages = admit(pages, asked.demand);
  if (pages == 0) return 0;
  // Protected unless a store is coming: a zero page that stays zero never needs writing.
  return fill(r, slot, pages, zeros_, asked);
}

/// Puts pages into place that were not read; admit() has said yes.
uint32_t Pager::fill(Region &r, uint32_t slot, uint32_t pages, const char *from, const Asked &asked) {
  pages = place(slot, from, pages, asked.write);
  if (pages == 0) return 1; // nothing more can be done for the first one
  const bool unread = pages_[slot].state == PageState::kAbsent;
  use_tables(slot, pages);
  if (!used_before(r, slot, 1)) r.append_streams.began();
  used_ += pages;
  for (uint32_t i = slot; i < slot + pages; ++i) {
    pages_[i].state = asked.write ? PageState::kDirty : PageState::kClean;
    pages_[i].flags = asked.write ? 0 : kNoBacking;
    pages_[i].site = asked.site;
    order_.insert_active(i);
  }
  map_.set(extent(slot, pages));
  end_wait(slot, pages);
  if (unread) statistics.site[asked.site].overwritten += pages;
  else if (asked.demand) statistics.zero_fill_fault += pages;
  else statistics.site[asked.site].zero_filled += pages;
  (asked.demand ? r.zero_faults : r.zero_hints) += pages;
  return pages;
}

uint32_t Pager::read_in(Region &r, uint32_t slot, uint32_t pages, const Asked &asked) {
  // Faults may take the last of the staging memory and of the requests, hints may not.
  if (!asked.demand &&
      (reading_ >= kMostReading || requests_.under_way() >= Requests::kMostUnderWay || staging_.free_pages() < 64))
    return 0;
  if (requests_.free() == 0) return 0;
  if (pages > io_pages_) pages = io_pages_;
  pages = admit(fork_files_.run(slot, pages), asked.demand);
  const unsigned file = fork_files_.file_of(slot);
  disk_.use(file, fork_files_.fd(file));
  uint32_t first = 0;
  pages = staging_.take(pages, &first);
  if (pages == 0) return 0;
  Request &q = requests_.take();
  q = {os::now_ns(), slot, pages, first, asked.site, asked.nest, false, true};
  const auto tag = requests_.tag(q);
  if (!disk_.read(file, staging_.address(first), static_cast<uint64_t>(pages) << shift_, static_cast<uint64_t>(slot) << shift_,
                  tag)) {
    staging_.give(first, pages);
    free_request(q);
    return 0;
  }
  ++r.in_flight;
  ++reading_;
  used_ += pages;
  for (uint32_t i = slot; i < slot + pages; ++i) {
    Page &p = pages_[i];
    p.state = PageState::kReading;
    p.flags = static_cast<uint8_t>((asked.write ? kWriteIntent : 0) | (asked.demand ? kDemand : kPrefetched));
    p.site = asked.site;
    p.nest = low_bits(asked.nest, kNestBits);
    p.turn = low_bits(nest_table[p.nest].turn, kTurnBits);
    p.due = low_bits(asked.due, kDueBits);
  }
  map_.set(extent(slot, pages));
  ++statistics.reads;
  statistics.read_bytes += static_cast<uint64_t>(pages) << shift_;
  if (asked.demand) statistics.not_prefetched += pages;
  else statistics.site[asked.site].prefetched += pages;
  if (!asked.demand && asked.site != Statistics::kHistory) nest_asked(asked.nest, pages);
  return pages;
}

/// Resident pages that were released, or were next to go: they stay.
void Pager::want_again(Region &r, uint32_t slot, uint32_t pages, const Asked &asked) {
  uint32_t protected_run = 0;
  for (uint32_t i = slot; i < slot + pages; ++i) {
    Page &p = pages_[i];
    if (p.state == PageState::kWriting && (p.flags & kEvict)) p.flags &= static_cast<uint8_t>(~kEvict);
    p.flags &= static_cast<uint8_t>(~kDone);
    order_.touch(i);
    if (asked.write && p.state == PageState::kClean) {
      ++protected_run;
    } else if (protected_run) {
      make_writable(r, i - protected_run, protected_run);
      protected_run = 0;
    }
  }
  if (protected_run) make_writable(r, slot + pages - protected_run, protected_run);
  map_.set(extent(slot, pages));
  statistics.site[asked.site].rescued += pages;
}

void Pager::make_writable(Region &, uint32_t slot, uint32_t pages) {
  for (uint32_t i = slot; i < slot + pages; ++i) {
    Page &p = pages_[i];
    p.state = PageState::kDirty;
    p.flags &= static_cast<uint8_t>(~kNoBacking);
    if (cleaning_.is_cleaned(i)) cleaning_.stored(i, os::now_ns());
  }
  os::fault_protect(faults_, pages_.address(slot), static_cast<uint64_t>(pages) << shift_, false);
}

/// Copies pages to where the program sees them, which wakes who waits. Returns how many of the first ones are there
/// now. 0: the first one cannot be put there (its mapping went away under us); who waits is woken to find that out.
uint32_t Pager::place(uint32_t slot, const char *from, uint32_t pages, bool writable) {
  const uint64_t address = pages_.address(slot);
  const int64_t done = os::fault_copy(faults_, address, from, static_cast<uint64_t>(pages) << shift_, !writable);
  if (done > 0) {
    allowance_.placed(static_cast<uint32_t>(done >> shift_));
    return static_cast<uint32_t>(done >> shift_);
  }
  if (done == -EEXIST) os::fault_protect(faults_, address, page_, !writable); // the kernel was asked past us: make it ours
  os::fault_wake(faults_, address, page_);
  if (done == -EEXIST) return 1;
  map_.clear(extent(slot, 1));
  end_wait(slot, 1);
  return 0;
}

} // namespace pagecast
