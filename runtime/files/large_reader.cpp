// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/large_reader.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint64_t kWideReadAhead = 512u << 10; ///< a device is busy with this much
constexpr uint64_t kQueuedShare = 8; ///< of the memory, the part that blocks in the queue may have
constexpr uint8_t kTries = 4; ///< reads that make no large folio, until the region is left to ordinary requests
} // namespace

void LargeReader::start(uint64_t budget) {
  blocks_.start();
  file_streams_.start(kBlock, budget);
}

void LargeReader::forked() {
  blocks_.start();
  for (core::Extent &e : reading_) e = {};
  taking_.release();
}

void LargeReader::run() {
  for (;;) {
    const uint32_t asked = asked_.load(std::memory_order_acquire);
    for (core::Extent block; take_block(&block);) read_block(block);
    os::futex_wait(reinterpret_cast<const uint32_t *>(&asked_), asked); // not at all if it is another number by now
  }
}

/// The next one in the queue. False: there is none.
bool LargeReader::take_block(core::Extent *block) {
  Guard guard(taking_);
  const Hint *h = blocks_.front();
  if (!h) return false;
  *block = h->extent(table_.shift);
  blocks_.pop();
  return true;
}

void LargeReader::wake() {
  asked_.fetch_add(1, std::memory_order_release);
  os::futex_wake(reinterpret_cast<const uint32_t *>(&asked_));
}

/// The kernel reads so far ahead of a stream that nothing is gained over it.
bool LargeReader::wide(uint64_t read_ahead) { return read_ahead == 0 || read_ahead >= kWideReadAhead; }

bool LargeReader::left_to_kernel(const FileRegion &r, core::Extent e, bool alone) const {
  if (r.scattered || r.alone) return false;
  if (!wide(r.read_ahead)) return alone && !reads(r);
  return alone || (r.read_ahead && file_streams_.goes_on(e) &&
                   file_streams_.alive() * 2 * r.read_ahead <= table_.memory_bytes / core::FileStreams::kShare);
}

bool LargeReader::reads(const FileRegion &r) { return r.large && !r.scattered && !r.alone && !sandboxed(); }

bool LargeReader::is_full(const FileRegion &r, core::Extent e) const {
  const uint64_t queued = blocks_.size() * kBlock;
  return queued && reads(r) && queued + e.size() > std::min(table_.memory_bytes / kQueuedShare, kMostQueued / 2 * kBlock);
}

LargeReader::Split LargeReader::ask(const FileRegion &r, core::Extent e, const Hint &like, bool sliced) {
  const Split nothing{e.end, e.end};
  if (!reads(r) || e.size() > kMostQueued / 4 * kBlock) return nothing;
  // One stream alone will soon be left to the kernel.
  const bool alone = r.stream != 0 && wide(r.read_ahead) && !sliced;
  const core::FileStreams::Widened w = file_streams_.widen(e, alone ? e.end : r.end());
  if (alone) return nothing;
  for (uint64_t at = w.blocks.begin, end; at < w.blocks.end; at = end) {
    end = std::min((at | (kBlock - 1)) + 1, w.blocks.end);
    blocks_.push({at, static_cast<uint32_t>((end - at) >> table_.shift), Hint::kLarge, 0, like.site, like.wanted_by, like.nest});
  }
  return {w.whole, w.end};
}

/// Where some of it is in memory a large folio has no room: the adviser asks for the rest.
void LargeReader::read_block(core::Extent e) {
  const uint64_t pages = e.size() >> table_.shift;
  uint8_t there[kBlock >> 12];
  if (sandboxed() || pages > sizeof there || os::in_core(e.begin, pages, there)) return; // its region has gone
  const bool none = os::alike(there, 0, pages) == pages && !there[0];
  if (const uint64_t twin = none ? enter_twin(e) : 0) {
    // The first page the program itself may be waiting for, which nobody sees: then nothing else would be read.
    os::read_large(twin + e.size() - os::page_size());
    leave_twin(e, twin);
    return;
  }
  queue_.offer(e, Hint::kFetch, 0);
  queue_.wake();
}

/// The block's address in its region's twin, which is made if there is none yet; 0: there cannot be one.
uint64_t LargeReader::enter_twin(core::Extent e) {
  Guard until(table_.unmapping);
  const FileRegion r = table_.look_up(e.begin);
  if (!r.large || e.end > r.end()) return 0;
  const uint64_t twin = r.twin ? r.twin : os::map_again(r.base, r.bytes);
  if (!r.twin) {
    Guard guard(table_.lock);
    FileRegion *now = table_.regions.find(r.base); // regions end under table_.unmapping alone
    now->twin = twin;
    now->large = twin != 0;
  }
  if (twin == 0) return 0;
  const core::Extent block{twin + (e.begin - r.base), twin + (e.end - r.base)};
  *std::find_if(reading_, reading_ + kThreads, [](const core::Extent &free) { return free.empty(); }) = block;
  return block.begin;
}

/// The pages are the page cache's; of the twin, what belongs to no region any more goes.
void LargeReader::leave_twin(core::Extent e, uint64_t twin) {
  Guard until(table_.unmapping);
  *std::find_if(reading_, reading_ + kThreads, [twin](const core::Extent &read) { return read.begin == twin; }) = {};
  const uint64_t pages = e.size() >> table_.shift;
  uint8_t mapped[kBlock >> 12];
  const bool large = os::in_page_table(twin, pages, mapped) == 0 && mapped[0] && os::alike(mapped, 0, pages) == pages;
  if (large) ++table_.statistics->files.large_reads;
  for (uint64_t at = e.begin; at < e.end;) at = leave_part(at, e.end, twin + (at - e.begin), e.size() == kBlock, large);
}

/// The same of the part from `at` on, at `twin`, that lies in one region or in none: returns its end, `end` at most. `whole`: of
/// a block, of which `large` says whether it came as a large folio.
uint64_t LargeReader::leave_part(uint64_t at, uint64_t end, uint64_t twin, bool whole, bool large) {
  const FileRegion r = table_.at_or_after(at);
  const bool alive = r.bytes && r.base <= at && r.twin && r.twin + (at - r.base) == twin;
  const uint64_t to = !r.bytes ? end : std::min(end, r.base > at ? r.base : r.end());
  if (!alive) {
    os::unmap(reinterpret_cast<void *>(twin), to - at);
    return to;
  }
  const iovec range{reinterpret_cast<void *>(twin), to - at};
  os::take_out(&range, 1);
  Guard guard(table_.lock);
  FileRegion *now = table_.regions.find(at);
  if (whole) now->no_large = large ? 0 : static_cast<uint8_t>(now->no_large + 1);
  now->large = now->no_large < kTries;
  return to;
}

void LargeReader::drop_twins(uint64_t begin, uint64_t end) {
  for (FileRegion r = table_.at_or_after(begin); r.bytes && r.base < end; r = table_.at_or_after(r.end())) {
    if (!r.twin) continue;
    uint64_t from = r.twin + (std::max(begin, r.base) - r.base);
    const uint64_t to = r.twin + (std::min(end, r.end()) - r.base);
    while (from < to) {
      core::Extent next{to, to}; // the first one that is being read
      for (const core::Extent &e : reading_)
        if (e.end > from && e.begin < next.begin) next = {std::max(e.begin, from), std::min(e.end, to)};
      if (next.begin > from) os::unmap(reinterpret_cast<void *>(from), next.begin - from);
      from = next.end;
    }
  }
}

} // namespace pagecast
