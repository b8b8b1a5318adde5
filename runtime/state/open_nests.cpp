// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slots, and what other threads have to tell the nests in them.
#include "runtime/state/open_nests.h"

#include "runtime/state/fork.h"
#include "runtime/entry/nest_stack.h"

#include <algorithm>

namespace pagecast {

std::atomic<Pager *> pager_in_charge{nullptr};
NestSlot nest_slots[kNestSlots];
std::atomic<uint32_t> open_nests{0};

NestSlot *claim_slot() {
  for (NestSlot &slot : nest_slots) {
    uint32_t expected = NestSlot::kFree;
    if (slot.state.load(std::memory_order_relaxed) == NestSlot::kFree &&
        slot.state.compare_exchange_strong(expected, NestSlot::kClaimed, std::memory_order_acquire))
      return &slot;
  }
  return nullptr;
}

void nests_forked() {
  for (NestSlot &slot : nest_slots) {
    slot.slicing.store(0, std::memory_order_relaxed);
    slot.sliced = false; // the copy may be in the middle of something
    const uint32_t state = slot.state.load(std::memory_order_relaxed);
    if (place_of(&slot.ticket) < pagecast_open_count || state == NestSlot::kFree) continue;
    // Of a thread that is not here.
    slot.state.store(state == NestSlot::kClaimed ? NestSlot::kFree : NestSlot::kClosing, std::memory_order_relaxed);
    if (state != NestSlot::kClaimed) open_nests.fetch_or(1u << number_of(&slot), std::memory_order_relaxed);
  }
}

void nest_measured(unsigned nest, uint64_t latency_ns) {
  NestSlot &slot = nest_slots[nest % kNestSlots];
  if (slot.runs()) slot.nest.measured(latency_ns);
}

void nest_late(unsigned nest, unsigned site) {
  NestSlot &slot = nest_slots[nest % kNestSlots];
  if (!slot.runs()) return;
  if (site >= slot.sites && site - slot.sites < slot.description->groups) slot.nest.late(site - slot.sites);
}

bool nest_not_there_yet(unsigned nest, unsigned turn, uint32_t due, unsigned site) {
  NestSlot &slot = nest_slots[nest % kNestSlots];
  if (!slot.runs() || (slot.turn & 31) != turn) return false;
  const auto step = static_cast<uint32_t>(slot.step());
  const bool not_yet = ((due - step) & ((1u << 22) - 1)) - 1 < (1u << 21); // due > step, modulo 2^22
  if (not_yet) slot.nest.unused(1);
  const unsigned group = site - slot.sites;
  if (not_yet && group < slot.description->groups && (slot.description->group[group].flags & PAGECAST_INDIRECT))
    slot.slice_wasted.fetch_add(1, std::memory_order_relaxed);
  return not_yet;
}

namespace {
constexpr uint32_t kMissed = 8, kAstray = 64 * kMissed;

/// A nest that is open and has a direct reference which comes to `address`; NULL: none.
NestSlot *nest_around(uint64_t address) {
  for (NestSlot &slot : OpenNests()) {
    if (!slot.runs() || !slot.nest.plan().prefetches || slot.astray >= kAstray) continue;
    const core::Shape &shape = slot.nest.shape();
    for (unsigned g = 0; g < shape.groups; ++g)
      if (!shape.group[g].indirect && address - reach_of(shape, shape.group[g]).begin < reach_of(shape, shape.group[g]).size())
        return &slot;
  }
  return nullptr;
}
} // namespace

bool nest_covers(uint64_t address) { return nest_around(address) != nullptr; }

bool nest_missed(uint64_t address) {
  NestSlot *slot = nest_around(address);
  if (slot) slot->astray += kMissed;
  return slot != nullptr;
}

void nest_asked(unsigned nest, uint32_t pages) {
  NestSlot &slot = nest_slots[nest % kNestSlots];
  if (slot.astray < kAstray) slot.astray -= std::min(slot.astray, pages);
}

} // namespace pagecast
