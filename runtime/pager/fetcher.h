// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bringing pages in, for faults and for hints: each run of pages alike is read, filled with zeros, made of margins, shown, or
// kept where it is.
//
// Pager's thread.
#pragma once
#include "core/nest/overwrite.h"
#include "core/types.h"
#include "runtime/memory/eviction.h"
#include "runtime/memory/margins.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/placement.h"
#include "runtime/memory/shelf.h"
#include "runtime/pager/marks.h"
#include "runtime/store/backing_store.h"

#include <cstdint>

namespace pagecast {

class Fetcher {
public:
  Fetcher(PagedMemory &memory, MemoryLimit &limit, BackingStore &store, Placement &placement, const Margins &margins,
          Eviction &eviction, Marks &marks, Shelf &shelf)
      : memory_(memory), limit_(limit), store_(store), placement_(placement), margins_(margins), eviction_(eviction),
        marks_(marks), shelf_(shelf) {}
  /// False if the memory cannot be had.
  bool start();

  struct Asked {
    uint16_t site;
    uint8_t nest;
    uint32_t wanted_by;
    bool write;
    bool demand;
    core::Overwrite::Unread unread{}; ///< absent pages there need not be read
    core::Favour::Owner owner = core::Favour::kNobody; ///< thread for which they come
  };
  /// Sees to the pages of [begin, end). False if some could not be asked for now; `begin` is the first of them then.
  bool fetch(uint64_t &begin, uint64_t end, const Asked &);
  /// Sees to a first part of the run, of pages in the same state. Returns its length; 0: not now.
  uint32_t fetch_run(PagedRegion &, uint32_t slot, uint32_t pages, const Asked &);

  // The same of pages of which the state is known.
  /// Pages that are zero, or whose contents will be overwritten.
  uint32_t zero_fill(PagedRegion &, uint32_t slot, uint32_t pages, const Asked &);
  uint32_t read_in(PagedRegion &, uint32_t slot, uint32_t pages, const Asked &);
  /// Reads a page that the program faulted on with those of the run, which are around it and absent. False: not now.
  bool read_around(PagedRegion &, PageRun, uint32_t slot, const Asked &);
  /// Puts a page back that is about to go. It may be absent then: room was made by letting it go. False: not now.
  bool unshelve(uint32_t slot, bool write, bool demand);
  /// Resident pages that were released, or were next to go: they stay.
  uint32_t want_again(const PagedRegion &, uint32_t slot, uint32_t pages, const Asked &);

  /// Has the page in memory, to be stored to, on return, while no request is under way; if it can be. Cost: as long as the
  /// disk takes.
  void bring_now(uint32_t slot);

private:
  /// Whether the pages are writable from the first: who faults does store, and others only may.
  static bool makes_writable(const PagedRegion &r, const Asked &a) { return a.write && (a.demand || r.may_expect_stores()); }
  uint32_t admit(uint32_t pages, bool demand);
  uint32_t begin_reading(PagedRegion &, uint32_t slot, uint32_t pages, const Asked &, uint8_t flags);
  void make_room(uint32_t pages);
  bool goes_unread(const Asked &, uint32_t slot, uint32_t *pages) const;
  bool has_margins(const Asked &, uint32_t slot, uint32_t *pages) const;
  uint32_t fill_rows(PagedRegion &, uint32_t slot, uint32_t pages, const Asked &);
  uint32_t fill(PagedRegion &, uint32_t slot, uint32_t pages, const char *from, const Asked &);

  static constexpr uint32_t kZeroPages = 64;
  PagedMemory &memory_;
  MemoryLimit &limit_;
  BackingStore &store_;
  Placement &placement_;
  const Margins &margins_;
  Eviction &eviction_;
  Marks &marks_;
  Shelf &shelf_;
  char *zeros_ = nullptr; ///< kZeroPages pages, which take no memory
};

} // namespace pagecast
