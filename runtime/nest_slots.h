// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nests that are being executed now. A program's thread opens and closes a slot; the pager's thread
// moves its cursors; the slicer's thread runs its slice. A slot passes from one to the other by its state.
#pragma once
#include "core/cursor.h"
#include "core/nest.h"
#include "pagecast/abi.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class Pager;

struct NestSlot {
  enum State : uint32_t {
    kFree,    ///< nobody's
    kClaimed, ///< the program's thread fills it
    kOpen,    ///< the pager moves it; the program ticks
    kClosing, ///< the program has left; the pager finishes it and makes it free
  };

  alignas(64) pagecast_ticket ticket; ///< written by the program at every step: a cache line of its own
  alignas(64) std::atomic<uint32_t> state{kFree};
  std::atomic<uint32_t> slicing{0};   ///< the slicer's thread reads the program's memory for it now
  std::atomic<uint64_t> slice_ahead{0}; ///< steps by which the slice runs ahead
  const pagecast_nest *description;
  uint32_t sites; ///< of group 0
  const void *frame;

  // Pager's thread, once open.
  core::Nest nest;
  uint64_t wake_at;
  uint64_t room_seen;
  uint64_t crowded_seen;
  uint32_t turn; ///< counts the nests that the slot has held
  bool started;

  uint64_t pinned[PAGECAST_MAX_GROUPS]; ///< addresses in indirect targets that are fetched whole
  unsigned pinned_count;

  // Slicer's thread, once open.
  bool sliced;
  core::Cursor slice_cursor;
  static constexpr unsigned kMostLive = PAGECAST_MAX_LIVE;
  uint64_t live[kMostLive];
  pagecast_touch touch[PAGECAST_MAX_GROUPS]; ///< one per indirect group
  uint8_t touch_group[PAGECAST_MAX_GROUPS];  ///< which group it is
};

inline constexpr unsigned kNestSlots = 32;
extern NestSlot nest_slots[kNestSlots];
/// Bit i: slot i is open or closing.
extern std::atomic<uint32_t> open_nests;

inline unsigned number_of(const NestSlot *slot) { return static_cast<unsigned>(slot - nest_slots); }
/// NULL while nothing is paged.
extern std::atomic<Pager *> pager_in_charge;

/// Tells the nests' part of the runtime where hints go, or (NULL) that nothing is paged.
void nests_start(Pager *);

// Pager's thread: news of pages that a nest asked for. `nest` is the slot's number.
void nest_measured(unsigned nest, uint64_t latency_ns);
void nest_late(unsigned nest, unsigned site);
bool nest_not_there_yet(unsigned nest, unsigned turn, uint32_t due);


/// The slicer's thread body; never returns.
void slicer_run();
/// Where slices report pages that they find absent (pagecast_touch.miss).
void slice_miss(pagecast_touch *, uint64_t address);
/// Wakes it if it sleeps.
void slicer_poke();

} // namespace pagecast
