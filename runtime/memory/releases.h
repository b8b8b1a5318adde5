// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the program has finished with: released pages take their place in the order of eviction.
//
// Released dirty pages are gathered into clusters of sixteen before they are written. A walk along columns releases one page in
// each of many clusters, and their neighbours a step later: written at once they would cost a request each. So a dirty page
// joins the order of eviction only when its cluster is complete and all dirty pages of it have been released, when the
// nest is over, or when no other released page is left to be given up.
//
// Pager's thread.
#pragma once
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/writeback_clusters.h"

#include <cstdint>

namespace pagecast {

class Releases {
public:
  explicit Releases(PagedMemory &memory) : memory_(memory) {}
  /// The program has finished with [begin, end): its pages go before others, by what is known of their next use. Returns how
  /// many are in memory. Cost: some ns a page.
  uint32_t release(uint64_t begin, uint64_t end, Wanted, uint16_t site);
  /// A slice had pages filled or read at `slot`, where those in use end: the program is `ahead` of it, and has finished what
  /// lies behind. That is released, in whole clusters: what goes next is written at once, and is not what is being stored to.
  void release_behind(PagedRegion &, uint32_t slot, uint32_t ahead);
  /// A nest of some size is over: what its walk has not come to it never will, unless others like it walk beside it.
  /// Left to wait, such clusters would outstay pages that are wanted sooner.
  void release_clusters();
  /// False: no cluster waits.
  bool release_oldest_cluster();

private:
  uint32_t release_pages(uint32_t first, uint32_t last, Wanted, uint16_t site);
  void forgo(uint32_t first, uint32_t last, uint16_t site);
  void put_off(uint32_t slot, Wanted, bool dirty);
  void gather(uint32_t first, uint32_t last, Wanted);
  PageRun cluster_of(const PagedRegion &, uint32_t slot) const;
  bool all_done(PageRun) const;
  void release_done(PageRun, Wanted);

  PagedMemory &memory_;
  WritebackClusters clusters_;
};

} // namespace pagecast
