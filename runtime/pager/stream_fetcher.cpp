// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/stream_fetcher.h"

#include "runtime/state/open_nests.h"

namespace pagecast {
namespace {
constexpr uint64_t kShare = 4; ///< streams may have this part of the budget ahead of the program
constexpr int64_t kLookAhead = 1 << 16; ///< pages that are resident already, in which a mark is looked for
constexpr uint32_t kRunsAtOnce = 32; ///< of pages that lie apart
} // namespace

/// The slot of the page at a place, which is in a region.
uint32_t StreamFetcher::slot_at(int64_t place) {
  const auto address = static_cast<uint64_t>(place);
  return memory_.slot_of(*memory_.regions.find(address), address);
}

bool StreamFetcher::follow(uint64_t address, bool write, core::Favour::Owner owner) {
  if (!memory_.options->history || nest_covers(address)) return true;
  PagedRegion *r = memory_.regions.find(address);
  if (!r || r->draining) return true;
  r->apart.fault(), r->in_order.fault();
  const auto found = fault_streams_.fault(static_cast<int64_t>(address), static_cast<int64_t>(r->base),
                                          static_cast<int64_t>(r->end()), limit_.pages() / kShare);
  if (found.stream == core::FaultStreams::kNone) return false;
  core::Stream &s = fault_streams_[found.stream];
  owner_[found.stream] = owner;
  if (found.started) give_up(found.replaced);
  s.blocked = 0;
  if (s.watched != core::Stream::kNoMark && !found.started) investment(*r, s).missed();
  s.watched = core::Stream::kNoMark;
  if (write) s.stores = true;
  else if (s.probe != core::Stream::kNoMark && memory_[slot_at(s.probe)].state == PageState::kClean) s.stores = false;
  s.probe = s.passed;
  settle_behind(*r, s);
  return true;
}

core::StreamInvestment &StreamFetcher::investment(PagedRegion &r, const core::Stream &s) {
  return s.sequential() ? r.in_order : r.apart;
}

/// Pages that the program has passed, but for the last window, were used.
void StreamFetcher::settle_behind(PagedRegion &r, core::Stream &s) {
  const int64_t end = s.passed - s.stride * s.window;
  for (; s.steps(s.settled, end) > 0; s.settled += s.stride) {
    const uint32_t slot = slot_at(s.settled);
    memory_.settle_used(slot);
    if (s.sequential()) leave_behind(r, slot);
  }
}

/// A page that a stream in order has passed goes before what is used at random, while that pays.
void StreamFetcher::leave_behind(PagedRegion &r, uint32_t slot) {
  const Page &p = memory_[slot];
  if (memory_.options->release != ReleasePolicy::kBuffered || !PagedMemory::resident(p.state) || r.pinned ||
      memory_.favour.is_favoured(p.owner) || memory_.order.is_free(slot) || memory_.order.is_released(slot))
    return;
  const bool dirty = PagedMemory::unwritten(p.state);
  core::PassedPages &pages = r.passed[dirty];
  if (core::PassedNotes::notes(slot) && pages.samples()) {
    memory_.passed.passed(slot, dirty, memory_.gone());
    pages.passed();
  } else if (!pages.pays()) {
    ++memory_.statistics.releases_forgone;
    return;
  }
  memory_.residency.clear(memory_.extent(slot, 1)); // a hint comes through and rescues it
  memory_.order.release(slot, 0, dirty);
  ++memory_.statistics.site[Statistics::kHistory].released;
}

/// The stream will not be moved on any more: what was fetched beyond its mark was not used, and goes first.
void StreamFetcher::give_up(const core::Stream &s) {
  if (s.free()) return;
  const int64_t used = s.mark == core::Stream::kNoMark ? s.next : s.mark;
  for (int64_t place = s.settled; place != s.next; place += s.stride) {
    const uint32_t slot = slot_at(place);
    Page &p = memory_[slot];
    if (p.state == PageState::kMark) {
      marks_.drop(slot);
      continue;
    }
    if (s.steps(used, place) >= 0) memory_.settle_wasted(slot);
    else if (p.site == Statistics::kHistory && PagedMemory::resident(p.state)) memory_.settle_used(slot);
  }
}

bool StreamFetcher::push_on() {
  bool busy = false;
  for (unsigned i = 0; i < core::FaultStreams::kMost; ++i)
    if (fault_streams_[i].left && fault_streams_[i].blocked != memory_.freed) busy |= push_on(i);
  return busy;
}

/// Asks for the next pages of the stream: one request, or some where they lie apart. False if none could be asked for.
bool StreamFetcher::push_on(unsigned i) {
  core::Stream &s = fault_streams_[i];
  PagedRegion *r = memory_.regions.find(static_cast<uint64_t>(s.next));
  if (!r || r->draining) return false;
  if (core::StreamInvestment &streams = investment(*r, s); !streams.pays()) return watch(i, streams), false;
  bool busy = false;
  for (uint32_t n = s.sequential() ? 1 : kRunsAtOnce; n && s.left; --n) {
    const uint32_t slot = slot_at(s.next);
    const PageState state = memory_[slot].state;
    uint32_t run = 1;
    const uint32_t most = s.unmarked ? std::min(s.left, s.unmarked) : s.left;
    auto alike = [&](PageState other) {
      return other == state || (PagedMemory::resident(other) && PagedMemory::resident(state));
    };
    if (s.sequential())
      while (run < most && alike(memory_[s.backward() ? slot - run : slot + run].state)) ++run;
    const uint32_t done = push_run(*r, s, slot, run);
    if (done == 0) {
      s.blocked = memory_.freed;
      break;
    }
    busy = true;
    // Backwards, the far end is seen to first: a repetition meets a shorter run.
    if (!s.backward() || done == run) fault_streams_.asked(i, done);
  }
  if (s.left == 0 && s.mark == core::Stream::kNoMark && s.sequential() && s.steps(s.passed, s.next) < kLookAhead)
    fault_streams_.look_further(i, s.window);
  return busy;
}

/// Nothing is fetched now: notes what would be, which is the first page that is not there.
void StreamFetcher::watch(unsigned i, core::StreamInvestment &streams) {
  core::Stream &s = fault_streams_[i];
  while (s.left && memory_[slot_at(s.next)].state != PageState::kAbsent) fault_streams_.asked(i, 1);
  if (s.left) {
    s.watched = s.next;
    streams.forgone();
    ++memory_.statistics.streams.forgone;
  }
  s.left = 0;
}

/// Sees to a run of pages alike, of which `slot` is the one that the program comes to first. Returns how many, from the lowest on; 0: not now.
uint32_t StreamFetcher::push_run(PagedRegion &r, core::Stream &s, uint32_t slot, uint32_t pages) {
  const uint32_t first = s.backward() ? slot - pages + 1 : slot;
  const bool wants_mark = s.mark == core::Stream::kNoMark && s.unmarked == 0;
  const core::Favour::Owner owner = owner_[&s - &fault_streams_[0]];
  const Fetcher::Asked asked{Statistics::kHistory, 0, s.sequential() ? kInOrder : kApart, s.stores, false, {}, owner};
  switch (memory_[slot].state) {
  case PageState::kZero:
    if (wants_mark) {
      s.mark = s.next;
      return 1;
    }
    return fetcher_.zero_fill(r, first, pages, asked);
  case PageState::kAbsent: {
    const uint32_t done = fetcher_.read_in(r, first, pages, asked);
    if (wants_mark && (done == pages || (done && !s.backward()))) {
      s.mark = s.next;
      memory_[slot].flags |= kToMark;
    }
    return done;
  }
  case PageState::kReading: return pages;
  case PageState::kMark: // the mark of a stream that came to nothing
    marks_.show(slot, s.stores && r.may_expect_stores());
    return 1;
  case PageState::kShelved: return fetcher_.fetch_run(r, first, 1, asked);
  case PageState::kLost: return pages;
  default: return fetcher_.want_again(r, first, pages, asked);
  }
}

bool StreamFetcher::stored(uint32_t slot) {
  const auto place = static_cast<int64_t>(memory_.pages.address(slot));
  const unsigned i = fault_streams_.around(place);
  if (i == core::FaultStreams::kNone || !fault_streams_[i].sequential()) return false;
  core::Stream &s = fault_streams_[i];
  const int64_t before = place - s.stride;
  if (before < s.low || before >= s.high || memory_[slot_at(before)].state != PageState::kDirty) return false;
  s.stores = true;
  uint32_t writable = 0;
  for (int64_t at = place; at != s.next; at += s.stride) {
    Page &p = memory_[slot_at(at)];
    if (p.state == PageState::kReading) p.flags |= kWriteIntent;
    if (!PagedMemory::awaits_store(p.state)) break;
    ++writable;
  }
  placement_.make_writable(s.backward() ? slot - writable + 1 : slot, writable);
  memory_.statistics.protect_faults += writable;
  return true;
}

} // namespace pagecast
