// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/advise.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/state/open_nests.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"

#include <algorithm>

namespace pagecast {
namespace {

constexpr uint64_t kLeastLog = 1u << 12, kMostLog = 1u << 20; ///< hints
constexpr uint64_t kAheadShare = 8;           ///< of the memory, the part that slices' hints may be ahead
constexpr uint64_t kRoomShare = 8;            ///< of the memory: while so much has room, what is released stays
constexpr uint64_t kLeastAhead = 64, kMostAhead = 2048; ///< pages of slices' hints: some queues of the device
constexpr uint64_t kLookAhead = 32;           ///< hints by which the program is seen to have moved on
constexpr uint32_t kStream = 8;               ///< requests in a row, until they are a stream
constexpr uint64_t kLook = 2048;              ///< pages of a new region of which the kernel is asked at a time
constexpr uint64_t kSeenAtStart = 16ull << 30;///< bytes of a new region that are looked at

bool passed(const core::Hinted &h) {
  const OpenNest &nest = nest_table[h.nest % kMostOpenNests];
  if (nest.state.load(std::memory_order_relaxed) != OpenNest::kOpen || static_cast<uint8_t>(nest.turn) != h.turn) return true;
  return static_cast<int32_t>(static_cast<uint32_t>(nest.step()) - h.wanted_by) > 0;
}

constexpr unsigned kRow = 3;         ///< pages asked for, after which the next one is a stream's
constexpr unsigned kAlong = 16;      ///< pages that are read for it: 64 KiB, from where on the device is at its best

/// One forward stream through the whole region. Steps share a page where they do not end with one. What the kernel has read
/// ahead is not asked for once that is known: a gap costs a stream one request.
bool one_stream(FileRegion &r, core::Extent e) {
  const bool goes_on = e.begin <= r.stream_end && e.begin + os::page_size() >= r.stream_end && e.end > r.stream_end;
  r.stream = goes_on ? r.stream + 1 : r.stream >= kStream && e.begin > r.stream_end ? kStream - 1 : 0;
  r.stream_end = e.end;
  return r.stream >= kStream;
}

/// Whether much of the file stays in memory. Where a stream goes through far more, memory that is given up at once is not what the
/// kernel takes next. And virtual machines must get memory that was not in use of late from their host again, which is dear.
bool enough_stays(const FileRegion &r, uint64_t bytes) { return r.stream < kStream || 2 * r.bytes <= 5 * bytes; }

} // namespace

int Advise::start(const Options &options, core::ResidencyMap &map, PageTable &slots, Statistics &statistics, uint64_t budget) {
  pages_ = &slots;
  if (!table_.start(options, map, statistics, budget)) return -ENOMEM;
  const uint64_t pages = budget >> table_.shift;
  uint64_t capacity = kLeastLog;
  while (capacity < pages && capacity < kMostLog) capacity *= 2;
  auto *entries = static_cast<core::Hinted *>(os::reserve(capacity * sizeof(core::Hinted)));
  if (!entries || !adviser_.start()) return -ENOMEM;
  if (const int error = queue_.start()) return error;
  log_.attach(entries, capacity, table_.shift, pages / 2, pages);
  large_.start(budget);
  return 0;
}

/// Hints on their way and the threads are not here. Who held the lock only read: regions come and go under the allocations'
/// lock, which whoever forks holds.
int Advise::recover() {
  table_.forked();
  large_.forked();
  adviser_.forked();
  read_files_.forget();
  close_own(queue_.event()); // the parent's
  if (const int error = queue_.start()) return error;
  return memory_.active() ? memory_.take_over(table_.regions) : 0;
}

// --- regions ---------------------------------------------------------------------------------------

bool Advise::insert(const FileRegion &region) {
  if (!table_.insert(region)) return false;
  queue_.wake(); // to watch it
  return true;
}

bool Advise::add(uint64_t address, uint64_t bytes, const FileMapping &mapping) {
  FileRegion region;
  region.base = address;
  region.bytes = bytes;
  region.kind = Region::kFile;
  region.request_bytes = mapping.request_bytes;
  region.may_give_up = mapping.may_give_up;
  region.opaque = mapping.opaque;
  region.shared = mapping.shared;
  region.read_ahead = mapping.read_ahead;
  region.large = mapping.shared && !mapping.opaque && mapping.origin % LargeReader::kBlock == 0;
  if (!insert(region)) return false;
  Statistics::Files &files = table_.statistics->files;
  ++files.regions;
  files.region_bytes += bytes;
  table_.bytes += bytes;
  if (region.opaque) return true;
  uint8_t there[kLook];
  uint64_t found = 0;
  for (uint64_t at = address, end = address + std::min(bytes, kSeenAtStart); at < end; at += kLook << table_.shift) {
    const uint64_t pages = std::min(end - at, kLook << table_.shift) >> table_.shift;
    if (os::in_core(at, pages, there)) break;
    for (uint64_t i = 0, n; i < pages; i += n) {
      n = os::alike(there, i, pages);
      if (!there[i]) continue;
      table_.residency->set({at + (i << table_.shift), at + ((i + n) << table_.shift)});
      found += n;
    }
  }
  files.resident_at_start += found;
  return true;
}

void Advise::remove(uint64_t begin, uint64_t end) {
  Guard until(table_.unmapping);
  large_.drop_twins(begin, end);
  table_.cut(begin, end);
}

// --- the pager's thread -------------------------------------------------------------------------------

bool Advise::new_round() {
  const bool was = waiting_;
  waiting_ = false;
  return was;
}

bool Advise::fetch(core::Extent e, const Asked &asked) {
  const uint64_t pages = e.size() >> table_.shift, entries = (pages + AdviceQueue::kMostPages - 1) / AdviceQueue::kMostPages;
  const uint64_t most_ahead = std::clamp<uint64_t>(log_.kept() / kAheadShare, kLeastAhead, kMostAhead);
  if (asked.bounded && log_.ahead_pages() + pages > most_ahead) catch_up();
  const bool far = asked.bounded && log_.ahead_pages() != 0 && log_.ahead_pages() + pages > most_ahead;
  if (far || !queue_.has_room(entries)) return refuse();
  bool blocks = false;
  {
    Guard guard(table_.lock);
    FileRegion *r = table_.regions.find(e.begin);
    if (!r) return true;
    e.end = std::min(e.end, r->end());
    if (!asked.bounded && large_.is_full(*r, e)) return refuse();
    r->hinted = true;
    if (asked.bounded && e.size() == os::page_size()) e = asked.write ? grow(*r, e) : along(*r, e);
    if (asked.bounded) note(e, asked, true);
    else blocks = fetch_in_order(*r, e, asked);
  }
  table_.statistics->files.kept = log_.kept();
  uint8_t there = 0;
  if (uint64_t old; log_.sample(&old) && !table_.look_up(old).opaque && os::in_core(old, 1, &there) == 0) log_.sampled(there);
  queue_.wake();
  if (blocks) large_.wake();
  return true;
}

/// A request of a nest, or by hand: what of it is a stream's goes to who reads streams best. Under the lock. True: a part of it
/// is read in large blocks.
bool Advise::fetch_in_order(FileRegion &r, core::Extent e, const Asked &asked) {
  const bool sliced = nest_table[asked.nest % kMostOpenNests].sliced, alone = one_stream(r, e);
  if (!sliced && large_.left_to_kernel(r, e, alone)) {
    large_.pass(e);
    ++table_.statistics->files.streamed;
    return false;
  }
  const LargeReader::Split split = large_.ask(r, e, {0, 0, Hint::kLarge, 0, asked.site, asked.wanted_by, asked.nest}, sliced);
  note({split.whole, split.end}, asked, false);
  note({e.begin, std::min(e.end, split.whole)}, asked, true);
  return split.whole < e.end;
}

/// To be asked again.
bool Advise::refuse() {
  waiting_ = true;
  ++table_.statistics->files.refused;
  return false;
}

/// From here on it counts as asked for; `ask`: of the adviser. Under the lock.
void Advise::note(core::Extent e, const Asked &asked, bool ask) {
  const auto turn = static_cast<uint8_t>(nest_table[asked.nest % kMostOpenNests].turn);
  for (uint64_t at = e.begin; at < e.end; at += static_cast<uint64_t>(AdviceQueue::kMostPages) << table_.shift) {
    const auto n = static_cast<uint32_t>(std::min<uint64_t>((e.end - at) >> table_.shift, AdviceQueue::kMostPages));
    log_.add({at, n, asked.wanted_by, asked.nest, turn, asked.bounded}, *table_.residency);
    if (ask) queue_.push({at, n, Hint::kFetch, 0, asked.site, asked.wanted_by, asked.nest});
  }
  table_.statistics->files.hinted += e.size() >> table_.shift;
  table_.statistics->site[asked.site].prefetched += e.size() >> table_.shift;
}

/// All the `pages` right before the address are there, or asked for.
bool Advise::follows(const FileRegion &r, uint64_t address, unsigned pages) const {
  const uint64_t page = os::page_size();
  if (address - r.base < pages * page) return false;
  for (unsigned i = 1; i <= pages; ++i)
    if (!table_.residency->test(address - i * page)) return false;
  return true;
}

/// `e`, and what follows it and is absent: `bytes` in all at most.
core::Extent Advise::with_absent(const FileRegion &r, core::Extent e, uint64_t bytes) const {
  const uint64_t page = os::page_size(), most = std::min(r.end(), e.begin + bytes);
  while (e.end < most && !table_.residency->test(e.end)) e.end += page;
  return e;
}

/// The page that follows on some that were asked for belongs to one stream of many. A slice cannot see ahead of them,
/// where each access moves the place of the next: so more of the stream is read at once.
core::Extent Advise::along(const FileRegion &r, core::Extent e) const {
  return follows(r, e.begin, kRow) ? with_absent(r, e, kAlong * os::page_size()) : e;
}

/// The same for pages that will be stored to: core/faults/append_streams.h. There the page is some pages ahead of the program, and what is
/// read goes on where that which is there ends. The program's own misses are the kernel's, and slices that find the pages of all
/// places in memory see next to nothing of them: so each place has a page ahead of it until it is known what they do.
core::Extent Advise::grow(FileRegion &r, core::Extent e) {
  const uint64_t page = os::page_size();
  const auto memory = static_cast<uint32_t>(log_.kept());
  const bool grew = r.append_streams.grows();
  const uint64_t run = r.append_streams.run(memory) * page;
  uint64_t begin = e.begin;
  while (grew && begin > r.base && e.end - begin < run && !table_.residency->test(begin - page)) begin -= page;
  const bool goes_on = follows(r, begin, 1);
  r.append_streams.fault(goes_on);
  if (!goes_on) r.append_streams.began();
  const bool in_doubt = r.append_streams.in_doubt(memory);
  __atomic_store_n(&r.look_ahead, (in_doubt ? 1 : r.append_streams.ahead(memory)) << table_.shift, __ATOMIC_RELAXED);
  if (!grew) return in_doubt && !goes_on ? with_absent(r, e, 2 * page) : along(r, e);
  if (!goes_on) return e;
  pass_behind(r, begin, run);
  return with_absent(r, {begin, e.end}, run);
}

/// What lies behind a place has been stored to.
void Advise::pass_behind(const FileRegion &r, uint64_t begin, uint64_t run) {
  const uint64_t end = begin - std::min(begin - r.base, r.look_ahead + kRow * os::page_size()),
                 length = std::min(end - r.base, run);
  if (length == 0 || !r.shared) return;
  table_.residency->clear({end - length, end});
  queue_.offer({end - length, end}, Hint::kPassed, 0);
}

/// Finds out how far the program has come: by its steps, and within a step by its page table, where a page that is
/// mapped was touched. Neighbours are mapped with a page, hence the second look. Cost: 1 us per kLookAhead hints.
void Advise::catch_up() {
  for (;;) {
    if (log_.ahead_hints() && passed(log_.ahead(0))) {
      log_.pass(1);
    } else if (log_.ahead_hints() > kLookAhead && os::touched(log_.ahead(kLookAhead - 1).address) &&
               os::touched(log_.ahead(kLookAhead - 2).address)) {
      log_.pass(kLookAhead);
    } else {
      return;
    }
  }
}

void Advise::release(core::Extent e, unsigned priority, uint16_t site) {
  if (table_.options->release == ReleasePolicy::kNone) return;
  // Buffered: while there is room, pages that are in memory stay, and so do their bits.
  if (table_.options->release == ReleasePolicy::kBuffered && log_.held_pages() <= log_.kept() - log_.kept() / kRoomShare) return;
  Guard guard(table_.lock);
  const FileRegion *r = table_.regions.find(e.begin);
  if (!r) return;
  e.end = std::min(e.end, r->end());
  table_.residency->clear(e);
  table_.statistics->site[site].released += e.size() >> table_.shift;
  table_.statistics->files.released += e.size() >> table_.shift;
  const bool kept = priority == 0 && table_.options->release == ReleasePolicy::kBuffered; // until reclaim comes
  if (kept ? r->shared : r->may_give_up && enough_stays(*r, table_.memory_bytes))
    queue_.offer(e, kept ? Hint::kPassed : Hint::kRelease, site);
}

} // namespace pagecast
