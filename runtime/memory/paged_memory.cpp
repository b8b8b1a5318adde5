// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/paged_memory.h"

#include "runtime/kernel/os.h"

namespace pagecast {
namespace {
constexpr uint32_t kMostSpared = 1024; ///< pages of a favoured thread, passed over at a time
constexpr uint64_t kUserBytes = 1ull << 47; ///< of address space
} // namespace

bool PagedMemory::start(const Options &given) {
  options = &given;
  shift = os::page_shift();
  page = os::page_size();
  const uint64_t map_pages = kUserBytes >> shift;
  auto *bits = static_cast<uint8_t *>(os::reserve(core::ResidencyMap::bytes(map_pages)));
  if (bits) residency.attach(bits, shift, 0, map_pages);
  auto *clusters = static_cast<core::Cleaning::Cluster *>(
      os::reserve(PageTable::kSlots / core::Cleaning::kClusterPages * sizeof(core::Cleaning::Cluster)));
  cleaning.start(clusters);
  return bits && clusters && pages.start() && regions.start();
}

core::StreamInvestment *PagedMemory::investment_in(uint32_t slot) {
  PagedRegion *r = region_of(slot);
  if (!r) return nullptr;
  switch (pages[slot].wanted_by) {
  case kInOrder: return &r->in_order;
  case kApart: return &r->apart;
  case kSuccessive: return &successive;
  default: return nullptr;
  }
}

uint32_t PagedMemory::pop_unreleased(uint32_t *out, uint32_t max) {
  if (favour.any())
    for (uint32_t spared = 0; spared < kMostSpared; ++spared) {
      const uint32_t next = order.victim();
      if (next == core::Replacement::kNone || order.is_released(next) || !favour.is_favoured(pages[next].owner)) break;
      order.touch(next);
      residency.set(extent(next, 1));
    }
  const uint32_t n = end.pop(order, out, max, used);
  if (favour.went(n, used)) look_at_threads();
  statistics.unreleased = {end.gone(core::WhichEnd::kOldest), end.gone(core::WhichEnd::kNewest), end.changes(), order.kept()};
  return n;
}

void PagedMemory::look_at_threads() {
  uint64_t cpu_ns[core::Favour::kMost];
  for (unsigned i = 0; i < core::Favour::kMost; ++i) {
    const uint64_t thread = favour.thread(static_cast<core::Favour::Owner>(i + 1));
    cpu_ns[i] = thread ? os::cpu_ns_of(thread) : 0;
  }
  favour.look(cpu_ns, used);
  statistics.favoured = {favour.turns(), favour.paid()};
}

void PagedMemory::waited(core::Favour::Owner owner, uint32_t slot, const Page &before) {
  const uint32_t away = low_bits(gone() / kGoneUnit - before.wanted_by, kWantedByBits);
  const bool soon = away * kGoneUnit < used;
  favour.waited(owner, soon);
  pages[slot].kept = soon;
  if (soon) kept.missed(before.kept, used);
  chance.missed(before.again, away * kGoneUnit, used);
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

void PagedMemory::settle_used(uint32_t slot) {
  Page &p = pages[slot];
  if ((p.flags & kPrefetched) && p.site == Statistics::kHistory) stream_used(slot);
  p.flags &= static_cast<uint8_t>(~kPrefetched);
}

void PagedMemory::settle_wasted(uint32_t slot) {
  Page &p = pages[slot];
  if (p.site != Statistics::kHistory || !(p.flags & kPrefetched) || !resident(p.state)) return;
  p.flags &= static_cast<uint8_t>(~kPrefetched);
  stream_wasted(slot);
  ++statistics.site[Statistics::kHistory].unused;
  order.release(slot, 0, unwritten(p.state));
  residency.clear(extent(slot, 1));
}

} // namespace pagecast
