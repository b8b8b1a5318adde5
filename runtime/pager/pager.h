// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pager: keeps regions of anonymous memory within the budget, with userfaultfd and io_uring.
//
//   fetch    direct read into staging, then a copy into place (UFFDIO_COPY) that is write-protected, or
//            writable where a hint says that the page will be stored to
//   store    to a protected page: a fault; the page becomes dirty. So the pager knows every dirty page.
//   evict    clean pages are discarded, many in one call; dirty ones are protected, written from where
//            they are, and discarded when the write is done and nobody stored in between
//   release  changes the order of eviction (core/memory/replacement.h)
//
// Measured on Linux 6.18, us per 4 KiB page in 1 MiB batches: copy-in 1.0 and discard 0.26. For a page of a memfd in its place:
// 2.3 to fill it by direct I/O, 0.25 to map, 0.15 to unmap, 0.6 to punch. Private memory also keeps what a program expects of
// it: a region is the mapping that the program would have had anyway.
//
// It is made of parts, each with its own state. A part knows only those above it in the list at the end of the class, and
// is used by those below it. What the pager itself does is to give each of them its turn.
//
// One thread, the engine's, owns all of it; other threads reach it through the engine. That thread must never touch a page of a
// region: it would wait for itself.
#pragma once
#include "runtime/files/advise.h"
#include "runtime/memory/write_back.h"
#include "runtime/memory/discards.h"
#include "runtime/memory/eviction.h"
#include "runtime/memory/margins.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/placement.h"
#include "runtime/memory/releases.h"
#include "runtime/memory/shelf.h"
#include "runtime/pager/append_runs.h"
#include "runtime/pager/arrivals.h"
#include "runtime/pager/fault_service.h"
#include "runtime/pager/still_service.h"
#include "runtime/pager/stream_fetcher.h"
#include "runtime/pager/succession_fetcher.h"
#include "runtime/pager/fetcher.h"
#include "runtime/pager/map_sync.h"
#include "runtime/pager/marks.h"
#include "runtime/pager/region_changes.h"
#include "runtime/state/options.h"
#include "runtime/state/statistics.h"
#include "runtime/store/backing_store.h"

#include <cstdint>

namespace pagecast {

class Pager {
public:
  /// What `files` holds is counted against the budget, too.
  Pager(Statistics &statistics, Advise &files) : memory(statistics), store(statistics), limit(memory, store, margins, files) {}

  // --- start ---
  /// Bytes of a budget that the pager, its threads and the tables of `data_bytes` take: what must be free when paging begins.
  /// `backing`: the list of stores.
  static uint64_t bytes_to_start(const char *backing, uint64_t budget, uint64_t data_bytes);
  /// The tables, which are needed even where no memory is paged. False: there is not enough address space. `budget`: bytes to
  /// begin with.
  bool start_tables(const Options &, uint64_t budget);
  /// Memory can be paged: opens the backing store. 0, or -errno with a sentence in `why`. `data_bytes`: of regions to come.
  int start(uint64_t budget, uint64_t data_bytes, char *why, unsigned capacity);
  /// Memory cannot be paged.
  void start_without() { store.start_without(memory.options->io); }
  /// Whether memory is paged.
  bool started() const { return started_; }
  /// On the thread that is to own it; `event`: what others wake it with. 0 or -errno.
  int open(int event);

  /// Pages can come from that export, too (Engine::attach()). Its number, or -ENOSPC.
  int attach(NbdStore &);

  // --- once in each turn of the loop ---
  /// What the disk has done; of reads, so much that it never waits for new ones while their pages are put into place.
  /// True: some of it was for the program, or it has faulted.
  bool take_completions();
  /// Keeps to the budget, and hands to the disk what was asked for. `busy`: something happened in this turn; `soon`: a due
  /// before which released pages are likely to be wanted. True: there is more to do now.
  bool keep_up(uint64_t now, bool busy, uint64_t soon);
  /// Something is to be tried again soon, though nothing will wake the thread.
  bool retries() const { return faults.waiting() || store.writes_are_refused(); }
  /// A thread of the program waits for a page, or for room.
  bool waited_for() const { return faults.waiting() || placement.waited_for(); }
  /// How long it may sleep while nothing else happens, ns; 0: for ever.
  uint64_t next_look_in_ns() const;

  // --- fork ---
  /// Whether there is memory for what the child takes at once. It is kept free until the fork is over.
  bool room_for_child() { return !started_ || limit.has_room_for_child(os::now_ns()); }
  /// With nothing under way: what the child inherits fits together, and the thread that forks, whose frame `stack` is in, can
  /// go on while nobody serves faults.
  void prepare_fork(uint64_t stack, const uint64_t *needed, unsigned count);
  /// On the thread that forks: before, and after it in the parent. 0 or -errno.
  int before_fork();
  void after_fork();
  /// In the child: takes the regions over. 0 or -errno.
  int recover();
  /// In the child, on the pager's thread, before any other thread can run: stores are seen from then on.
  void protect_inherited() {
    for (unsigned i = 0; i < memory.regions.count() && started_; ++i) placement.protect_inherited(memory.regions[i]);
  }
  /// In the child: unmaps them.
  void abandon();

  /// The invariant that does not hold, or NULL: what is known of each page against the counts, the lists, the requests, and what
  /// the kernel says of it. Between two turns of the loop. Cost: some 50 ns a page of every region.
  const char *broken_invariant();

private:
  void fit_staging(uint64_t now);
  void await_stores();
  void keep_stack(uint64_t stack);
  bool started_ = false;
  int event_ = -1;

public:
  // What is in memory, and what leaves it (runtime/memory).
  PagedMemory memory;
  BackingStore store;
  Margins margins; ///< of pages that are absent
  MemoryLimit limit;
  Placement placement{memory, limit};
  Discards discards{memory, margins};
  Releases releases{memory};
  Shelf shelf{memory, limit, store, placement, discards};
  WriteBack write_back{memory, limit, store, placement, discards, shelf};
  Eviction eviction{memory, limit, store, releases, discards, shelf, write_back};
  Cleaner cleaner{memory, limit, store, releases, write_back};
  // What comes into it.
  Marks marks{memory, placement};
  Arrivals arrivals{memory, limit, store, placement, eviction, marks};
  Fetcher fetcher{memory, limit, store, placement, margins, eviction, marks, shelf};
  AppendRuns runs{memory, limit};
  StreamFetcher streams{memory, limit, placement, marks, fetcher};
  SuccessionFetcher successions{memory, limit, marks, fetcher};
  FaultService faults{memory, limit, placement, marks, runs, fetcher, streams, successions};
  StillService still{memory, limit, store, placement, marks, shelf};
  MapSync maps{memory, store, placement, discards, write_back, marks};
  RegionChanges regions{memory, limit, placement, margins, eviction, marks, shelf, streams, successions};
};

} // namespace pagecast
