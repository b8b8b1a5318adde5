// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/paged_memory.h"

#include "runtime/kernel/os.h"

namespace pagecast {
namespace {
constexpr uint64_t kUserBytes = 1ull << 47; ///< of address space
} // namespace

bool PagedMemory::start(const Options &given) {
  options = &given;
  shift = os::page_shift();
  page = os::page_size();
  const uint64_t map_pages = kUserBytes >> shift;
  auto *bits = static_cast<uint8_t *>(os::reserve(core::ResidencyMap::bytes(map_pages)));
  if (bits) map.attach(bits, shift, 0, map_pages);
  auto *clusters = static_cast<core::Cleaning::Cluster *>(
      os::reserve(PageTable::kSlots / core::Cleaning::kClusterPages * sizeof(core::Cleaning::Cluster)));
  cleaning.start(clusters);
  return bits && clusters && pages.start() && regions.start();
}

core::StreamInvestment *PagedMemory::investment_in(uint32_t slot) {
  PagedRegion *r = region_of(slot);
  if (!r) return nullptr;
  return pages[slot].due == kInOrder ? &r->in_order : pages[slot].due == kApart ? &r->apart : nullptr;
}

uint32_t PagedMemory::pop_unreleased(uint32_t *out, uint32_t max) {
  const uint32_t n = end.pop(order, out, max, used);
  statistics.unreleased = {end.gone(core::WhichEnd::kOldest), end.gone(core::WhichEnd::kNewest), end.changes()};
  return n;
}

void PagedMemory::stream_used(uint32_t slot) {
  core::StreamInvestment *streams = investment_in(slot);
  if (!streams) return;
  streams->used();
  ++statistics.streams.used;
}

void PagedMemory::stream_wasted(uint32_t slot) {
  core::StreamInvestment *streams = investment_in(slot);
  if (!streams) return;
  statistics.streams.switched_off += streams->wasted();
  ++statistics.streams.wasted;
}

} // namespace pagecast
