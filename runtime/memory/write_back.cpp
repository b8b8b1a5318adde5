// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/write_back.h"

#include "runtime/kernel/os.h"
#include "runtime/state/open_nests.h"

#include <algorithm>
#include <cerrno>

namespace pagecast {

namespace {
/// Dirty pages on their way out at once: enough to keep the disk writing; fewer while somebody reads, since a
/// read waits for all that was queued before it.
constexpr uint32_t kMostWriting = 4096, kMostWritingBesideReads = 256;
constexpr uint32_t kMostAhead = 2048; ///< the same of pages that are not yet to go
/// Room for a page at a time, as writes end, would be used for writes of a page.
constexpr uint32_t kLeastLot = 128;
} // namespace

uint32_t WriteBack::run_length(const uint32_t *slots, uint32_t count) {
  const PagedRegion *r = memory_.region_of(slots[0]);
  const uint32_t end = r ? memory_.slot_of(*r, r->end()) : slots[0];
  uint32_t run = 1;
  while (run < count && slots[run] == slots[0] + run && slots[run] < end && memory_[slots[run]].state == memory_[slots[0]].state)
    ++run;
  return run;
}

uint32_t WriteBack::room_ahead() const {
  const uint32_t most = store_.reading() ? kMostWritingBesideReads : kMostAhead;
  const bool none = store_.pages_writing() + kLeastLot > most || !store_.may_request(1) || store_.writes_are_refused();
  return none ? 0 : most - store_.pages_writing();
}

uint32_t WriteBack::most_writing() const { return store_.reading() && !limit_.over() ? kMostWritingBesideReads : kMostWriting; }

/// They are on their way.
void WriteBack::begun(uint32_t slot, uint32_t pages, Why why, uint64_t started_ns) {
  if (why == Why::kGoing) memory_.residency.clear(memory_.extent(slot, pages));
  for (uint32_t s = slot; s < slot + pages; ++s) {
    if (why == Why::kIdle) memory_.cleaning.cleaned(s, started_ns);
    memory_[s].state = PageState::kWriting;
    memory_[s].flags = static_cast<uint8_t>((memory_[s].flags & kPrefetched) | (why == Why::kGoing ? kEvict : 0));
  }
}

uint32_t WriteBack::write_out(PagedRegion &r, uint32_t slot, uint32_t pages, Why why) {
  const bool idle = why == Why::kIdle, forked = memory_[slot].state == PageState::kForked;
  if (r.draining || !store_.may_request((pages + store_.io_pages() - 1) / store_.io_pages()) ||
      store_.pages_writing() + pages > most_writing())
    return 0;
  const bool map = r.origin.is_map();
  const int file = map ? 0 : store_.file_for(slot, pages, memory_.pages.high_water());
  if (file < 0 || (map && !store_.map_takes_writes(r.origin))) return 0;
  if (!forked) placement_.protect(slot, pages);
  if (!map) store_.move_to(static_cast<unsigned>(file), slot, pages);
  for (uint32_t done = 0; done < pages;) {
    const uint32_t at = slot + done, n = std::min(pages - done, store_.io_pages());
    // The kernel would make room for a copy of its own, for the time of the write.
    const int copied = forked ? store_.write_copy(at, n, memory_.pages.address(at), idle, false, r.origin) : 0;
    if (forked && copied <= 0) return done;
    const uint64_t started = forked ? os::now_ns() : store_.write(at, n, memory_.pages.address(at), idle, r.origin).started_ns;
    begun(at, forked ? static_cast<uint32_t>(copied) : n, why, started);
    done += forked ? static_cast<uint32_t>(copied) : n;
    ++r.in_flight;
  }
  return pages;
}

/// Starts writing pages that are protected for writing already, from copies: the kernel does not read memory for us
/// that the program has made unreadable. Returns how many of the first ones; 0: not now; -errno: they cannot be read.
int WriteBack::write_copies(PagedRegion &r, uint32_t slot, uint32_t pages) {
  if (r.draining) return 0;
  const int copied = store_.write_copy(slot, pages, memory_.pages.address(slot), false, true, r.origin);
  if (copied > 0) ++r.in_flight;
  return copied;
}

void WriteBack::written(Request &q, int result) {
  PagedRegion *r = memory_.region_of(q.slot);
  if (r) --r->in_flight;
  store_.write_done(q);
  const bool good = result == static_cast<int>(q.pages << memory_.shift);
  const bool unreadable = !good && !q.copied && !q.shelved && (result == -EFAULT || result > 0);
  const int copied = unreadable && r ? write_copies(*r, q.slot, q.pages) : -EFAULT;
  if (copied >= 0) { // the others' turn comes again
    q.slot += static_cast<uint32_t>(copied);
    q.pages -= static_cast<uint32_t>(copied);
  } else {
    store_.wrote(q, good, result);
  }
  uint32_t run = 0;
  auto flush = [&](uint32_t end) {
    if (run) discards_.add(end - run, run), memory_.statistics.evicted_dirty += run, memory_.statistics.evicted_clean -= run;
    run = 0;
  };
  for (uint32_t s = q.slot; s < q.slot + q.pages; ++s) {
    Page &p = memory_[s];
    if (p.state == PageState::kShelved) {
      flush(s);
      continue;
    }
    const bool redirtied = p.flags & kRedirtied, going = p.flags & kEvict;
    p.flags &= kPrefetched;
    if (!good || redirtied) {
      p.state = PageState::kDirty;
      flush(s);
      if (!good && !redirtied) placement_.unprotect(s, 1);
      if (going) memory_.order.touch(s), memory_.residency.set(memory_.extent(s, 1));
      continue;
    }
    p.state = PageState::kClean;
    if (going) {
      ++run;
      continue;
    }
    flush(s);
    memory_.statistics.cleaned += q.idle && !q.shelved;
  }
  flush(q.slot + q.pages);
  if (q.shelved) shelf_.written(q, good);
  memory_.note_freed();
}

bool WriteBack::write_ahead(uint32_t *slots, uint32_t count, Why why) {
  bool any = false;
  std::sort(slots, slots + count);
  for (uint32_t i = 0; i < count;) {
    const uint32_t slot = slots[i], run = run_length(slots + i, count - i);
    PagedRegion *r = memory_.region_of(slot);
    const bool dirty = r && PagedMemory::unwritten(memory_[slot].state);
    const uint32_t written = dirty ? write_out(*r, slot, run, why) : 0;
    for (uint32_t s = slot + written; dirty && s < slot + run; ++s) memory_.order.not_cleaned(s);
    any |= written != 0;
    i += run;
  }
  return any;
}

namespace {
constexpr uint32_t kBatch = Requests::kMostUnderWay; ///< pages written at once
constexpr uint32_t kPassedOver = 4096;  ///< clean ones looked at in one turn of the loop: some 50 us
} // namespace

/// Nothing is cleaned where all data fit, or where what others may take is free anyway; nor beside other I/O.
bool Cleaner::may_clean() const {
  return (memory_.statistics.evicted_clean || memory_.statistics.evicted_dirty) && !store_.busy() &&
         limit_.exposed(core::Cleaning::kNearBytes);
}

void Cleaner::clean(uint64_t now, bool busy) {
  if (memory_.cleaning.writing() && store_.pages_cleaning() == 0) memory_.cleaning.done(now);
  if (busy) return memory_.cleaning.disturbed(now);
  if (now < memory_.cleaning.next_ns() || !may_clean()) return;
  if (store_.writes_are_refused() || store_.stalled()) return memory_.cleaning.ran_out(now);
  const bool in_nest = open_nest_mask.load(std::memory_order_relaxed) != 0;
  const uint32_t want =
      memory_.cleaning.wanted({now, os::process_cpu_ns(), in_nest, limit_.exposed(core::Cleaning::kNearBytes),
                               limit_.exposed(core::Cleaning::kFarBytes), memory_.order.released_clean() + walked_clean_});
  if (!want) return;
  if (memory_.cleaning.begins()) {
    walked_clean_ = 0;
    memory_.order.start_walk();
    if (!in_nest) releases_.release_clusters(); // what they waited for does not come
  }
  uint32_t slots[kBatch];
  bool more = true;
  const uint32_t n = next_to_clean(slots, want, now, &more);
  if (write_back_.write_ahead(slots, n, WriteBack::Why::kIdle)) memory_.cleaning.began(now);
  else if (!more) memory_.cleaning.ran_out(now);
}

/// Moves the slots that are dirty and may be cleaned now to the front. Returns how many.
uint32_t Cleaner::keep_cleanable(uint32_t *slots, uint32_t count, uint64_t now) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!PagedMemory::unwritten(memory_[slots[i]].state)) continue;
    if (memory_.cleaning.may_clean(slots[i], now)) slots[kept++] = slots[i];
    else memory_.order.not_cleaned(slots[i]);
  }
  return kept;
}

/// Up to kBatch dirty pages of the first `want` that are given up. `more`: the order goes on.
uint32_t Cleaner::next_to_clean(uint32_t *slots, uint32_t want, uint64_t now, bool *more) {
  uint32_t n = 0;
  if (const uint32_t clean = memory_.order.released_clean(); clean < want)
    n = keep_cleanable(slots, memory_.order.clean(slots, std::min(kBatch, want - clean)), now);
  for (uint32_t passed = 0; n < kBatch && passed < kPassedOver; ++passed) {
    if (memory_.order.released_clean() + walked_clean_ >= want) break;
    const uint32_t slot = memory_.order.walk();
    *more = slot != kNoSlot;
    if (!*more) break;
    const Page &p = memory_[slot];
    const bool dirty = PagedMemory::unwritten(p.state);
    if (dirty && ((p.flags & kDone) || !memory_.cleaning.may_clean(slot, now))) continue;
    if (dirty) slots[n++] = slot;
    ++walked_clean_;
  }
  return n;
}

} // namespace pagecast
