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
#include "runtime/state/pages.h"

#include <cstdint>

namespace pagecast {

// Clusters of sixteen pages, of which some wait for the others, the oldest first; some are complete by
// now. Pager's thread only.

struct WritebackCluster {
  uint32_t slot;
  Wanted wanted;
};

class WritebackClusters {
public:
  bool any() const { return count_ != 0; }
  bool full() const { return count_ == kMost; }
  /// There must be room.
  void add(const WritebackCluster &cluster) {
    if (count_ == capacity_) widen();
    cluster_[(first_ + count_++) % capacity_] = cluster;
  }
  /// The oldest, which is taken out. There must be one.
  WritebackCluster take() {
    const WritebackCluster oldest = cluster_[first_];
    first_ = (first_ + 1) % capacity_;
    --count_;
    return oldest;
  }

private:
  /// What has come round to the beginning comes behind the rest.
  void widen() {
    for (uint32_t i = 0; i < first_; ++i) cluster_[capacity_ + i] = cluster_[i];
    capacity_ *= 2;
  }

  static constexpr uint32_t kMost = 16384;
  WritebackCluster cluster_[kMost];
  uint32_t capacity_ = 256; ///< so many entries are gone round in, since what is never needed should take no memory
  uint32_t first_ = 0, count_ = 0;
};

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
