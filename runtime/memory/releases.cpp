// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/releases.h"

#include "runtime/state/open_nests.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint32_t kClusterPages = 16; ///< 64 KiB: there random writes reach a disk's bandwidth
static_assert(kGrainPages % kClusterPages == 0);
} // namespace

void Releases::put_off(uint32_t slot, Wanted wanted, bool dirty) {
  if (wanted.priority == 0 && wanted.due && (dirty || !wanted.dead)) memory_.order.release_until(slot, wanted.due, dirty);
  else memory_.order.release(slot, wanted.priority, dirty);
}

/// The program has finished with [begin, end). The pages stay until their memory is needed (buffered), or
/// go at once (aggressive).
uint32_t Releases::release(uint64_t begin, uint64_t end, Wanted wanted, uint16_t site) {
  if (memory_.options->release == ReleasePolicy::kNone) return 0;
  const bool gathers = memory_.options->release == ReleasePolicy::kBuffered;
  if (!gathers) wanted = {}; // these very pages, whatever wants them again
  const bool pays = !gathers || memory_.release_trial.pays(site);
  uint32_t count = 0;
  while (begin < end) {
    PagedRegion *r = memory_.regions.at_or_after(begin);
    if (!r || r->base >= end) break;
    if (begin < r->base) begin = r->base;
    const uint64_t stop = std::min(end, r->end());
    const uint32_t first = memory_.slot_of(*r, begin), last = memory_.slot_of(*r, stop);
    if (pays) {
      memory_.residency.clear({begin, stop}); // a new hint comes through and rescues
      count += release_pages(first, last, wanted, site);
    } else {
      forgo(first, last, site);
    }
    begin = stop;
  }
  return count;
}

/// The same for the slots [first, last) of one region.
uint32_t Releases::release_pages(uint32_t first, uint32_t last, Wanted wanted, uint16_t site) {
  const bool gathers = memory_.options->release == ReleasePolicy::kBuffered;
  uint32_t count = 0;
  for (uint32_t i = first; i < last; ++i) {
    Page &p = memory_[i];
    if (!PagedMemory::resident(p.state)) continue;
    p.flags &= static_cast<uint8_t>(~kPrefetched); // it was used
    if (gathers) memory_.release_trial.passed(site, i, memory_.gone());
    const bool dirty = PagedMemory::unwritten(p.state);
    if (!gathers || !dirty) put_off(i, wanted, dirty);
    ++count;
  }
  memory_.statistics.site[site].released += count;
  if (gathers) gather(first, last, wanted);
  for (uint32_t i = first; i < last; ++i) // in flight keeps its bit in the residency map
    if (memory_[i].state == PageState::kReading) memory_.residency.set(memory_.extent(i, 1));
  return count;
}

/// Releases of this site are on trial: the pages stay where they are in the order of eviction.
void Releases::forgo(uint32_t first, uint32_t last, uint16_t site) {
  for (uint32_t i = first; i < last; ++i) {
    if (!PagedMemory::resident(memory_[i].state)) continue;
    memory_[i].flags &= static_cast<uint8_t>(~kPrefetched); // it was used
    memory_.release_trial.passed(site, i, memory_.gone());
    ++memory_.statistics.releases_forgone;
  }
}

/// The pages of the cluster that belong to the region.
PageRun Releases::cluster_of(const PagedRegion &r, uint32_t slot) const {
  const uint32_t end = memory_.end_of(r);
  const uint32_t begin = std::max(slot & ~(kClusterPages - 1), r.first_slot);
  return {begin, std::min((slot | (kClusterPages - 1)) + 1, end) - begin};
}

/// All of the cluster is in memory, and no page but the released ones is dirty. Where pages are missing, the walk may
/// be about to come to them.
bool Releases::all_done(PageRun cluster) const {
  for (uint32_t s = cluster.slot; s < cluster.slot + cluster.pages; ++s)
    if (!PagedMemory::resident(memory_[s].state) || (PagedMemory::unwritten(memory_[s].state) && !(memory_[s].flags & kDone)))
      return false;
  return true;
}

void Releases::release_done(PageRun cluster, Wanted wanted) {
  for (uint32_t s = cluster.slot; s < cluster.slot + cluster.pages; ++s) {
    if (!(memory_[s].flags & kDone)) continue;
    memory_[s].flags &= static_cast<uint8_t>(~kDone);
    put_off(s, wanted, PagedMemory::unwritten(memory_[s].state));
  }
}

/// The program has finished with the slots [first, last) of one region. Cost: a few ns a page.
void Releases::gather(uint32_t first, uint32_t last, Wanted wanted) {
  const PagedRegion *r = memory_.region_of(first);
  if (!r) return;
  for (uint32_t at = first; at < last;) {
    const PageRun cluster = cluster_of(*r, at);
    const uint32_t end = std::min(last, cluster.slot + cluster.pages);
    bool waits = false, any = false;
    for (uint32_t s = cluster.slot; s < cluster.slot + cluster.pages; ++s) waits |= (memory_[s].flags & kDone) != 0;
    for (uint32_t s = at; s < end; ++s) {
      if (!PagedMemory::unwritten(memory_[s].state)) continue;
      memory_[s].flags |= kDone;
      any = true;
    }
    at = end;
    if (!any) continue;
    if (all_done(cluster)) {
      release_done(cluster, wanted);
    } else if (!waits) {
      if (clusters_.full()) release_oldest_cluster();
      clusters_.add({cluster.slot, wanted});
    }
  }
}

/// A nest of some size is over: what its walk has not come to it never will, unless others like it walk beside it.
/// Left to wait, such clusters would outstay pages that are wanted sooner.
void Releases::release_clusters() {
  for (OpenNest &nest : OpenNests())
    if (nest.runs() && nest.foreseen) return;
  while (release_oldest_cluster()) {}
}

/// False: no cluster waits.
bool Releases::release_oldest_cluster() {
  if (!clusters_.any()) return false;
  const WritebackCluster oldest = clusters_.take();
  if (const PagedRegion *r = memory_.region_of(oldest.slot)) release_done(cluster_of(*r, oldest.slot), oldest.wanted);
  return true;
}

/// A slice had pages filled or read at `slot`, where those in use end: the program is `ahead` of it, and has finished what lies
/// behind. That is released, in whole blocks: what goes next is written at once, and is not what is being stored to.
void Releases::release_behind(PagedRegion &r, uint32_t slot, uint32_t ahead) {
  if (ahead == 0 || memory_.options->release != ReleasePolicy::kBuffered || slot - r.first_slot <= ahead) return;
  const uint32_t end = slot - ahead, lowest = end - std::min(end - r.first_slot, 2 * core::AppendStreams::kMostRun);
  uint32_t begin = end;
  while (begin > lowest && PagedMemory::unwritten(memory_[begin - 1].state) && !(memory_[begin - 1].flags & kDone) &&
         !memory_.order.is_released(begin - 1))
    --begin;
  if (begin == end) return;
  gather(begin, end, {0, false, 0});
  memory_.residency.clear(
      {memory_.pages.address(begin), memory_.pages.address(begin) + (static_cast<uint64_t>(end - begin) << memory_.shift)});
}

} // namespace pagecast
