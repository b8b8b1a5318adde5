// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of forward streams (core/files/file_streams.h), read in large folios. MADV_WILLNEED makes folios of a page each, a microsecond
// and more of the processor's for every one, and the disk must fill each separately; a miss in a mapping with
// MADV_HUGEPAGE makes one of 2 MiB. The program's own mapping is left as it is: misses there would read as much. So there is
// a twin of it, which only the thread of this file touches, and the pages leave its page table at once.
//
//   program's mapping   |.......|=======|=======|       mapped in one step when the program comes there
//   twin                        ^ a page is touched: the kernel reads the whole block
//
// Measured on Linux 6.18, ext4, a virtual disk of 3.3 GB/s, 1.5 GiB in 256 MiB, seconds; by the read-ahead that the device is
// set to, of which 128 KiB is what Linux begins with:
//
//                       kernel's read-ahead    MADV_WILLNEED    large folios
//     128 KiB, 1 stream      0.97-1.00           1.13-1.19        0.49-0.85
//              3 streams     1.53-1.56           1.00-1.06        0.60-0.79
//              6 streams     1.46-1.59           1.11-1.13        0.69-0.90
//     512 KiB, 1 stream      0.63-0.70           1.14-1.81        0.70-0.88
//       1 MiB, 3 streams     0.53-0.55           1.08-1.10
//              6 streams     0.53-0.55           1.08-1.14
//       8 MiB, 3 streams     0.59-1.03           0.68-0.99        0.58-1.03
//
// So where the kernel reads far ahead, streams are left to it, as many as there is memory for.
//
// Two threads read, so that a block is on its way already when the one before it has come: the program, which may wait for
// that, would miss the next one before anybody has asked for it, and a large folio has no room where a page is.
//
// That the twin is not unmapped under a read is seen to by whoever ends a region: what is being read stays, and goes when
// it has been. No lock is held meanwhile, since a disk may stall.
#include "runtime/files/advise.h"

#include "runtime/state/open_nests.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint64_t kWideWindow = 512u << 10; ///< a device is busy with this much
constexpr uint64_t kQueuedShare = 8; ///< of the memory, the part that blocks in the queue may have
constexpr uint8_t kTries = 4; ///< reads that make no large folio, until the region is left to ordinary requests
} // namespace

void Advise::run_large() {
  for (;;) {
    const uint32_t asked = large_asked_.load(std::memory_order_acquire);
    for (core::Extent block; take_block(&block);) read_block(block);
    os::futex_wait(reinterpret_cast<const uint32_t *>(&large_asked_), asked); // not at all if it is another number by now
  }
}

/// The next one in the queue. False: there is none.
bool Advise::take_block(core::Extent *block) {
  Guard guard(taking_);
  const Hint *h = large_queue_.front();
  if (!h) return false;
  *block = h->extent(shift_);
  large_queue_.pop();
  return true;
}

void Advise::wake_large() {
  large_asked_.fetch_add(1, std::memory_order_release);
  os::futex_wake(reinterpret_cast<const uint32_t *>(&large_asked_));
}

/// The kernel reads so far ahead of a stream that nothing is gained over it.
bool Advise::wide(uint64_t window) { return window == 0 || window >= kWideWindow; }

/// Where several streams take turns in one region, the kernel's read-ahead goes on from the pages that it marked.
bool Advise::left_to_kernel(const FileRegion &r, core::Extent e, bool alone) const {
  if (r.scattered || r.alone) return false;
  if (!wide(r.window)) return alone && !reads_large(r);
  return alone || (r.window && file_streams_.goes_on(e) &&
                   file_streams_.alive() * 2 * r.window <= memory_bytes_ / core::FileStreams::kShare);
}

bool Advise::reads_large(const FileRegion &r) const { return r.large && !r.scattered && !r.alone && !sandboxed(); }

/// As many blocks as may be are in the queue: the request has to wait.
bool Advise::large_full(const FileRegion &r, core::Extent e) const {
  const uint64_t queued = large_queue_.size() * kLarge;
  return queued && reads_large(r) && queued + e.size() > std::min(memory_bytes_ / kQueuedShare, kLargeQueue / 2 * kLarge);
}

/// For streams of such a region, under the lock: whole blocks go to the large reader. Returns what is left for the adviser.
core::Extent Advise::ask_large(core::Extent e, const Asked &asked) {
  const FileRegion *r = regions_.find(e.begin);
  if (asked.bounded || !reads_large(*r) || e.size() > kLargeQueue / 4 * kLarge) return e;
  // One stream alone will soon be left to the kernel.
  const bool alone = r->stream != 0 && wide(r->window) && !nest_table[asked.nest % kMostOpenNests].sliced;
  const core::FileStreams::Widened w = file_streams_.widen(e, alone ? e.end : r->end());
  if (alone) return e;
  note({w.whole, w.end}, asked, false);
  for (uint64_t at = w.blocks.begin, end; at < w.blocks.end; at = end) {
    end = std::min((at | (kLarge - 1)) + 1, w.blocks.end);
    large_queue_.push({at, static_cast<uint32_t>((end - at) >> shift_), Hint::kLarge, 0, asked.site, asked.due, asked.nest});
  }
  return {e.begin, std::min(e.end, w.whole)};
}

/// Where some of it is in memory a large folio has no room: the adviser asks for the rest.
void Advise::read_block(core::Extent e) {
  const uint64_t pages = e.size() >> shift_;
  uint8_t there[kLarge >> 12];
  if (sandboxed() || pages > sizeof there || os::in_core(e.begin, pages, there)) return; // its region has gone
  const bool none = os::alike(there, 0, pages) == pages && !there[0];
  if (const uint64_t twin = none ? enter_twin(e) : 0) {
    // The first page the program itself may be waiting for, which nobody sees: then nothing else would be read.
    os::read_large(twin + e.size() - os::page_size());
    leave_twin(e, twin);
    return;
  }
  offer(e, Hint::kFetch, 0);
  wake();
}

/// The block's address in its region's twin, which is made if there is none yet; 0: there cannot be one.
uint64_t Advise::enter_twin(core::Extent e) {
  Guard until(unmapping_);
  const FileRegion r = look_up(e.begin);
  if (!r.large || e.end > r.end()) return 0;
  const uint64_t twin = r.twin ? r.twin : os::map_again(r.base, r.bytes);
  if (!r.twin) {
    Guard guard(lock_);
    FileRegion *now = regions_.find(r.base); // regions end under unmapping_ alone
    now->twin = twin;
    now->large = twin != 0;
  }
  if (twin == 0) return 0;
  const core::Extent block{twin + (e.begin - r.base), twin + (e.end - r.base)};
  *std::find_if(reading_, reading_ + kReaders, [](const core::Extent &free) { return free.empty(); }) = block;
  return block.begin;
}

/// The pages are the page cache's; of the twin, what belongs to no region any more goes.
void Advise::leave_twin(core::Extent e, uint64_t twin) {
  Guard until(unmapping_);
  *std::find_if(reading_, reading_ + kReaders, [twin](const core::Extent &read) { return read.begin == twin; }) = {};
  const uint64_t pages = e.size() >> shift_;
  uint8_t mapped[kLarge >> 12];
  const bool large = os::in_page_table(twin, pages, mapped) == 0 && mapped[0] && os::alike(mapped, 0, pages) == pages;
  if (large) ++statistics_->files.large_reads;
  for (uint64_t at = e.begin, to; at < e.end; at = to) {
    const FileRegion r = at_or_after(at);
    const uint64_t here = twin + (at - e.begin);
    const bool alive = r.bytes && r.base <= at && r.twin && r.twin + (at - r.base) == here;
    to = !r.bytes ? e.end : std::min(e.end, r.base > at ? r.base : r.end());
    if (!alive) {
      os::unmap(reinterpret_cast<void *>(here), to - at);
      continue;
    }
    const iovec range{reinterpret_cast<void *>(here), to - at};
    os::take_out(&range, 1);
    Guard guard(lock_);
    FileRegion *now = regions_.find(at);
    if (e.size() == kLarge) now->no_large = large ? 0 : static_cast<uint8_t>(now->no_large + 1);
    now->large = now->no_large < kTries;
  }
}

/// Before regions end; unmapping_ is held.
void Advise::drop_twins(uint64_t begin, uint64_t end) {
  for (FileRegion r = at_or_after(begin); r.bytes && r.base < end; r = at_or_after(r.end())) {
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
