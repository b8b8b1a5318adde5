// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fetching ahead of what no hint foresees, from the faults that were: core/faults/fault_streams.h says which pages come next. This
// is what programs get that were not compiled with pagecast, and the others where no nest is open.
//
// A mark (see there) on a page that was never stored to is simply left out. One on a page of the backing store is read
// with its neighbours, but kept in a buffer here until the program faults on it: a fault without a read.
//
// Pages behind a stream stay as all others do, and go first in, first out: faults do not prove that the program has
// finished with anything.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint64_t kShare = 4; ///< streams may have this part of the budget ahead of the program
constexpr int64_t kLookAhead = 1 << 16; ///< pages that are resident already, in which a mark is looked for
constexpr uint32_t kRunsAtOnce = 32; ///< of pages that lie apart
} // namespace

/// Of a place in a region.
uint32_t Pager::slot_at(int64_t place) {
  const auto address = static_cast<uint64_t>(place);
  return slot_of(*regions_.find(address), address);
}

/// The program faulted at an address whose page was not there; the fault itself is being served.
void Pager::follow(uint64_t address, bool write) {
  if (!options_->history || nest_covers(address)) return;
  Region *r = regions_.find(address);
  if (!r || r->draining) return;
  const auto found = fault_streams_.fault(static_cast<int64_t>(address), static_cast<int64_t>(r->base),
                                          static_cast<int64_t>(r->end()), allowance_.pages() / kShare);
  if (found.stream == core::FaultStreams::kNone) return;
  core::Stream &s = fault_streams_[found.stream];
  if (found.started) give_up(found.replaced);
  s.blocked = 0;
  if (write) s.stores = true;
  else if (s.probe != core::Stream::kNoMark && pages_[slot_at(s.probe)].state == PageState::kClean) s.stores = false;
  s.probe = s.passed;
  settle_behind(s);
}

/// Pages that the program has passed, but for the last window, were used.
void Pager::settle_behind(core::Stream &s) {
  const int64_t end = s.passed - s.stride * s.window;
  for (; s.steps(s.settled, end) > 0; s.settled += s.stride)
    pages_[slot_at(s.settled)].flags &= static_cast<uint8_t>(~kPrefetched);
}

/// The stream will not be moved on any more: what was fetched beyond its mark was not used, and goes first.
void Pager::give_up(const core::Stream &s) {
  if (s.free()) return;
  const int64_t used = s.mark == core::Stream::kNoMark ? s.next : s.mark;
  for (int64_t place = s.settled; place != s.next; place += s.stride) {
    const uint32_t slot = slot_at(place);
    Page &p = pages_[slot];
    if (p.state == PageState::kMark) {
      drop_mark(slot);
      continue;
    }
    if (p.site != Statistics::kHistory || !(p.flags & kPrefetched) || !resident(p.state)) continue;
    p.flags &= static_cast<uint8_t>(~kPrefetched);
    if (s.steps(used, place) < 0) continue;
    ++statistics.site[Statistics::kHistory].unused;
    order_.release(slot, 0, p.state == PageState::kDirty);
    map_.clear(extent(slot, 1));
  }
}

bool Pager::run_streams() {
  bool busy = false;
  for (unsigned i = 0; i < core::FaultStreams::kMost; ++i)
    if (fault_streams_[i].left && fault_streams_[i].blocked != freed_) busy |= push_on(i);
  return busy;
}

/// Asks for the next pages of the stream: one request, or some where they lie apart. False if none could be asked for.
bool Pager::push_on(unsigned i) {
  core::Stream &s = fault_streams_[i];
  Region *r = regions_.find(static_cast<uint64_t>(s.next));
  if (!r || r->draining) return false;
  bool busy = false;
  for (uint32_t n = s.sequential() ? 1 : kRunsAtOnce; n && s.left; --n) {
    const uint32_t slot = slot_at(s.next);
    const PageState state = pages_[slot].state;
    uint32_t run = 1;
    const uint32_t most = s.unmarked ? std::min(s.left, s.unmarked) : s.left;
    auto alike = [&](PageState other) { return other == state || (resident(other) && resident(state)); };
    if (s.sequential())
      while (run < most && alike(pages_[s.backward() ? slot - run : slot + run].state)) ++run;
    const uint32_t done = push_run(*r, s, slot, run);
    if (done == 0) {
      s.blocked = freed_;
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

/// Sees to a run of pages alike, of which `slot` is the one that the program comes to first. Returns how many, from the lowest on; 0: not now.
uint32_t Pager::push_run(Region &r, core::Stream &s, uint32_t slot, uint32_t pages) {
  const uint32_t first = s.backward() ? slot - pages + 1 : slot;
  const bool wants_mark = s.mark == core::Stream::kNoMark && s.unmarked == 0;
  const Asked asked{Statistics::kHistory, 0, 0, s.stores, false};
  switch (pages_[slot].state) {
  case PageState::kZero:
    if (wants_mark) {
      s.mark = s.next;
      return 1;
    }
    return zero_fill(r, first, pages, asked);
  case PageState::kAbsent: {
    const uint32_t done = read_in(r, first, pages, asked);
    if (wants_mark && (done == pages || (done && !s.backward()))) {
      s.mark = s.next;
      pages_[slot].flags |= kToMark;
    }
    return done;
  }
  case PageState::kReading: return pages;
  case PageState::kMark: // the mark of a stream that came to nothing
    show_mark(slot, s.stores);
    return 1;
  default: want_again(r, first, pages, asked); return pages;
  }
}

/// A first store to a page of a stream, right behind another one: so it goes on.
bool Pager::stored_in_stream(Region &r, uint32_t slot) {
  const auto place = static_cast<int64_t>(pages_.address(slot));
  const unsigned i = fault_streams_.around(place);
  if (i == core::FaultStreams::kNone || !fault_streams_[i].sequential()) return false;
  core::Stream &s = fault_streams_[i];
  const int64_t before = place - s.stride;
  if (before < s.low || before >= s.high || pages_[slot_at(before)].state != PageState::kDirty) return false;
  s.stores = true;
  uint32_t writable = 0;
  for (int64_t at = place; at != s.next; at += s.stride) {
    Page &p = pages_[slot_at(at)];
    if (p.state == PageState::kReading) p.flags |= kWriteIntent;
    if (p.state != PageState::kClean) break;
    ++writable;
  }
  make_writable(r, s.backward() ? slot - writable + 1 : slot, writable);
  statistics.protect_faults += writable;
  return true;
}

/// Keeps the contents of a page that has been read out of the program's sight. False: there is no room, or someone waits.
bool Pager::keep_mark(uint32_t slot, const char *from) {
  Page &p = pages_[slot];
  p.flags &= static_cast<uint8_t>(~kToMark);
  if (!marks_.keep(slot, from)) return false;
  p.state = PageState::kMark;
  p.flags &= kPrefetched;
  map_.clear(extent(slot, 1)); // a hint for it comes through
  return true;
}

/// Puts a mark where the program sees it.
void Pager::show_mark(uint32_t slot, bool write) {
  const char *contents = marks_.let_go(slot);
  Page &p = pages_[slot];
  p.flags = 0;
  if (place(slot, contents, 1, write) == 0) { // it stays in the backing store
    p.state = PageState::kAbsent;
    --used_;
    return;
  }
  p.state = write ? PageState::kDirty : PageState::kClean;
  order_.insert_active(slot);
  map_.set(extent(slot, 1));
  end_wait(slot, 1);
}

void Pager::drop_mark(uint32_t slot) {
  marks_.let_go(slot);
  pages_[slot].state = PageState::kAbsent;
  pages_[slot].flags = 0;
  --used_;
}

} // namespace pagecast
