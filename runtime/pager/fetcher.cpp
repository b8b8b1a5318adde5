// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/fetcher.h"

#include "runtime/kernel/os.h"
#include "runtime/state/open_nests.h"

#include <algorithm>
#include <cstring>

namespace pagecast {
namespace {
/// Hints for more wait until there is room for so many at a time: a request of 64 KiB costs the disk and the pager's thread
/// little more than one of a page.
constexpr uint32_t kLeastLot = 16;
/// Free pages that hints leave to faults: this part of memory, and so many.
constexpr uint32_t kReserveShare = 512, kLeastReserve = 16, kMostReserve = 64;
} // namespace

bool Fetcher::start() {
  zeros_ = static_cast<char *>(os::map_memory(kZeroPages * memory_.page, false)); // only read: the kernel's one page of zeros
  return zeros_ != nullptr;
}

/// How many of `pages` may be brought in now. Hints leave a reserve to faults.
uint32_t Fetcher::admit(uint32_t pages, bool demand) {
  limit_.mind(os::now_ns());
  const uint32_t reserve = demand ? 0 : std::clamp(limit_.pages() / kReserveShare, kLeastReserve, kMostReserve);
  if (limit_.free_pages() < pages + reserve) limit_.raise_ceiling();
  // Memory that is given back, or that may be had in a moment, is not found by evicting for hints.
  const bool wait = !demand && (limit_.over() || limit_.worth_waiting());
  if (!wait) make_room(pages + reserve);
  const uint32_t free = demand ? limit_.free_for_faults() : limit_.free_pages();
  const uint32_t available = free > reserve ? free - reserve : 0;
  if (!demand && available < std::min(pages, kLeastLot)) return 0;
  return std::min(available, pages);
}

/// Pages that are being read need room only when they have come. What is dirty must begin to go now for that.
void Fetcher::make_room(uint32_t pages) {
  const uint32_t free = limit_.free_pages(), wanted = limit_.staged() + pages,
                 ready = free + store_.pages_coming_free() + memory_.order.released_clean();
  if (free < pages) eviction_.evict(pages - free);
  else if (ready < wanted) eviction_.evict(wanted - ready);
}

bool Fetcher::fetch(uint64_t &begin, uint64_t end, const Asked &asked) {
  while (begin < end) {
    PagedRegion *r = memory_.regions.at_or_after(begin);
    if (!r || r->base >= end) return true;
    if (begin < r->base) begin = r->base;
    const uint64_t stop = end < r->end() ? end : r->end();
    if (r->draining) {
      begin = stop;
      continue;
    }
    const uint32_t slot = memory_.slot_of(*r, begin);
    const auto want = static_cast<uint32_t>((stop - begin) >> memory_.shift);
    const uint32_t done = fetch_run(*r, slot, want, asked);
    if (done == 0) {
      ++memory_.statistics.refused_fetches;
      return false;
    }
    begin += memory_.bytes(done);
  }
  return true;
}

uint32_t Fetcher::fetch_run(PagedRegion &r, uint32_t slot, uint32_t pages, const Asked &asked) {
  auto kind = [](PageState s) { return s >= PageState::kClean ? PageState::kClean : s; };
  const PageState state = kind(memory_[slot].state);
  uint32_t n = 1;
  while (n < pages && kind(memory_[slot + n].state) == state) ++n;
  switch (state) {
  case PageState::kZero: return zero_fill(r, slot, n, asked);
  case PageState::kAbsent:
    if (r.origin.is_map()) return read_in(r, slot, n, asked); // what is there may be another's
    if (goes_unread(asked, slot, &n)) return zero_fill(r, slot, n, asked);
    return has_margins(asked, slot, &n) ? fill_rows(r, slot, n, asked) : read_in(r, slot, n, asked);
  case PageState::kReading: memory_.residency.set(memory_.extent(slot, n)); return n;
  case PageState::kMark: marks_.show(slot, makes_writable(r, asked)); return 1;
  case PageState::kShelved:
    if (!unshelve(slot, makes_writable(r, asked), asked.demand)) return 0;
    return memory_[slot].state == PageState::kAbsent ? fetch_run(r, slot, 1, asked) : 1;
  case PageState::kLost: return n;
  default: return want_again(r, slot, n, asked);
  }
}

/// Whether the page is going to be overwritten; `pages` is cut to the first ones of which the same is true.
bool Fetcher::goes_unread(const Asked &asked, uint32_t slot, uint32_t *pages) const {
  const core::Extent e = memory_.extent(slot, *pages), part = asked.unread.first(e);
  if (part.empty()) return false;
  const bool now = part.begin == e.begin;
  *pages = static_cast<uint32_t>(((now ? part.end : part.begin) - e.begin) >> memory_.shift);
  return now;
}

uint32_t Fetcher::zero_fill(PagedRegion &r, uint32_t slot, uint32_t pages, const Asked &asked) {
  if (pages > kZeroPages) pages = kZeroPages;
  pages = admit(pages, asked.demand);
  if (pages == 0) return 0;
  // Protected unless a store is coming: a zero page that stays zero never needs writing.
  return fill(r, slot, pages, zeros_, asked);
}

/// Puts pages into place that were not read; admit() has said yes.
uint32_t Fetcher::fill(PagedRegion &r, uint32_t slot, uint32_t pages, const char *from, const Asked &asked) {
  pages = placement_.place(slot, from, pages, asked.write);
  if (pages == 0) return 1; // nothing more can be done for the first one
  const bool unread = memory_[slot].state == PageState::kAbsent;
  limit_.use_tables(slot, pages);
  if (!memory_.pages_before(r, slot, 1, [](PageState s) { return s != PageState::kZero; })) r.append_streams.began();
  memory_.used += pages;
  for (uint32_t i = slot; i < slot + pages; ++i) {
    memory_[i].state = asked.write ? PageState::kDirty : PageState::kClean;
    memory_[i].flags = asked.write ? 0 : kNoBacking;
    memory_[i].again = memory_[i].kept = false;
    memory_[i].site = asked.site;
    memory_[i].owner = low_bits(asked.owner, kOwnerBits);
    memory_.end.wanted(i, asked.demand ? core::WhichEnd::kProgram : core::WhichEnd::kStream); // no read
    memory_.came(i);
  }
  memory_.residency.set(memory_.extent(slot, pages));
  placement_.end_wait(slot, pages);
  if (unread) memory_.statistics.site[asked.site].overwritten += pages;
  else if (asked.demand) memory_.statistics.zero_fill_fault += pages;
  else memory_.statistics.site[asked.site].zero_filled += pages;
  if (!unread && !asked.demand && asked.site != Statistics::kHistory) nest_asked(asked.nest, pages);
  (asked.demand ? r.zero_faults : r.zero_hints) += pages;
  return pages;
}

/// What all reads have in common. `flags`: of each page. Returns how many come.
uint32_t Fetcher::begin_reading(PagedRegion &r, uint32_t slot, uint32_t pages, const Asked &asked, uint8_t flags) {
  if (!store_.takes_read(asked.demand)) return 0;
  pages = admit(store_.longest_read(slot, pages, r.origin), asked.demand);
  pages = store_.read(slot, pages, asked.site, asked.nest, r.origin);
  if (pages == 0) return 0;
  ++r.in_flight;
  memory_.used += pages;
  const auto asker = asked.demand ? core::WhichEnd::kProgram : asker_of(asked.site, asked.wanted_by);
  for (uint32_t i = slot; i < slot + pages; ++i) {
    Page &p = memory_[i];
    memory_.end.wanted(i, asker);
    p.state = PageState::kReading;
    p.flags = flags;
    p.again = p.kept = false;
    p.site = asked.site;
    p.owner = low_bits(asked.owner, kOwnerBits);
    p.nest = low_bits(asked.nest, kNestBits);
    p.turn = low_bits(nest_table[p.nest].turn, kTurnBits);
    p.wanted_by = low_bits(asked.wanted_by, kWantedByBits);
  }
  memory_.residency.set(memory_.extent(slot, pages));
  return pages;
}

uint32_t Fetcher::read_in(PagedRegion &r, uint32_t slot, uint32_t pages, const Asked &asked) {
  const auto flags = static_cast<uint8_t>((makes_writable(r, asked) ? kWriteIntent : 0) | (asked.demand ? kDemand : kPrefetched));
  pages = begin_reading(r, slot, pages, asked, flags);
  if (pages == 0) return 0;
  if (asked.demand) memory_.statistics.not_prefetched += pages;
  else memory_.statistics.site[asked.site].prefetched += pages;
  if (!asked.demand && asked.site != Statistics::kHistory) nest_asked(asked.nest, pages);
  return pages;
}

/// Only the page that is waited for takes from what is kept for faults.
bool Fetcher::read_around(PagedRegion &r, PageRun run, uint32_t slot, const Asked &asked) {
  Asked others = asked;
  others.site = Statistics::kHistory, others.demand = false;
  const uint32_t done = run.pages > 1 ? begin_reading(r, run.slot, run.pages, others, 0) : 0;
  for (uint32_t i = run.slot; i < run.slot + done; ++i) memory_[i].site = 0; // no hint's
  const bool comes = slot - run.slot < done;
  memory_.statistics.read_around += done - comes;
  if (!comes) return read_in(r, slot, 1, asked) != 0;
  memory_[slot].flags = static_cast<uint8_t>(kDemand | (makes_writable(r, asked) ? kWriteIntent : 0));
  ++memory_.statistics.not_prefetched;
  return true;
}

bool Fetcher::unshelve(uint32_t slot, bool write, bool demand) {
  if (admit(1, demand) == 0) return false;
  if (memory_[slot].state == PageState::kShelved) shelf_.show(slot, write, demand);
  return true;
}

uint32_t Fetcher::want_again(const PagedRegion &r, uint32_t slot, uint32_t pages, const Asked &asked) {
  const bool writable = makes_writable(r, asked) && limit_.may_store(pages, os::now_ns()) >= pages;
  uint32_t protected_run = 0;
  for (uint32_t i = slot; i < slot + pages; ++i) {
    Page &p = memory_[i];
    if (p.state == PageState::kWriting && (p.flags & kEvict)) p.flags &= static_cast<uint8_t>(~kEvict);
    p.flags &= static_cast<uint8_t>(~kDone);
    memory_.order.touch(i);
    memory_.release_trial.rescued(i);
    if (writable && PagedMemory::awaits_store(p.state)) {
      ++protected_run;
    } else if (protected_run) {
      placement_.make_writable(i - protected_run, protected_run);
      protected_run = 0;
    }
  }
  if (protected_run) placement_.make_writable(slot + pages - protected_run, protected_run);
  memory_.residency.set(memory_.extent(slot, pages));
  memory_.statistics.site[asked.site].rescued += pages;
  return pages;
}

/// Whether the page goes unread but for margins that are there; `pages` is cut to the first ones of which the same is true.
bool Fetcher::has_margins(const Asked &asked, uint32_t slot, uint32_t *pages) const {
  const core::RowMargins rows = asked.unread.row_margins();
  if (!rows.any()) return false;
  auto there = [&](uint32_t s) {
    const uint64_t page = memory_.pages.address(s);
    return margins_.has(rows, page) && asked.unread.but_margins(page);
  };
  const bool first = there(slot);
  uint32_t n = 1;
  while (n < *pages && there(slot + n) == first) ++n;
  *pages = n;
  return first;
}

uint32_t Fetcher::fill_rows(PagedRegion &r, uint32_t slot, uint32_t pages, const Asked &asked) {
  pages = admit(std::min(pages, kZeroPages), asked.demand);
  uint32_t first = 0;
  pages = store_.staging().take(pages, &first);
  if (pages == 0) return 0;
  char *made = store_.staging().address(first);
  memset(made, 0, static_cast<size_t>(pages) << memory_.shift);
  margins_.fill(asked.unread.row_margins(), memory_.extent(slot, pages), made);
  const uint32_t done = fill(r, slot, pages, made, asked);
  store_.staging().give(first, pages);
  return done;
}

void Fetcher::bring_now(uint32_t slot) {
  Page &p = memory_[slot];
  if (p.state == PageState::kMark) marks_.show(slot, true);
  if (p.state == PageState::kShelved) shelf_.show(slot, true, true);
  if (PagedMemory::awaits_store(p.state)) placement_.make_writable(slot, 1);
  if (PagedMemory::resident(p.state)) return;
  const PagedRegion *r = memory_.region_of(slot);
  const char *from = p.state == PageState::kAbsent ? store_.read_now(slot, r ? r->origin : Origin{}) : zeros_;
  if (!from || placement_.place(slot, from, 1, true) == 0) return;
  limit_.use_tables(slot, 1);
  p.state = PageState::kDirty;
  p.flags = 0;
  memory_.order.touch(slot);
  memory_.residency.set(memory_.extent(slot, 1));
  ++memory_.used;
}

} // namespace pagecast
