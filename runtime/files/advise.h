// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advise back end: pages of files that the program maps itself. The kernel owns them, other processes may use them;
// all that is done here is advice.
//
//   fetch    MADV_WILLNEED from a thread of its own, many ranges in a call. It fills the page cache; the program maps
//            the page by a minor fault (0.5-1 us, sixteen neighbours at a time)
//   release  MADV_PAGEOUT, once memory is about to be needed, of pages that only this process maps and that have a turn
//            again: the part of a sweep that reclaim has not reached stays. What is never used again is what reclaim
//            takes first anyway. Nor is it done in streams (below) of more than two and a half times the memory: three sweeps
//            over four times the memory read 5 % less by it, for two to four times the user time
//   passed   pages of shared mappings that are not wanted again are taken out of the page table: reclaim, which happens in
//            whoever asks for memory, then drops clean ones at once, and dirty ones are written 50 at a time. Measured: a
//            sort into 1,024 buckets in four times its memory 4.2 s, with them 3.4 s
//   appends  stores in order at many places (core/faults/append_streams.h): the kernel reads a page before it is stored over. Slices look
//            some pages ahead of the stores, runs of pages are read, and what lies behind is passed
//   stream   one forward stream through a region is left to the kernel's read-ahead, whose folios are larger than those of
//            MADV_WILLNEED: 2 GiB in 1.4-1.9 s, with hints in 2.3-2.7 s; so are several, where the device reads far ahead
//   large    other forward streams of shared mappings are read in blocks of 2 MiB: large_reader.h, with measurements
//   miss     where hints are scattered, MADV_RANDOM keeps a miss from reading 8 MiB around it: measured on Linux
//            6.18, one such read costs as much as 600 pages, and pushes out 2,000 that were asked for
//   unseen   where no hint ever comes, what is read around misses and never touched tells the same: read_around_watch.h
//
// What the residency map says of these pages is an estimate: set by hints, cleared when the log (core/files/hint_log.h) holds
// them for old and where mincore() says that they have gone. So a hint for a page that is in memory ends at its bit.
//
// Memory that lives in a file of ours (memory_file.h) is served in the same way: advise_memory.cpp.
//
// Threads: allocations.cpp adds and removes regions from the program's threads; the pager's thread fetches and releases,
// and never waits; the adviser's thread makes the calls, but for those of the two that read blocks.
#pragma once
#include "core/files/hint_log.h"
#include "core/residency.h"
#include "runtime/files/advice_queue.h"
#include "runtime/files/adviser.h"
#include "runtime/files/file_table.h"
#include "runtime/files/large_reader.h"
#include "runtime/files/memory_file.h"
#include "runtime/files/read_files.h"
#include "runtime/state/options.h"
#include "runtime/state/pages.h"
#include "runtime/state/regions.h"
#include "runtime/state/statistics.h"

#include <atomic>

namespace pagecast {

class Advise {
public:
  /// 0, or -ENOMEM (not enough address space), or another -errno.
  int start(const Options &, core::ResidencyMap &, PageTable &, Statistics &, uint64_t budget);
  /// The adviser's thread's body; never returns.
  void run() { adviser_.run(); }
  /// Those of the threads that read blocks of streams in large folios; never return.
  static constexpr unsigned kReaders = LargeReader::kThreads;
  void run_large() { large_.run(); }
  /// That of the thread that follows the files which the program reads.
  void run_reads() { read_files_.run(table_.statistics->files.read_behind); }
  /// In the child of a fork: the regions stay, and run() begins on a thread of the child's. 0 or -errno.
  int recover();

  // --- any thread ---
  bool any() const { return table_.any(); }
  /// Makes the mapping a region, after a look at what of it is in memory already (20-60 ns a page).
  bool add(uint64_t address, uint64_t bytes, const FileMapping &);
  void remove(uint64_t begin, uint64_t end);
  /// bytes = 0 if the address is in none.
  FileRegion look_up(uint64_t address) { return table_.look_up(address); }
  /// The first one that ends above the address; bytes = 0 if none does. Any thread.
  FileRegion at_or_after(uint64_t address) { return table_.at_or_after(address); }
  uint64_t bytes() const { return table_.bytes.load(std::memory_order_relaxed); }

  // --- memory in a file; under the allocations' lock (advise_memory.cpp) ---
  /// From now on blocks of memory may become regions. 0, or -errno with a sentence in `why`.
  int start_memory(uint64_t need, char *why, unsigned capacity);
  bool has_memory() const { return memory_.active(); }
  /// Makes a block of private memory a region: MemoryFile::take(). False: it stays as it is.
  bool add_memory(uint64_t address, uint64_t bytes, bool fresh);
  /// Ends it, before the range is unmapped: its contents are gone.
  void remove_memory(uint64_t begin, uint64_t end);
  /// Makes it zero.
  void clear_memory(uint64_t begin, uint64_t end);
  /// Before fork, with `stack` an address in the caller's frame; after it, in the parent and in a child that cannot
  /// have the regions. 0 or -errno: no child can have them.
  int copy_memory(uint64_t stack);
  void memory_copied() {
    if (memory_.active()) memory_.copied(table_.regions);
  }
  void abandon_memory() {
    if (memory_.active()) memory_.abandon(table_.regions);
  }

  // --- the pager's thread ---
  struct Asked {
    uint16_t site = 0;
    uint8_t nest = 0;
    uint32_t wanted_by = 0;
    bool bounded = false; ///< a slice's: not to run too far ahead of the program
    bool write = false; ///< they will be stored to
  };
  /// Asks for [begin, end), which begins in a region. False: not now.
  bool fetch(core::Extent, const Asked &);
  void release(core::Extent, unsigned priority, uint16_t site);
  /// Something was refused since the last new_round(): to be asked again soon, though nothing will wake the pager.
  bool waiting() const { return waiting_; }
  bool new_round();
  static constexpr uint64_t kRetryNs = 50000;
  /// Files that the program reads are to be followed for a while (read_files.h).
  void mind_reads(uint64_t now_ns) { read_files_.mind(now_ns); }

private:
  bool insert(const FileRegion &);
  bool refuse();
  bool fetch_in_order(FileRegion &, core::Extent, const Asked &);
  void note(core::Extent, const Asked &, bool ask);
  void keep_stack(uint64_t stack);
  core::Extent with_absent(const FileRegion &, core::Extent, uint64_t bytes) const;
  core::Extent along(const FileRegion &, core::Extent) const;
  bool follows(const FileRegion &, uint64_t address, unsigned pages) const;
  core::Extent grow(FileRegion &, core::Extent);
  void pass_behind(const FileRegion &, uint64_t begin, uint64_t run);
  void catch_up();

  PageTable *pages_ = nullptr; ///< hands out slots of memory_
  FileTable table_;
  AdviceQueue queue_; ///< from the pager's thread to the adviser's
  LargeReader large_{table_, queue_};
  Adviser adviser_{table_, queue_};
  MemoryFile memory_;
  ReadFiles read_files_;

  // Pager's thread.
  core::HintLog log_;
  bool waiting_ = false;
};

} // namespace pagecast
