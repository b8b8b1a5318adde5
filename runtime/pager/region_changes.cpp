// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/region_changes.h"

#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"

#include <algorithm>
#include <cerrno>

namespace pagecast {

/// As a part of the one before it if they are one behind the other in the backing store, too: heaps grow by pieces, and streams
/// go through all of them.
bool RegionChanges::insert(const PagedRegion &region) {
  PagedRegion *before = memory_.regions.find(region.base - 1);
  if (!before || before->origin.is_map() || region.origin.is_map() || memory_.end_of(*before) != region.first_slot)
    return memory_.regions.insert(region);
  memory_.regions.grow(*before, region.bytes);
  return true;
}

int RegionChanges::add(uint64_t address, uint64_t bytes, const Origin &origin) {
  PagedRegion region;
  region.origin = origin;
  region.base = address;
  region.bytes = bytes;
  uint8_t there = 0; // who cannot tell what has contents would lose some, or write what is not there, and wait for itself
  if (const int error = os::populated(address, 1, &there)) return error;
  region.first_slot = memory_.pages.allocate(address, bytes >> memory_.shift);
  if (region.first_slot == kNoSlot) return -ENOSPC;
  if (!origin.is_map() && memory_.bytes(region.first_slot) + bytes > most_) {
    memory_.pages.free(region.first_slot, bytes >> memory_.shift, true);
    return too_far();
  }
  if (origin.is_map()) region.origin.start -= uint64_t{region.first_slot} << memory_.shift;
  int error = placement_.watch(address, bytes);
  if (!error && !insert(region)) {
    placement_.unwatch(address, bytes);
    error = -ENOSPC;
  }
  if (error) {
    memory_.pages.free(region.first_slot, bytes >> memory_.shift, true);
    return error;
  }
  os::give_to_children(address, bytes, false);
  limit_.account();
  memory_.statistics.regions = memory_.regions.count();
  Statistics &statistics = memory_.statistics;
  statistics.region_bytes += bytes;
  statistics.most_region_bytes = std::max(statistics.most_region_bytes, statistics.region_bytes);
  return adopt(region);
}

int RegionChanges::too_far() {
  if (!too_far_said_)
    say("of the program's data %llu MiB can be paged, since files may not be larger (ulimit -f): the rest stays in memory. "
        "Raise that limit to page it",
        static_cast<unsigned long long>(most_ >> 20));
  too_far_said_ = true;
  return -EFBIG;
}

int RegionChanges::adopt(const PagedRegion &r) {
  if (r.origin.is_map()) return adopt_absent(r), 0;
  const uint32_t before = memory_.used;
  const int error = adopt_populated(r);
  limit_.came(memory_.used - before);
  return error;
}

/// Pages of an export that is mapped: all are there.
void RegionChanges::adopt_absent(const PagedRegion &r) {
  const uint32_t end = memory_.end_of(r);
  limit_.use_tables(r.first_slot, end - r.first_slot);
  for (uint32_t s = r.first_slot; s < end; ++s) memory_[s].state = PageState::kAbsent;
}

/// Pages that the program has touched before the range became a region: dirty, and resident. Those that another process has since a
/// fork, too, await their first store.
int RegionChanges::adopt_populated(const PagedRegion &r) {
  uint8_t there[2048], alone[2048];
  const uint64_t pages = r.bytes >> memory_.shift;
  for (uint64_t i = 0; i < pages; i += sizeof there) {
    const uint64_t n = std::min<uint64_t>(pages - i, sizeof there), address = r.base + memory_.bytes(i);
    if (os::populated(address, n, there)) std::fill_n(there, n, uint8_t{1}); // cannot tell: assume contents
    if (!os::has_forked() || os::exclusive(address, n, alone)) std::fill_n(alone, n, uint8_t{1});
    for (uint64_t j = 0; j < n; ++j) {
      if (!there[j]) continue;
      const auto slot = static_cast<uint32_t>(r.first_slot + i + j);
      memory_.pages.use(slot, 1);
      memory_[slot].state = alone[j] ? PageState::kDirty : PageState::kForked;
      memory_.order.insert_active(slot);
      memory_.residency.set(memory_.extent(slot, 1));
      ++memory_.used;
    }
    protect_forked(static_cast<uint32_t>(r.first_slot + i), static_cast<uint32_t>(n));
  }
  limit_.account();
  if (limit_.over()) eviction_.evict(limit_.placed_pages() - limit_.pages());
  return 0;
}

void RegionChanges::protect_forked(uint32_t slot, uint32_t pages) {
  for (uint32_t s = slot, n; s < slot + pages; s += n) {
    for (n = 0; s + n < slot + pages && memory_[s + n].state == PageState::kForked; ++n) {}
    if (n) placement_.protect(s, n), limit_.note_others();
    else n = 1;
  }
}

bool RegionChanges::quiet(uint64_t begin, uint64_t end) {
  bool still = true;
  for (unsigned i = 0; i < memory_.regions.count(); ++i) {
    PagedRegion &r = memory_.regions[i];
    if (r.base >= end || r.end() <= begin) continue;
    r.draining = true;
    still &= r.in_flight == 0;
  }
  return still;
}

void RegionChanges::end_quiet() {
  for (unsigned i = 0; i < memory_.regions.count(); ++i) memory_.regions[i].draining = false;
}

void RegionChanges::forget(uint64_t begin, uint64_t end, bool keep_region) {
  for (unsigned i = 0; i < memory_.regions.count(); ++i) {
    PagedRegion &r = memory_.regions[i];
    if (r.base >= end || r.end() <= begin) continue;
    r.draining = false;
    forget_part(r, std::max(begin, r.base), std::min(end, r.end()), keep_region);
  }
  if (!keep_region) memory_.regions.cut(begin, end, memory_.shift);
  memory_.statistics.regions = memory_.regions.count();
  memory_.note_freed();
}

void RegionChanges::forget_part(PagedRegion &r, uint64_t from, uint64_t to, bool keep_region) {
  const uint32_t first = memory_.slot_of(r, from), end = memory_.slot_of(r, to);
  for (uint32_t s = memory_.pages.next_used(first, end); s < end; s = memory_.pages.next_used(s + 1, end))
    forget_page(s, keep_region);
  memory_.residency.clear({from, to});
  streams_.forget(from, to);
  successions_.forget(first, end);
  const iovec range{reinterpret_cast<void *>(from), to - from};
  os::discard(&range, 1);
  if (keep_region && r.origin.is_map())
    for (uint32_t s = first; s < end; ++s) memory_[s].state = PageState::kAbsent;
  if (!keep_region) {
    margins_.forget({from, to});
    placement_.unwatch(from, to - from);
    memory_.pages.free(first, end - first, to == r.end());
    memory_.statistics.region_bytes -= to - from;
  }
  placement_.wake(from, to - from);
}

void RegionChanges::forget_page(uint32_t slot, bool keep_region) {
  const PageState state = memory_[slot].state;
  if (PagedMemory::resident(state)) {
    memory_.order.remove(slot);
    --memory_.used;
  } else if (state == PageState::kMark) {
    marks_.drop(slot);
  } else if (state == PageState::kShelved) {
    shelf_.forget(slot);
  } else if (state == PageState::kLost && keep_region) {
    placement_.heal(slot);
  }
  memory_[slot] = {};
}

} // namespace pagecast
