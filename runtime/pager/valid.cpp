// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pager's invariants, for tests: what it knows of each page against its counts, its lists, its requests, and
// what the kernel says of the page.
#include "runtime/pager/pager.h"

namespace pagecast {
namespace {
enum KernelSays : unsigned { kPopulated = 1, kProtected = 2 };
}

/// The invariant that does not hold, or NULL. Between two rounds of the loop: nothing is queued for discarding.
const char *Pager::broken_invariant() {
  if (discards_) return "discards are left over";
  if (!order_.is_valid(pages_.high_water())) return "the replacement order's lists are inconsistent";
  uint32_t in_memory = 0, writing = 0;
  uint64_t bytes = 0;
  for (unsigned i = 0; i < regions_.count(); ++i) {
    if (const char *broken = broken_region(i, &in_memory, &writing)) return broken;
    bytes += regions_[i].bytes;
  }
  if (bytes != statistics.region_bytes) return "the regions' bytes are miscounted";
  if (in_memory != used_) return "the pages in memory are miscounted";
  if (writing != pages_writing_) return "the pages being written are miscounted";
  return broken_request();
}

/// Checks a region's place in the tables, and its pages; counts those resident or reading, and those being written.
const char *Pager::broken_region(unsigned index, uint32_t *in_memory, uint32_t *writing) {
  const Region &r = regions_[index];
  if (index && regions_[index - 1].end() > r.base) return "regions overlap";
  const auto pages = static_cast<uint32_t>(r.bytes >> shift_);
  if (r.first_slot + pages > pages_.high_water()) return "a region has slots that nobody handed out";
  if (pages_.address(r.first_slot) != r.base || pages_.address(r.first_slot + pages - 1) != r.end() - page_)
    return "a region's slots belong to other addresses";
  uint32_t requests = 0;
  for (const Request &q : requests_) requests += q.busy && q.slot - r.first_slot < pages;
  if (requests != r.in_flight) return "a region's requests are miscounted";
  uint8_t populated[512], guarded[512];
  for (uint32_t i = 0; i < pages; ++i) {
    if (i % 512 == 0) {
      const uint64_t n = pages - i < 512 ? pages - i : 512;
      if (os::populated(r.base + (uint64_t{i} << shift_), n, populated) ||
          os::write_protected(r.base + (uint64_t{i} << shift_), n, guarded))
        return "the kernel does not say what is in memory";
    }
    const uint32_t slot = r.first_slot + i;
    const PageState state = pages_[slot].state;
    *in_memory += resident(state) || state == PageState::kReading || state == PageState::kMark;
    *writing += state == PageState::kWriting;
    if (const char *broken = broken_page(slot, (populated[i % 512] ? kPopulated : 0u) | (guarded[i % 512] ? kProtected : 0u)))
      return broken;
  }
  return nullptr;
}

const char *Pager::broken_page(uint32_t slot, unsigned kernel) {
  const Page &p = pages_[slot];
  const bool leaving = p.state == PageState::kWriting && (p.flags & kEvict);
  if ((resident(p.state) && !leaving) == order_.is_free(slot))
    return "a page is in the order of eviction and not in memory, or the other way round";
  if (map_.test(pages_.address(slot)) && !resident(p.state) && p.state != PageState::kReading)
    return "the residency map has an absent page";
  if ((p.flags & kNoBacking) && p.state != PageState::kClean) return "a page that is not clean counts as zero";
  if ((p.flags & kWriteIntent) && p.state != PageState::kReading) return "a store is intended to a page that is not being read";
  if ((p.flags & (kEvict | kRedirtied)) && p.state != PageState::kWriting)
    return "a page that is not being written has flags of one that is";
  if ((p.flags & kDone) && p.state != PageState::kDirty) return "a page that waits for its cluster to be written is not dirty";
  if ((p.flags & kEvict) && (p.flags & kRedirtied)) return "a page that was stored to meanwhile is to go";
  if (resident(p.state) != ((kernel & kPopulated) != 0) && p.state != PageState::kLost)
    return "the kernel has a page that the pager has not, or the other way round";
  const bool guarded = p.state == PageState::kClean || (p.state == PageState::kWriting && !(p.flags & kRedirtied));
  if (resident(p.state) && guarded != ((kernel & kProtected) != 0))
    return "a clean page can be stored to unseen, or a dirty one cannot";
  return nullptr;
}

/// Requests, the staging memory under them, and the pages that they move.
const char *Pager::broken_request() {
  uint32_t reading = 0, staged = 0, moving = 0, idle = 0;
  for (const Request &q : requests_) {
    if (!q.busy) continue;
    reading += !q.write;
    staged += !q.write || q.copied ? q.pages : 0;
    moving += q.write ? q.pages : 0;
    idle += q.idle ? q.pages : 0;
    const PageState state = q.write ? PageState::kWriting : PageState::kReading;
    for (uint32_t s = q.slot; s < q.slot + q.pages; ++s)
      if (pages_[s].state != state) return "a request moves a page that is in another state";
  }
  if (!requests_.is_valid()) return "a request is neither free nor under way, or both";
  if (reading != reading_) return "the reads under way are miscounted";
  if (moving != pages_writing_) return "pages are being written without a request";
  if (idle != pages_cleaning_) return "the pages being cleaned are miscounted";
  if (staged + staging_.free_pages() != staging_.pages()) return "staging memory is lost";
  return nullptr;
}

} // namespace pagecast
