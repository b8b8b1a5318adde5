// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Giving pages up: releases, eviction, write-back.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <algorithm>
#include <cerrno>

namespace pagecast {
namespace {
constexpr uint32_t kVictims = 256, kLeastVictims = 128;
/// Dirty pages on their way out at once: enough to keep the disk writing; fewer while somebody reads, since a
/// read waits for all that was queued before it.
constexpr uint32_t kMostWriting = 4096, kMostWritingBesideReads = 256;
constexpr uint32_t kMostCleaning = 2048;
/// Released clean pages that are to be there, as a share of the budget and in pages: what the disk moves in some
/// milliseconds.
constexpr uint32_t kStockShare = 128, kLeastStock = 128, kMostStock = 8192;
/// Pages looked at in one search for clean ones among those that cannot be written.
constexpr uint32_t kMostPassedOver = 2048;
/// Room for pages mostly comes within a millisecond.
constexpr uint64_t kLateRoomNs = 100'000'000;
} // namespace

void Pager::put_off(uint32_t slot, Wanted wanted, bool dirty) {
  if (wanted.priority == 0 && wanted.due && (dirty || !wanted.dead)) order_.release_until(slot, wanted.due, dirty);
  else order_.release(slot, wanted.priority, dirty);
}

/// The program has finished with [begin, end). The pages stay until their memory is needed (buffered), or
/// go at once (aggressive).
void Pager::release(uint64_t begin, uint64_t end, Wanted wanted, uint16_t site) {
  if (options_->release == ReleasePolicy::kNone) return;
  if (options_->release == ReleasePolicy::kAggressive) wanted = {}; // these very pages, whatever wants them again
  uint32_t count = 0;
  while (begin < end) {
    Region *r = regions_.at_or_after(begin);
    if (!r || r->base >= end) break;
    if (begin < r->base) begin = r->base;
    const uint64_t stop = std::min(end, r->end());
    const uint32_t first = slot_of(*r, begin), last = slot_of(*r, stop);
    const bool gathers = options_->release == ReleasePolicy::kBuffered;
    for (uint32_t i = first; i < last; ++i) {
      Page &p = pages_[i];
      if (!resident(p.state)) continue;
      p.flags &= static_cast<uint8_t>(~kPrefetched); // it was used
      if (!gathers || p.state != PageState::kDirty) put_off(i, wanted, p.state == PageState::kDirty);
      ++statistics.site[site].released;
      ++count;
    }
    if (gathers) gather(first, last, wanted);
    map_.clear({begin, stop}); // a new hint comes through and rescues
    for (uint32_t i = first; i < last; ++i) // in flight stays marked
      if (pages_[i].state == PageState::kReading) map_.set(extent(i, 1));
    begin = stop;
  }
  if (options_->release == ReleasePolicy::kAggressive) evict(count);
}

/// How many of the ascending slots follow each other, in one region and in the same state. Neighbouring addresses may be another
/// region's, which counts its own requests.
uint32_t Pager::run_length(const uint32_t *slots, uint32_t count) {
  const Region *r = region_of(slots[0]);
  const uint32_t end = r ? slot_of(*r, r->end()) : slots[0];
  uint32_t run = 1;
  while (run < count && slots[run] == slots[0] + run && slots[run] < end && pages_[slots[run]].state == pages_[slots[0]].state)
    ++run;
  return run;
}

/// Gives up to `pages` pages back, the least wanted first. Clean ones are free on return; dirty ones later.
/// Returns the pages freed or on their way.
uint32_t Pager::evict(uint32_t pages) {
  uint32_t done = 0, passed = 0;
  while (done < pages && passed < kMostPassedOver) {
    uint32_t victims[kVictims];
    while (order_.released() < kLeastVictims && release_oldest_cluster()) {}
    // The next one is dirty, and as much as may be is being written: its turn comes.
    const bool writing = pages_writing_ >= most_writing() || !may_request(1);
    if (order_.released() && pages_[order_.victim()].state == PageState::kDirty && writing && !writes_are_stuck()) break;
    // At least a lot at a time, so that neighbours are written together; but none in use while others are left.
    uint32_t n = order_.pop_victims(victims, std::clamp(pages - done, kLeastVictims, kVictims), order_.released() > 0);
    if (n == 0) break;
    if (order_.released() == 0) crowded_.store(crowded() + n, std::memory_order_relaxed);
    std::sort(victims, victims + n);
    bool stuck = false;
    for (uint32_t i = 0; i < n;) {
      const uint32_t slot = victims[i];
      const PageState state = pages_[slot].state;
      const uint32_t run = run_length(victims + i, n - i);
      if (state == PageState::kClean) {
        discard_run(slot, run);
        done += run;
      } else if (state == PageState::kDirty) {
        Region *r = region_of(slot);
        if (r && write_out(*r, slot, run, Write::kGoing)) done += run;
        else if (writes_are_stuck()) {
          pass_over(slot, run);
          passed += run;
        } else {
          put_back(slot, run);
          stuck = true;
        }
      } else if (state == PageState::kWriting) {
        for (uint32_t s = slot; s < slot + run; ++s) {
          if (pages_[s].flags & kRedirtied) {
            order_.insert_active(s);
          } else {
            pages_[s].flags |= kEvict;
            map_.clear(extent(s, 1));
          }
        }
        done += run;
      }
      i += run;
    }
    if (stuck) break;
  }
  flush_discards();
  return done;
}

/// Dirty victims that cannot go now are the next to go.
void Pager::put_back(uint32_t slot, uint32_t pages) {
  for (uint32_t s = slot; s < slot + pages; ++s) order_.put_back(s);
  map_.clear(extent(slot, pages));
}

/// Victims that cannot be written for some time: behind them may be some that can go.
void Pager::pass_over(uint32_t slot, uint32_t pages) {
  for (uint32_t s = slot; s < slot + pages; ++s) order_.insert_active(s);
  map_.set(extent(slot, pages));
}

/// Counts a page that goes: did the program get to it?
void Pager::settle(uint32_t slot) {
  Page &p = pages_[slot];
  if (!(p.flags & kPrefetched)) return;
  p.flags &= static_cast<uint8_t>(~kPrefetched);
  if (p.site == Statistics::kHistory) ++statistics.site[p.site].unused; // the flag goes when the stream passes
  else if (nest_not_there_yet(p.nest, p.turn, p.due, p.site)) ++statistics.site[p.site].unused;
}

/// Queues the discarding of clean pages, which are out of the replacement order already.
void Pager::discard_run(uint32_t slot, uint32_t pages) {
  map_.clear(extent(slot, pages));
  save_margins(slot, pages);
  for (uint32_t s = slot; s < slot + pages; ++s) {
    settle(s);
    pages_[s].state = (pages_[s].flags & kNoBacking) ? PageState::kZero : PageState::kAbsent;
    pages_[s].flags = 0;
  }
  if (discards_ == kDiscards) flush_discards();
  discard_[discards_++] = {slot, pages};
  statistics.evicted_clean += pages;
}

void Pager::flush_discards() {
  if (discards_ == 0) return;
  iovec ranges[kDiscards];
  uint32_t pages = 0;
  for (unsigned i = 0; i < discards_; ++i) {
    ranges[i] = {reinterpret_cast<void *>(pages_.address(discard_[i].slot)), static_cast<uint64_t>(discard_[i].pages) << shift_};
    pages += discard_[i].pages;
  }
  os::discard(ranges, discards_);
  discards_ = 0;
  used_ -= pages;
  ++freed_;
}

/// Whether the backing store has room for the pages. Those that were there before need no new room.
bool Pager::have_room(unsigned file, uint32_t slot, uint32_t pages) {
  return preallocation_.have_room(file, static_cast<uint64_t>(slot) << shift_, static_cast<uint64_t>(pages) << shift_,
                                  static_cast<uint64_t>(pages_.high_water()) << shift_);
}

/// Dirty pages cannot go for some time: the disk refuses them, or it does not answer.
bool Pager::writes_are_stuck() const {
  return disk_errors_.writes_refused() || disk_errors_.stalled() ||
         (preallocation_.busy() && os::now_ns() - preallocation_.started_ns() > kLateRoomNs);
}

uint32_t Pager::most_writing() const { return reading_ && used_ <= allowance_.pages() ? kMostWritingBesideReads : kMostWriting; }

/// Whether so many writes may be asked for beside what is under way. Some can always be, in their turn.
bool Pager::may_request(unsigned writes) const {
  return pages_writing_ == 0 ? requests_.free() >= 8 + writes : requests_.under_way() + writes <= Requests::kMostUnderWay;
}

/// Starts writing a run of dirty pages. False: not now (queue full, disk full); nothing changed.
bool Pager::write_out(Region &r, uint32_t slot, uint32_t pages, Write why) {
  const bool going = why == Write::kGoing, idle = why == Write::kIdle;
  if (r.draining || !may_request((pages + io_pages_ - 1) / io_pages_) || pages_writing_ + pages > most_writing()) return false;
  if (disk_errors_.writes_refused() && !disk_errors_.may_write(os::now_ns())) return false;
  const int home = fork_files_.home();
  if (home < 0) disk_errors_.no_room(home, os::now_ns());
  const auto file = static_cast<unsigned>(home);
  if (home < 0 || !have_room(file, slot, pages)) return false;
  os::fault_protect(faults_, pages_.address(slot), static_cast<uint64_t>(pages) << shift_, true);
  if (going) map_.clear(extent(slot, pages));
  disk_.use(file, fork_files_.fd(file));
  fork_files_.put(slot, pages, file);
  for (uint32_t at = 0; at < pages;) {
    const uint32_t n = std::min(pages - at, io_pages_);
    Request &q = requests_.take();
    q = {os::now_ns(), slot + at, n, 0, 0, 0, true, true, false, idle};
    const uint64_t address = pages_.address(slot + at);
    if (!disk_.write(file, reinterpret_cast<const void *>(address), static_cast<uint64_t>(n) << shift_,
                     static_cast<uint64_t>(slot + at) << shift_, requests_.tag(q))) {
      disk_.submit(); // the submission queue was full, not the ring: once more
      disk_.write(file, reinterpret_cast<const void *>(address), static_cast<uint64_t>(n) << shift_,
                  static_cast<uint64_t>(slot + at) << shift_, requests_.tag(q));
    }
    for (uint32_t s = slot + at; s < slot + at + n; ++s) {
      if (idle) cleaning_.cleaned(s, q.started_ns);
      pages_[s].state = PageState::kWriting;
      pages_[s].flags = static_cast<uint8_t>((pages_[s].flags & kPrefetched) | (going ? kEvict : 0));
    }
    ++r.in_flight;
    ++statistics.writes;
    at += n;
  }
  pages_writing_ += pages;
  if (idle) pages_cleaning_ += pages;
  statistics.written_bytes += static_cast<uint64_t>(pages) << shift_;
  return true;
}

/// Starts writing pages that are protected for writing already, from copies: the kernel does not read memory for us
/// that the program has made unreadable. Returns how many of the first ones; 0: not now; -errno: they cannot be read.
int Pager::write_copies(Region &r, uint32_t slot, uint32_t pages) {
  if (r.draining || requests_.free() < 8) return 0;
  uint32_t first = 0;
  pages = staging_.take(pages, &first);
  if (pages == 0) return 0;
  const uint64_t bytes = static_cast<uint64_t>(pages) << shift_, offset = static_cast<uint64_t>(slot) << shift_;
  const int error = os::copy_protected_memory(staging_.address(first), pages_.address(slot), bytes);
  Request &q = requests_.take();
  const auto tag = requests_.tag(q);
  if (error || !disk_.write(fork_files_.file_of(slot), staging_.address(first), bytes, offset, tag)) {
    staging_.give(first, pages);
    free_request(q);
    return error;
  }
  q = {os::now_ns(), slot, pages, first, 0, 0, true, true, true};
  ++r.in_flight;
  pages_writing_ += pages;
  ++statistics.writes;
  return static_cast<int>(pages);
}

/// A write is done, or has failed: then the data stay in memory.
void Pager::written(Request &q, int result) {
  Region *r = region_of(q.slot);
  if (r) --r->in_flight;
  pages_writing_ -= q.pages;
  if (q.idle) pages_cleaning_ -= q.pages;
  if (q.copied) staging_.give(q.staging, q.pages);
  const bool good = result == static_cast<int>(q.pages << shift_);
  const bool unreadable = !good && !q.copied && (result == -EFAULT || result > 0);
  const int copied = unreadable && r ? write_copies(*r, q.slot, q.pages) : -EFAULT;
  if (copied >= 0) { // the others' turn comes again
    q.slot += static_cast<uint32_t>(copied);
    q.pages -= static_cast<uint32_t>(copied);
  } else if (!good) {
    disk_errors_.write_failed(result, os::now_ns());
  } else if (disk_errors_.writes_refused()) {
    disk_errors_.wrote(q.started_ns, os::now_ns());
  }
  uint32_t run = 0;
  auto flush = [&](uint32_t end) {
    if (run) discard_run(end - run, run), statistics.evicted_dirty += run, statistics.evicted_clean -= run;
    run = 0;
  };
  for (uint32_t s = q.slot; s < q.slot + q.pages; ++s) {
    Page &p = pages_[s];
    const bool redirtied = p.flags & kRedirtied, going = p.flags & kEvict;
    p.flags &= kPrefetched;
    if (!good || redirtied) {
      p.state = PageState::kDirty;
      flush(s);
      if (!good && !redirtied) os::fault_protect(faults_, pages_.address(s), page_, false);
      if (going) order_.insert_active(s), map_.set(extent(s, 1));
      continue;
    }
    p.state = PageState::kClean;
    if (going) {
      ++run;
      continue;
    }
    flush(s);
    statistics.cleaned += q.idle;
  }
  flush(q.slot + q.pages);
  ++freed_;
}

/// Puts the longest active pages on probation while memory is short: hints for them come through again, and
/// what nobody asked for by the time their turn comes goes. They stay for longer than slices run ahead.
void Pager::keep_aging() {
  if (free_pages() > allowance_.pages() / 16) return;
  const uint32_t want = order_.active() / 4;
  for (unsigned lot = 0; lot < 64 && order_.aging() < want; ++lot) {
    uint32_t aged[256];
    const uint32_t n = order_.age(aged, std::min(want - order_.aging(), 256u));
    for (uint32_t i = 0; i < n; ++i) {
      const Region *r = region_of(aged[i]);
      if (r && r->pinned) order_.touch(aged[i]);
      else map_.clear(extent(aged[i], 1));
    }
  }
}

/// Keeps some memory free ahead of need, so that fetches and faults need not wait for writes.
void Pager::keep_reserve(bool busy) {
  keep_aging();
  const uint32_t low = allowance_.least_free();
  const uint32_t coming = pages_coming_free();
  if (free_pages() + coming < low && busy) raise_ceiling(); // an idle program needs none soon
  if (free_pages() + coming < low && !allowance_.worth_waiting()) evict(2 * low - free_pages() - coming);
  else if (free_pages() == 0 && waiting_.count()) evict(64);
}

/// Writes released dirty pages shortly before their memory is needed, so that some memory can always be given up at
/// once. In the order in which they would go. Only a little: what is not written may be stored to once more, or die.
void Pager::clean_ahead() {
  const uint32_t stock = std::clamp(allowance_.pages() / kStockShare, kLeastStock, kMostStock);
  const uint32_t most = reading_ ? kMostWritingBesideReads : kMostCleaning;
  // In lots: room for a page at a time, as writes end, would be used for writes of a page.
  if (free_pages() > stock || pages_writing_ + kLeastVictims > most || order_.released_clean() > stock || !may_request(1) ||
      disk_errors_.writes_refused())
    return;
  uint32_t dirty[kVictims];
  // What is wanted before memory has been filled once more is likely to stay.
  const uint64_t soon = (forecast_.now() + budget()) / due_unit_;
  const uint32_t n = order_.clean(dirty, std::min(kVictims, most - pages_writing_), soon);
  write_ahead(dirty, n, Write::kNext);
}

/// Writes pages that stay, of which the released ones count as clean already. False: none of them, now.
bool Pager::write_ahead(uint32_t *slots, uint32_t count, Write why) {
  bool any = false;
  std::sort(slots, slots + count);
  for (uint32_t i = 0; i < count;) {
    const uint32_t slot = slots[i], run = run_length(slots + i, count - i);
    Region *r = region_of(slot);
    const bool dirty = r && pages_[slot].state == PageState::kDirty, writes = dirty && write_out(*r, slot, run, why);
    for (uint32_t s = slot; dirty && !writes && s < slot + run; ++s) order_.not_cleaned(s);
    any |= writes;
    i += run;
  }
  return any;
}

} // namespace pagecast
