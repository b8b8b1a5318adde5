// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions that come, go, and become zero, as the program maps memory, unmaps it and gives it up.
//
// Pager's thread.
#pragma once
#include "runtime/memory/eviction.h"
#include "runtime/memory/margins.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/placement.h"
#include "runtime/pager/stream_fetcher.h"
#include "runtime/pager/succession_fetcher.h"
#include "runtime/memory/shelf.h"
#include "runtime/pager/marks.h"

#include <cstdint>

namespace pagecast {

class RegionChanges {
public:
  RegionChanges(PagedMemory &memory, MemoryLimit &limit, Placement &placement, Margins &margins, Eviction &eviction, Marks &marks,
                Shelf &shelf, StreamFetcher &streams, SuccessionFetcher &successions)
      : memory_(memory), limit_(limit), placement_(placement), margins_(margins), eviction_(eviction), marks_(marks),
        shelf_(shelf), streams_(streams), successions_(successions) {}
  /// As far as pages have places in the backing store, bytes.
  void set_most(uint64_t bytes) { most_ = bytes; }
  /// Makes anonymous private [address, address+bytes) a region. 0 or -errno (then it stays as it was); -EFBIG: there are no places
  /// for it, and there will be none. Of an export that is mapped, its pages are there, and must not have been touched.
  int add(uint64_t address, uint64_t bytes, const Origin & = {});
  /// Stops new I/O on the regions that overlap the range; true when none is under way.
  bool quiet(uint64_t begin, uint64_t end);
  /// I/O on regions may go on.
  void end_quiet();
  /// Drops the contents of the range, which is quiet. `keep_region`: it stays a region, of zero pages.
  void forget(uint64_t begin, uint64_t end, bool keep_region);

private:
  int too_far();
  bool insert(const PagedRegion &);
  int adopt(const PagedRegion &);
  void adopt_absent(const PagedRegion &);
  int adopt_populated(const PagedRegion &);
  void protect_forked(uint32_t slot, uint32_t pages);
  void forget_part(PagedRegion &, uint64_t from, uint64_t to, bool keep_region);
  void forget_page(uint32_t slot, bool keep_region);

  PagedMemory &memory_;
  MemoryLimit &limit_;
  Placement &placement_;
  Margins &margins_;
  Eviction &eviction_;
  Marks &marks_;
  Shelf &shelf_;
  StreamFetcher &streams_;
  SuccessionFetcher &successions_;
  uint64_t most_ = ~uint64_t{0};
  bool too_far_said_ = false;
};

} // namespace pagecast
