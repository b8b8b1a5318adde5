// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parts of the pager share: the regions, what is known of each of their pages, and the order in which pages go.
// It decides nothing; who changes a page's state keeps the invariants of pager/valid.cpp.
//
// Example: page 3 of a region whose first slot is 256 is slot 259. While it is in memory its state is kClean, kDirty or
// kWriting, it counts in `used`, and it is in `order`; its bit in `residency` is set as long as no hint for it is worth while.
//
// Pager's thread, but for the map, and for look-ups of regions (state/regions.h).
#pragma once
#include "core/faults/attendance.h"
#include "core/faults/passed_pages.h"
#include "core/faults/stream_investment.h"
#include "core/faults/successions.h"
#include "core/memory/cleaning.h"
#include "core/memory/favour.h"
#include "core/memory/kept_share.h"
#include "core/memory/release_trial.h"
#include "core/memory/replacement.h"
#include "core/memory/second_chance.h"
#include "core/memory/which_end.h"
#include "core/residency.h"
#include "core/types.h"
#include "runtime/state/options.h"
#include "runtime/state/pages.h"
#include "runtime/state/regions.h"
#include "runtime/state/statistics.h"

#include <cstdint>

namespace pagecast {

/// Who asked for a page, but for the program, which waits for it. What comes along a succession is read in the order of its last use, which
/// tells as much of which pages are to stay as waits for them do.
inline core::WhichEnd::Asker asker_of(uint16_t site, uint32_t wanted_by) {
  if (site != Statistics::kHistory) return core::WhichEnd::kNest;
  return wanted_by == kSuccessive ? core::WhichEnd::kProgram : core::WhichEnd::kStream;
}

struct PagedMemory {
  explicit PagedMemory(Statistics &all) : statistics(all) {}
  PagedMemory(const PagedMemory &) = delete;
  PagedMemory &operator=(const PagedMemory &) = delete;
  /// Reserves address space for the tables. False: there is not enough.
  bool start(const Options &);

  static bool resident(PageState s) { return s >= PageState::kClean; }
  /// Resident with contents that are nowhere else, and not on their way there.
  static bool unwritten(PageState s) { return s == PageState::kDirty || s == PageState::kForked; }
  /// Resident, and a store to it is a fault.
  static bool awaits_store(PageState s) { return s == PageState::kClean || s == PageState::kForked; }
  Page &operator[](uint32_t slot) { return pages[slot]; }
  const Page &operator[](uint32_t slot) const { return pages[slot]; }
  PagedRegion *region_of(uint32_t slot) { return regions.find(pages.address(slot)); }
  /// The page has come to memory: a hint or a stream had asked for it, or else the program waited. A favoured owner's is no newcomer, as
  /// a stream's is none.
  void came(uint32_t slot) {
    favour.came(pages[slot].owner);
    const Page &p = pages[slot];
    const auto asker = p.site ? asker_of(p.site, p.wanted_by) : core::WhichEnd::kProgram;
    end.came(order, slot, used, favour.is_favoured(p.owner) ? core::WhichEnd::kStream : asker, p.kept);
    order.keep_at_most(kept.pages(used));
  }
  /// Pages to give up, where none is released; they leave the order.
  uint32_t pop_unreleased(uint32_t *out, uint32_t max);
  /// The page goes, and when. A thread waits for one that went.
  void went(uint32_t slot) { pages[slot].wanted_by = low_bits(gone() / kGoneUnit, kWantedByBits); }
  void waited(core::Favour::Owner owner, uint32_t slot, const Page &before);
  /// The page is there, and was shown to be used again.
  void keep(uint32_t slot) {
    pages[slot].kept = true;
    order.keep(slot, kept.pages(used));
  }
  /// A page that a stream of faults or a succession brought in was used, or went before that.
  void stream_used(uint32_t slot);
  void stream_wasted(uint32_t slot);
  /// The program has passed a page: if it was brought in so, it was used.
  void settle_used(uint32_t slot);
  /// The program will not come to a page that may have been brought in so: if it is there, and not known to have been used, it goes first.
  void settle_wasted(uint32_t slot);
  uint32_t slot_of(const Region &r, uint64_t address) const {
    return r.first_slot + static_cast<uint32_t>((address - r.base) >> shift);
  }
  /// The slot behind the region's last one.
  uint32_t end_of(const Region &r) const { return r.first_slot + static_cast<uint32_t>(r.bytes >> shift); }
  core::Extent extent(uint32_t slot, uint64_t count) const {
    const uint64_t a = pages.address(slot);
    return {a, a + (count << shift)};
  }
  uint64_t bytes(uint64_t count) const { return count << shift; }
  /// Pages that have gone so far.
  uint64_t gone() const { return statistics.evicted_clean + statistics.evicted_dirty; }
  /// Memory, staging or a request became free: who found none before may ask again.
  void note_freed() { ++freed; }
  /// Pages right before `slot`, up to `most`, of whose state `is` holds.
  template <class Is> uint32_t pages_before(const PagedRegion &r, uint32_t slot, uint32_t most, Is is) const {
    uint32_t n = 0;
    while (n < most && n < slot - r.first_slot && is(pages[slot - 1 - n].state)) ++n;
    return n;
  }
  /// The same of pages from `slot` on.
  template <class Is> uint32_t pages_from(const PagedRegion &r, uint32_t slot, uint32_t most, Is is) const {
    const uint32_t end = end_of(r);
    uint32_t n = 0;
    while (n < most && slot + n < end && is(pages[slot + n].state)) ++n;
    return n;
  }

  const Options *options = nullptr;
  Statistics &statistics;
  unsigned shift = 12;
  uint64_t page = 4096; ///< bytes
  PageTable pages;
  PagedRegions regions;
  core::ResidencyMap residency;
  core::Replacement order;
  core::WhichEnd end; ///< of `order`, from which pages go that nobody released
  core::SecondChance chance; ///< of these; shelf.h has them
  core::KeptShare kept; ///< pages that were shown to be used again
  core::Favour favour; ///< whose pages stay, of those that nobody released
  core::ReleaseTrial<Statistics::kSites + 1> release_trial; ///< by site
  core::PassedNotes passed; ///< pages behind streams of faults
  core::Cleaning cleaning;
  core::Attendance attendance; ///< of the thread that faults
  uint32_t used = 0; ///< pages resident, reading or kept as marks
  core::Successions successions;
  core::StreamInvestment successive{core::Successions::kMostWindow}; ///< whether successions pay
  uint64_t shelf_bytes = 0; ///< of the runtime's memory, for pages that are about to go (shelf.h)
  uint64_t freed = 1; ///< counts what note_freed() was told

private:
  static constexpr uint64_t kGoneUnit = 16; ///< pages: the clock by which they go
  void look_at_threads();
  core::StreamInvestment *investment_in(uint32_t slot);
};

} // namespace pagecast
