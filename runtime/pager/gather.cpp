// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Released dirty pages are gathered into clusters of sixteen before they are written. A walk along columns releases one page in each
// of many clusters, and their neighbours a step later: written at once they would cost a request each. So a dirty page
// joins the order of eviction only when its cluster is complete and all dirty pages of it have been released, when the
// nest is over, or when no other released page is left to be given up.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint32_t kClusterPages = 16; ///< 64 KiB: there random writes reach a disk's bandwidth
static_assert(kGrainPages % kClusterPages == 0);
} // namespace

/// The pages of the cluster that belong to the region.
Run Pager::cluster_of(const Region &r, uint32_t slot) const {
  const uint32_t end = r.first_slot + static_cast<uint32_t>(r.bytes >> shift_);
  const uint32_t begin = std::max(slot & ~(kClusterPages - 1), r.first_slot);
  return {begin, std::min((slot | (kClusterPages - 1)) + 1, end) - begin};
}

/// All of the cluster is in memory, and no page but the released ones is dirty. Where pages are missing, the walk may
/// be about to come to them.
bool Pager::all_done(Run cluster) const {
  for (uint32_t s = cluster.slot; s < cluster.slot + cluster.pages; ++s)
    if (!resident(pages_[s].state) || (pages_[s].state == PageState::kDirty && !(pages_[s].flags & kDone))) return false;
  return true;
}

void Pager::release_done(Run cluster, Wanted wanted) {
  for (uint32_t s = cluster.slot; s < cluster.slot + cluster.pages; ++s) {
    if (!(pages_[s].flags & kDone)) continue;
    pages_[s].flags &= static_cast<uint8_t>(~kDone);
    put_off(s, wanted, pages_[s].state == PageState::kDirty);
  }
}

/// The program has finished with the slots [first, last) of one region. Cost: a few ns a page.
void Pager::gather(uint32_t first, uint32_t last, Wanted wanted) {
  const Region *r = region_of(first);
  if (!r) return;
  for (uint32_t at = first; at < last;) {
    const Run cluster = cluster_of(*r, at);
    const uint32_t end = std::min(last, cluster.slot + cluster.pages);
    bool waits = false, any = false;
    for (uint32_t s = cluster.slot; s < cluster.slot + cluster.pages; ++s) waits |= (pages_[s].flags & kDone) != 0;
    for (uint32_t s = at; s < end; ++s) {
      if (pages_[s].state != PageState::kDirty) continue;
      pages_[s].flags |= kDone;
      any = true;
    }
    at = end;
    if (!any) continue;
    if (all_done(cluster)) {
      release_done(cluster, wanted);
    } else if (!waits) {
      if (writeback_clusters_.full()) release_oldest_cluster();
      writeback_clusters_.add({cluster.slot, wanted});
    }
  }
}

/// A nest of some size is over: what its walk has not come to it never will, unless others like it walk beside it.
/// Left to wait, such clusters would outstay pages that are wanted sooner.
void Pager::release_clusters() {
  for (OpenNest &nest : OpenNests())
    if (nest.runs() && nest.foreseen) return;
  while (release_oldest_cluster()) {}
}

/// False: no cluster waits.
bool Pager::release_oldest_cluster() {
  if (!writeback_clusters_.any()) return false;
  const WritebackCluster oldest = writeback_clusters_.take();
  if (const Region *r = region_of(oldest.slot)) release_done(cluster_of(*r, oldest.slot), oldest.wanted);
  return true;
}

} // namespace pagecast
