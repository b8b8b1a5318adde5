// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pager's invariants, for tests: what it knows of each page against its counts, its lists, its requests, and
// what the kernel says of the page.
#include "runtime/kernel/os.h"
#include "runtime/pager/pager.h"

namespace pagecast {
namespace {

enum KernelSays : unsigned { kPopulated = 1, kProtected = 2 };
constexpr uint32_t kAtOnce = 512; ///< pages of which the kernel is asked at a time

/// Each returns the invariant that does not hold, or NULL.
class Check {
public:
  Check(PagedMemory &memory, const BackingStore &store, const Shelf &shelf) : memory_(memory), store_(store), shelf_(shelf) {}
  const char *region(unsigned index, uint32_t *in_memory, uint32_t *writing);

private:
  const char *page(uint32_t slot, unsigned kernel);

  PagedMemory &memory_;
  const BackingStore &store_;
  const Shelf &shelf_;
};

/// Checks a region's place in the tables, and its pages; counts those resident or reading, and those being written.
const char *Check::region(unsigned index, uint32_t *in_memory, uint32_t *writing) {
  const PagedRegion &r = memory_.regions[index];
  if (index && memory_.regions[index - 1].end() > r.base) return "regions overlap";
  const auto pages = static_cast<uint32_t>(r.bytes >> memory_.shift);
  if (r.first_slot + pages > memory_.pages.high_water()) return "a region has slots that nobody handed out";
  if (memory_.pages.address(r.first_slot) != r.base || memory_.pages.address(r.first_slot + pages - 1) != r.end() - memory_.page)
    return "a region's slots belong to other addresses";
  uint32_t requests = 0;
  for (const Request &q : store_.requests()) requests += q.busy && q.slot - r.first_slot < pages;
  if (requests != r.in_flight) return "a region's requests are miscounted";
  uint8_t populated[kAtOnce], guarded[kAtOnce];
  for (uint32_t i = 0; i < pages; ++i) {
    if (i % kAtOnce == 0) {
      const uint64_t n = pages - i < kAtOnce ? pages - i : kAtOnce;
      if (os::populated(r.base + (uint64_t{i} << memory_.shift), n, populated) ||
          os::write_protected(r.base + (uint64_t{i} << memory_.shift), n, guarded))
        return "the kernel does not say what is in memory";
    }
    const uint32_t slot = r.first_slot + i;
    const PageState state = memory_[slot].state;
    *in_memory += PagedMemory::resident(state) || state == PageState::kReading || state == PageState::kMark;
    *writing += state == PageState::kWriting || (state == PageState::kShelved && shelf_.writes(slot));
    if (const char *broken = page(slot, (populated[i % kAtOnce] ? kPopulated : 0u) | (guarded[i % kAtOnce] ? kProtected : 0u)))
      return broken;
  }
  return nullptr;
}

const char *Check::page(uint32_t slot, unsigned kernel) {
  const Page &p = memory_[slot];
  const bool leaving = p.state == PageState::kWriting && (p.flags & kEvict);
  if ((PagedMemory::resident(p.state) && !leaving) == memory_.order.is_free(slot))
    return "a page is in the order of eviction and not in memory, or the other way round";
  if (memory_.residency.test(memory_.pages.address(slot)) && !PagedMemory::resident(p.state) && p.state != PageState::kReading)
    return "the residency map has an absent page";
  if ((p.flags & kNoBacking) && p.state != PageState::kClean) return "a page that is not clean counts as zero";
  if ((p.flags & kWriteIntent) && p.state != PageState::kReading) return "a store is intended to a page that is not being read";
  if ((p.flags & (kEvict | kRedirtied)) && p.state != PageState::kWriting)
    return "a page that is not being written has flags of one that is";
  if ((p.flags & kDone) && !PagedMemory::unwritten(p.state))
    return "a page that waits for its cluster to be written is not dirty";
  if ((p.flags & kEvict) && (p.flags & kRedirtied)) return "a page that was stored to meanwhile is to go";
  if (PagedMemory::resident(p.state) != ((kernel & kPopulated) != 0) && p.state != PageState::kLost)
    return "the kernel has a page that the pager has not, or the other way round";
  const bool guarded = PagedMemory::awaits_store(p.state) || (p.state == PageState::kWriting && !(p.flags & kRedirtied));
  if (PagedMemory::resident(p.state) && guarded != ((kernel & kProtected) != 0))
    return "a clean page can be stored to unseen, or a dirty one cannot";
  return nullptr;
}

} // namespace

const char *Pager::broken_invariant() {
  if (discards.any()) return "discards are left over";
  if (!memory.order.is_valid(memory.pages.high_water())) return "the replacement order's lists are inconsistent";
  uint32_t in_memory = 0, writing = 0;
  uint64_t bytes = 0;
  Check check(memory, store, shelf);
  for (unsigned i = 0; i < memory.regions.count(); ++i) {
    if (const char *broken = check.region(i, &in_memory, &writing)) return broken;
    bytes += memory.regions[i].bytes;
  }
  if (bytes != memory.statistics.region_bytes) return "the regions' bytes are miscounted";
  if (const char *broken = shelf.broken_invariant()) return broken;
  if (in_memory != memory.used) return "the pages in memory are miscounted";
  if (writing != store.pages_writing()) return "the pages being written are miscounted";
  return store.broken_invariant(memory.pages);
}

} // namespace pagecast
