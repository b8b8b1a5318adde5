// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of forward streams (core/files/file_streams.h), read in large folios. MADV_WILLNEED makes folios of a page each, a microsecond
// and more of the processor's for every one, and the disk must fill each separately; a miss in a mapping with
// MADV_HUGEPAGE makes one of 2 MiB. The program's own mapping is left as it is: misses there would read as much. So there is
// a twin of it, which only these threads touch, and the pages leave its page table at once.
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
//
// Threads: the pager's asks, two of its own read, and whoever ends a region drops its twin.
#pragma once
#include "core/files/file_streams.h"
#include "core/types.h"
#include "runtime/files/advice_queue.h"
#include "runtime/files/file_table.h"
#include "runtime/kernel/lock.h"
#include "runtime/state/hint_ring.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class LargeReader {
public:
  static constexpr unsigned kThreads = 2;
  static constexpr uint64_t kBlock = 2u << 20; ///< bytes of a block: a large page

  LargeReader(FileTable &table, AdviceQueue &adviser) : table_(table), queue_(adviser) {}
  /// `budget`: bytes.
  void start(uint64_t budget);
  /// The body of each of the threads; never returns.
  void run();
  /// In the child of a fork, which has no twins.
  void forked();

  // --- the pager's thread, under the table's lock ---
  /// Whether streams through the region are read in blocks.
  static bool reads(const FileRegion &);
  /// Whether the request, which belongs to a stream, is better left to the kernel's read-ahead. `alone`: no other stream goes
  /// through the region. Where several take turns, the kernel's read-ahead goes on from the pages that it marked.
  bool left_to_kernel(const FileRegion &, core::Extent, bool alone) const;
  /// It was: the stream goes on.
  void pass(core::Extent e) { file_streams_.pass(e); }
  /// As many blocks as may be are in the queue: the request has to wait.
  bool is_full(const FileRegion &, core::Extent) const;
  /// What follows of a request, of a stream of such a region. What lies in [`whole`, `end`) is asked for here; the adviser is to
  /// ask for the rest of the request.
  struct Split {
    uint64_t whole, end;
  };
  /// `like`: who asks. wake() must follow.
  Split ask(const FileRegion &, core::Extent, const Hint &like, bool sliced);
  void wake();

  /// Before regions end; the table's `unmapping` is held.
  void drop_twins(uint64_t begin, uint64_t end);

private:
  static bool wide(uint64_t read_ahead);
  bool take_block(core::Extent *);
  void read_block(core::Extent);
  uint64_t enter_twin(core::Extent);
  void leave_twin(core::Extent, uint64_t twin);
  uint64_t leave_part(uint64_t at, uint64_t end, uint64_t twin, bool whole, bool large);

  static constexpr uint32_t kMostQueued = 64;
  FileTable &table_;
  AdviceQueue &queue_; ///< the adviser's
  core::FileStreams file_streams_; ///< pager's thread
  HintRing<kMostQueued> blocks_;
  std::atomic<uint32_t> asked_{0};
  core::Extent reading_[kThreads] = {}; ///< of twins, what is being read; under the table's `unmapping`
  Lock taking_; ///< of the front of blocks_
};

} // namespace pagecast
