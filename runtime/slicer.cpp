// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slicer's thread: runs the slices of open nests ahead of the program, so that the pages of indirect
// references are asked for before the program computes their addresses.
#include "runtime/nest_slots.h"
#include "runtime/os.h"
#include "runtime/pager.h"
#include "runtime/slice_forms.h"

#include <ctime>

namespace pagecast {
namespace {

NestSlot *slicing_now = nullptr;
std::atomic<uint32_t> slicer_asleep{0};
constexpr uint64_t kSlicerPollNs = 100000;

/// The index arrays of this step are there (or on their way): the slice will not stall.
bool index_resident(Pager &pager, const NestSlot &slot) {
  const core::Shape &shape = slot.nest.shape();
  bool there = true;
  for (unsigned g = 0; g < shape.groups && there; ++g) {
    if (!shape.group[g].index || shape.group[g].indirect) continue;
    slot.slice_cursor.for_each_extent(shape.group[g], os::page_size(), [&](core::Extent e) {
      there = there && pager.map().next_absent(e, ~0ull >> 1).empty();
    });
  }
  return there;
}

void slice(NestSlot &slot, const uint64_t *index, uint64_t first, uint64_t count) {
  const pagecast_nest &d = *slot.description;
  if (d.slice) d.slice(slot.live, index, first, count, slot.touch);
  else run_forms(d, slot.nest.shape(), index, first, count, slot.touch);
}

/// Runs the slice up to its distance. True if it did something.
bool run_slice(Pager &pager, NestSlot &slot) {
  slot.slicing.store(1, std::memory_order_seq_cst);
  bool worked = false;
  if (slot.state.load(std::memory_order_seq_cst) == NestSlot::kOpen) {
    slicing_now = &slot;
    const pagecast_nest &d = *slot.description;
    for (unsigned burst = 0; burst < 16; ++burst) {
      core::Cursor &cursor = slot.slice_cursor;
      const uint64_t step = __atomic_load_n(&slot.ticket.step, __ATOMIC_RELAXED);
      if (cursor.position() < step) cursor.seek(step);
      if (cursor.at_end() || cursor.position() >= step + slot.slice_ahead.load(std::memory_order_relaxed)) break;
      if (slot.state.load(std::memory_order_relaxed) != NestSlot::kOpen || !index_resident(pager, slot)) break;
      uint64_t index[PAGECAST_MAX_LOOPS];
      for (unsigned k = 0; k < d.ticked; ++k) index[k] = cursor.index(k);
      // A slice covers the innermost loop; where that is inside a step, the step's outer iterations follow each other.
      if (d.ticked + 1 == d.loops) slice(slot, index, cursor.first(), cursor.count());
      else if (d.ticked + 2 == d.loops) {
        index[d.ticked] = cursor.first();
        slice(slot, index, 0, slot.nest.shape().trips[d.loops - 1]);
      }
      cursor.next();
      worked = true;
    }
    if (worked) pager.poke();
  }
  slot.slicing.store(0, std::memory_order_seq_cst);
  os::futex_wake(reinterpret_cast<uint32_t *>(&slot.slicing));
  return worked;
}

} // namespace

/// A page that a slice found absent. It is marked at once, so that it is asked for once.
void slice_miss(pagecast_touch *touch, uint64_t address) {
  Pager &pager = *pager_in_charge.load(std::memory_order_relaxed);
  NestSlot &slot = *slicing_now;
  const uint64_t page = address & ~(os::page_size() - 1);
  const unsigned group = slot.touch_group[touch - slot.touch];
  const bool write = slot.description->group[group].flags & PAGECAST_WRITES;
  pager.map().set({page, page + 1});
  const Hint hint{page, 1, write ? Hint::kFetchWrite : Hint::kFetch, 0, static_cast<uint16_t>(slot.sites + group),
                  static_cast<uint32_t>(slot.slice_cursor.position()), static_cast<uint8_t>(number_of(&slot))};
  while (!pager.slice_hint(hint)) {
    if (slot.state.load(std::memory_order_relaxed) != NestSlot::kOpen) {
      pager.map().clear({page, page + 1});
      return;
    }
    pager.poke();
    timespec t{0, 50000};
    nanosleep(&t, nullptr);
  }
}

void slicer_run() {
  for (;;) {
    Pager *pager = pager_in_charge.load(std::memory_order_acquire);
    bool worked = false, any = false;
    for (uint32_t open = open_nests.load(std::memory_order_seq_cst); pager && open; open &= open - 1) {
      NestSlot &slot = nest_slots[__builtin_ctz(open)];
      if (slot.state.load(std::memory_order_acquire) != NestSlot::kOpen || !slot.sliced) continue;
      any = true;
      worked |= run_slice(*pager, slot);
    }
    if (worked) continue;
    if (any) { // waiting for the program or for the index arrays: look again soon
      timespec t{0, static_cast<long>(kSlicerPollNs)};
      nanosleep(&t, nullptr);
    } else {
      slicer_asleep.store(1, std::memory_order_seq_cst);
      bool work = false;
      for (uint32_t open = open_nests.load(std::memory_order_seq_cst); open; open &= open - 1)
        work |= nest_slots[__builtin_ctz(open)].sliced && nest_slots[__builtin_ctz(open)].state.load() == NestSlot::kOpen;
      if (!work) os::futex_wait(reinterpret_cast<uint32_t *>(&slicer_asleep), 1);
      slicer_asleep.store(0, std::memory_order_seq_cst);
    }
  }
}

void slicer_poke() {
  if (slicer_asleep.exchange(0, std::memory_order_seq_cst)) os::futex_wake(reinterpret_cast<uint32_t *>(&slicer_asleep));
}

} // namespace pagecast
