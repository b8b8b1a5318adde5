// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/adviser.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/state/open_nests.h"

#include <algorithm>

namespace pagecast {
namespace {

constexpr uint64_t kScatteredBytes = 128u << 10; ///< requests below this are scattered, those of 64 KiB that along() makes too
constexpr uint32_t kShortStreak = 8;          ///< small requests in a row, until the region counts as scattered
constexpr uint32_t kLongStreak = 64;          ///< large requests in a row, until it counts as dense again
constexpr unsigned kOvertaken = 16;           ///< requests: when one so much later has come, this one will not
constexpr uint64_t kLook = 2048;                 ///< pages of which the kernel is asked at a time
constexpr unsigned kLooks = 4;                  ///< per round
constexpr uint64_t kRoundNs = 50000000;
constexpr uint64_t kUnderWayShare = 4;           ///< of the memory, the part that may be under way
constexpr uint64_t kWaitNs = 200000, kMostWaitNs = 100000000;

} // namespace

void Adviser::run() {
  uint64_t next_round = 0;
  for (;;) {
    while (queue_.front()) work_off();
    const bool busy = table_.any() && open_nest_mask.load(std::memory_order_relaxed) != 0;
    if (!busy) unmap_passed();
    if (const uint64_t now = os::now_ns(); busy && now >= next_round) {
      next_round = now + kRoundNs;
      unmap_passed();
      for (unsigned i = 0; i < kLooks && refresh() && !queue_.front(); ++i) {}
    }
    uint64_t until = busy ? kRoundNs : 0;
    if (table_.any() && table_.options->history) {
      const uint64_t until_watch = watch_.watch(), until_look = follow_faults();
      until = std::min(busy ? until : until_watch, until_look);
    }
    queue_.sleep(until);
  }
}

/// What faults at even distances foretell. Returns how long it is until the next look, ns.
uint64_t Adviser::follow_faults() {
  const uint64_t until = follower_.look(watch_.program_waits());
  core::Extent parts[kBatch];
  while (const unsigned n = follower_.next(parts, kBatch)) {
    iovec range[kBatch];
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n; ++i) {
      range[i] = {reinterpret_cast<void *>(parts[i].begin), parts[i].size()};
      bytes += parts[i].size();
    }
    table_.statistics->files.strided += bytes >> table_.shift;
    ask_for(range, n, bytes);
  }
  return until;
}

/// The hints at the head of the queue that are of one kind, in one call. What was passed waits for more of it.
void Adviser::work_off() {
  iovec range[kBatch];
  unsigned n = 0;
  uint64_t pages = 0;
  Hint::Kind kind = Hint::kFetch;
  while (const Hint *h = queue_.front()) {
    if (h->kind == Hint::kPassed) {
      passed_[passed_count_++] = h->extent(table_.shift);
      queue_.pop();
      if (passed_count_ == kBatch) unmap_passed();
      continue;
    }
    if (n == 0) kind = h->kind;
    if (h->kind != kind) break;
    const FileRegion r = table_.look_up(h->address);
    const uint64_t request_bytes = h->kind != Hint::kFetch || !r.request_bytes ? ~0ull >> 1 : r.request_bytes;
    const uint64_t bytes = static_cast<uint64_t>(h->pages) << table_.shift;
    const uint64_t parts = (bytes + request_bytes - 1) / request_bytes;
    if (n && (n + parts > kBatch || (pages << table_.shift) + bytes > table_.memory_bytes / kUnderWayShare)) break;
    if (r.bytes && h->kind == Hint::kFetch) expect(*h);
    if (h->kind == Hint::kFetch && r.scattered && h->pages == 1 && renew(r, h->address)) {
      queue_.pop();
      continue;
    }
    for (uint64_t at = 0; r.bytes && at < bytes && n < kBatch; at += request_bytes)
      range[n++] = {reinterpret_cast<void *>(h->address + at), std::min(request_bytes, bytes - at)};
    pages += h->pages;
    queue_.pop();
  }
  if (n == 0) return;
  if (kind == Hint::kFetch) {
    ask_for(range, n, pages << table_.shift);
  } else {
    ++table_.statistics->files.calls;
    os::give_up(range, n);
    table_.statistics->files.given_up += pages;
  }
}

/// Not before there is room for them among those that are on their way. What does not come at all, as behind the end of a
/// file, or what came and had to go again at once, is not waited for long.
void Adviser::ask_for(iovec *range, unsigned ranges, uint64_t bytes) {
  const auto is_there = [this](core::Extent e) {
    uint8_t there = 0;
    return os::in_core(e.end - (1ull << table_.shift), 1, &there) != 0 || there;
  };
  for (uint64_t waited_ns = 0; under_way_.any() && under_way_.bytes() + bytes > table_.memory_bytes / kUnderWayShare;) {
    if (is_there(under_way_.oldest()) || waited_ns >= kMostWaitNs || is_there(under_way_.later(kOvertaken))) {
      under_way_.drop_oldest();
      continue;
    }
    os::wait_readable(-1, kWaitNs);
    waited_ns += kWaitNs;
    ++table_.statistics->files.waits;
  }
  unsigned n = 0;
  for (unsigned i = 0; i < ranges; ++i) {
    const auto begin = reinterpret_cast<uint64_t>(range[i].iov_base);
    const core::Extent absent = absent_part({begin, begin + range[i].iov_len});
    if (absent.empty()) continue;
    under_way_.add(absent);
    range[n++] = {reinterpret_cast<void *>(absent.begin), absent.size()};
  }
  if (n == 0) return;
  ++table_.statistics->files.calls;
  os::will_need(range, n);
}

/// From the first page that is not there to the last: whether the read is over is seen by that one. A page alone has been
/// looked at (renew()), and looking costs as much as asking. All pages of an opaque file are said to be there.
core::Extent Adviser::absent_part(core::Extent e) {
  const uint64_t pages = e.size() >> table_.shift;
  uint8_t there[AdviceQueue::kMostPages];
  if (pages == 1 || pages > AdviceQueue::kMostPages || table_.look_up(e.begin).opaque || os::in_core(e.begin, pages, there))
    return e;
  uint64_t first = 0, end = pages;
  while (first < end && there[first]) ++first;
  while (end > first && there[end - 1]) --end;
  return {e.begin + (first << table_.shift), e.begin + (end << table_.shift)};
}

/// Takes pages that the program has passed out of the page table. Reclaim, which happens in whoever asks for memory, then
/// need not: a page at a time, with an interrupt of every processor that the program runs on. Nor does writing them interrupt
/// any. What was stored is in the page cache. Whoever unmaps a region waits, since other data may be there at once.
void Adviser::unmap_passed() {
  iovec range[kBatch];
  unsigned n = 0;
  Guard until(table_.unmapping);
  for (; passed_count_; --passed_count_) {
    const core::Extent e = passed_[passed_count_ - 1];
    const FileRegion r = table_.look_up(e.begin);
    if (!r.shared || e.end > r.end()) continue;
    range[n++] = {reinterpret_cast<void *>(e.begin), e.size()};
    table_.statistics->files.passed += e.size() >> table_.shift;
  }
  if (n) os::take_out(range, n);
}

/// A page that is asked for again while it is in memory is one of those that are used often. With MADV_RANDOM the
/// kernel takes no notice of the program's touching it, and would let it go when its time has come: so it is told.
/// Whether the page is there. What is not mapped of an opaque file nobody tells.
bool Adviser::renew(const FileRegion &r, uint64_t address) {
  uint8_t there = 0;
  if (r.opaque ? !os::touched(address) : os::in_core(address, 1, &there) || !there) return false;
  os::keep(address);
  ++table_.statistics->files.renewed;
  return true;
}

/// Small requests, each at a place of its own, are scattered ones: a miss among them should read its page alone.
void Adviser::expect(const Hint &hint) {
  bool small = (static_cast<uint64_t>(hint.pages) << table_.shift) < kScatteredBytes;
  uint64_t base = 0, bytes = 0;
  {
    Guard guard(table_.lock);
    FileRegion *r = table_.regions.find(hint.address);
    if (!r) return;
    const bool goes_on = hint.address == r->asked_end;
    r->asked_end = hint.extent(table_.shift).end;
    if (small && goes_on && !r->alone) return; // a stream's
    small |= r->append_streams.grows();
    r->streak = small == r->scattered ? 0 : r->streak + 1;
    const bool was_alone = r->alone; // hints know better
    r->alone = false;
    if (r->streak >= (small ? kShortStreak : kLongStreak)) r->scattered = small;
    else if (!was_alone || r->scattered) return;
    small = r->scattered;
    r->streak = 0;
    base = r->base;
    bytes = r->bytes;
  }
  table_.expect_scattered(base, bytes, small);
}

/// Looks at a piece of the regions, round and round, and corrects the residency map. False if there is none.
bool Adviser::refresh() {
  FileRegion r;
  {
    Guard guard(table_.lock);
    FileRegion *found = table_.regions.at_or_after(refresh_at_);
    if (!found && table_.regions.count()) found = &table_.regions[0];
    if (!found) return false;
    r = *found;
  }
  if (r.opaque) return refresh_at_ = r.end(), true;
  const uint64_t begin = std::max(r.base, refresh_at_ < r.end() ? refresh_at_ : r.base);
  const uint64_t pages = std::min((r.end() - begin) >> table_.shift, kLook);
  uint8_t there[kLook];
  refresh_at_ = begin + (pages << table_.shift);
  if (os::in_core(begin, pages, there)) return true; // it has gone meanwhile
  Guard guard(table_.lock);
  const FileRegion *still = table_.regions.find(begin);
  if (!still || still->end() < begin + (pages << table_.shift)) return true;
  Statistics::Files &files = table_.statistics->files;
  for (uint64_t i = 0; i < pages; ++i) {
    const core::Extent page{begin + (i << table_.shift), begin + ((i + 1) << table_.shift)};
    const bool expected = table_.residency->test(page.begin);
    if (expected == (there[i] != 0)) continue;
    if (expected) table_.residency->clear(page), ++files.reclaimed;
    else if (!r.scattered) table_.residency->set(page), ++files.found; // there, age says more than presence
  }
  return true;
}

} // namespace pagecast
