// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many pages are filled or read at a time where places go on from where they ended (core/faults/append_streams.h): a sort
// into buckets, a merge of many runs. Pages that were never stored to are filled with zeros; those that have contents must be
// read, and streams (stream_fetcher.h) tell only so many places apart.
//
// What it learns from are faults. Of absent pages: does the page before lie in memory, and the page behind it not? Of pages at
// random, a quarter at most look so.
//
// Pager's thread. All in O(pages of a run).
#pragma once
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"

#include <cstdint>

namespace pagecast {

class AppendRuns {
public:
  AppendRuns(PagedMemory &memory, const MemoryLimit &limit) : memory_(memory), limit_(limit) {}

  // --- pages that were never stored to ---
  /// How many pages are filled for a fault on one. Where hints do most of the work, they know better what comes next.
  uint32_t zeros_for_fault(PagedRegion &, uint32_t slot);
  /// The run of them to fill for a hint at `slot`. In a region that grows, it goes on where pages in use end.
  /// Else the run within the block of eight, where the block is in use already: it fills up sooner or later, and one
  /// call for several pages costs little more than for one. Else the page.
  PageRun zeros_for_hint(const PagedRegion &, uint32_t slot) const;
  /// How many pages before the end of a run slices are to ask for the next one; 0: not at all.
  uint32_t zeros_ahead(const PagedRegion &r) const { return r.append_streams.ahead(limit_.pages()); }

  // --- pages that have contents ---
  /// How many pages behind the one that the program faulted on to read, too: where the region's places go on, as many as lie
  /// before it. Where there are more places than memory holds runs of, little lies before.
  uint32_t refill_for_fault(PagedRegion &, uint32_t slot);
  /// The run to read for a slice's hint at `slot`, which a store is coming to: it goes on where pages in memory end.
  PageRun refill_for_hint(PagedRegion &, uint32_t slot);
  /// As zeros_ahead().
  uint32_t refill_ahead(const PagedRegion &) const;

private:
  uint32_t used_before(const PagedRegion &, uint32_t slot, uint32_t most) const;
  uint32_t zeros_from(const PagedRegion &, uint32_t slot, uint32_t most) const;
  uint32_t zeros_begin(uint32_t slot, uint32_t lowest) const;
  uint32_t resident_before(const PagedRegion &, uint32_t slot, uint32_t most) const;
  uint32_t absent_from(const PagedRegion &, uint32_t slot, uint32_t most) const;
  void look_ahead(PagedRegion &);

  PagedMemory &memory_;
  const MemoryLimit &limit_;
};

} // namespace pagecast
