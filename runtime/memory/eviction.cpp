// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/eviction.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint32_t kVictims = 256; ///< pages given up together, at most
/// And at least, as a share of the budget and in pages.
constexpr uint32_t kLotShare = 256, kLeastLot = 32, kMostLot = 128;
/// Released clean pages that are to be there, as a share of the budget and in pages: what the disk moves in some
/// milliseconds.
constexpr uint32_t kStockShare = 128, kLeastStock = 128, kMostStock = 8192;
/// Pages looked at in one search for clean ones among those that cannot be written.
constexpr uint32_t kMostPassedOver = 2048;
/// Given back in one turn of the loop: 1 ms of discarding, so that faults need not wait for long.
constexpr uint32_t kGivenBack = 4096;
constexpr uint32_t kAheadLot = 8; ///< pages given up at once while the disk reads, which takes about as long
constexpr uint32_t kForFaults = 64; ///< pages given up for faults that find none free
/// Memory is short when less than this part of the budget is free; so much of the active pages is on probation then, at most
/// so many more in one turn of the loop.
constexpr uint32_t kShortShare = 16, kAgingShare = 4, kAgingLots = 64, kAgingLot = 256;
} // namespace

/// Pages that are given up together, at least.
uint32_t Eviction::lot() const { return std::clamp(limit_.pages() / kLotShare, kLeastLot, kMostLot); }

uint32_t Eviction::evict(uint32_t pages, uint32_t lot) {
  uint32_t done = 0;
  for (passed_ = 0; done < pages && passed_ < kMostPassedOver;) {
    uint32_t victims[kVictims];
    while (memory_.order.released() < lot && releases_.release_oldest_cluster()) {}
    // The next one is dirty, and as much as may be is being written: its turn comes.
    if (memory_.order.released() && PagedMemory::unwritten(memory_[memory_.order.victim()].state) && write_back_.full() &&
        !store_.writes_are_stuck())
      break;
    // At least a lot at a time, so that neighbours are written together; but none in use while others are left.
    const uint32_t most = std::clamp(pages - done, lot, kVictims);
    const bool released = memory_.order.released() != 0;
    const uint32_t n = released ? memory_.order.pop_victims(victims, most, true) : memory_.pop_unreleased(victims, most);
    if (n == 0) break;
    if (memory_.order.released() == 0) crowded_.store(crowded() + n, std::memory_order_relaxed);
    std::sort(victims, victims + n);
    bool stuck = false;
    const uint32_t left = !released && memory_.end.last() == core::WhichEnd::kOldest ? shelf_.take(victims, n) : n;
    done += n - left;
    for (uint32_t i = 0, run; i < left; i += run) {
      run = write_back_.run_length(victims + i, left - i);
      done += give_up(victims[i], run, &stuck);
    }
    if (stuck) break;
  }
  discards_.flush();
  return done;
}

/// Gives up victims, which are alike. Returns how many have gone or are on their way; `stuck`: others would not be, either.
uint32_t Eviction::give_up(uint32_t slot, uint32_t pages, bool *stuck) {
  switch (memory_[slot].state) {
  case PageState::kClean: discards_.add(slot, pages); return pages;
  case PageState::kWriting: give_up_written(slot, pages); return pages;
  case PageState::kDirty:
  case PageState::kForked: break;
  default: return 0;
  }
  PagedRegion *r = memory_.region_of(slot);
  const uint32_t written = r ? write_back_.write_out(*r, slot, pages, WriteBack::Why::kGoing) : 0;
  if (written == pages) return pages;
  if (store_.writes_are_stuck(r ? r->origin : Origin{})) {
    pass_over(slot + written, pages - written);
  } else {
    put_back(slot + written, pages - written);
    *stuck = true;
  }
  return written;
}

/// Pages that are being written go then, but for those that were stored to meanwhile.
void Eviction::give_up_written(uint32_t slot, uint32_t pages) {
  for (uint32_t s = slot; s < slot + pages; ++s) {
    if (memory_[s].flags & kRedirtied) {
      memory_.order.touch(s);
    } else {
      memory_[s].flags |= kEvict;
      memory_.residency.clear(memory_.extent(s, 1));
    }
  }
}

void Eviction::release(uint64_t begin, uint64_t end, Wanted wanted, uint16_t site) {
  const uint32_t released = releases_.release(begin, end, wanted, site);
  if (memory_.options->release == ReleasePolicy::kAggressive) evict(released);
}

/// Dirty victims that cannot go now are the next to go.
void Eviction::put_back(uint32_t slot, uint32_t pages) {
  for (uint32_t s = slot; s < slot + pages; ++s) memory_.order.put_back(s);
  memory_.residency.clear(memory_.extent(slot, pages));
}

/// Victims that cannot be written for some time: behind them may be some that can go, also among those that would go last.
void Eviction::pass_over(uint32_t slot, uint32_t pages) {
  for (uint32_t s = slot; s < slot + pages; ++s) memory_.order.go_last(s);
  memory_.residency.set(memory_.extent(slot, pages));
  passed_ += pages;
}

/// Puts the longest active pages on probation while memory is short: hints for them come through again, and
/// what nobody asked for by the time their turn comes goes. They stay for longer than slices run ahead.
void Eviction::keep_aging() {
  if (limit_.free_pages() > limit_.pages() / kShortShare) return;
  const uint32_t want = memory_.order.active() / kAgingShare;
  for (unsigned lot = 0; lot < kAgingLots && memory_.order.aging() < want; ++lot) {
    uint32_t aged[kAgingLot];
    const uint32_t n = memory_.order.age(aged, std::min(want - memory_.order.aging(), kAgingLot));
    bool any = false;
    for (uint32_t i = 0; i < n; ++i) {
      const PagedRegion *r = memory_.region_of(aged[i]);
      if ((r && r->pinned) || memory_.favour.is_favoured(memory_[aged[i]].owner)) memory_.order.touch(aged[i]);
      else memory_.residency.clear(memory_.extent(aged[i], 1)), any = true;
    }
    if (!any) break;
  }
}

bool Eviction::give_back(uint64_t now) {
  if (!limit_.exceeded(now)) return false;
  const uint32_t before = memory_.used, over = limit_.placed_pages() - limit_.pages(), coming = store_.pages_coming_free();
  if (over > coming) evict(std::min(over - coming, kGivenBack));
  memory_.cleaning.gave_back(now);
  return memory_.used < before && limit_.over();
}

void Eviction::keep_reserve(bool busy, bool waited_for) {
  keep_aging();
  const uint32_t low = limit_.least_free();
  const uint32_t coming = store_.pages_coming_free();
  if (limit_.free_pages() + coming < low && busy) limit_.raise_ceiling(); // an idle program needs none soon
  if (limit_.free_pages() + coming < low && !limit_.worth_waiting()) evict(2 * low - limit_.free_pages() - coming);
  else if (limit_.free_pages() == 0 && waited_for) evict(kForFaults);
}

bool Eviction::make_room_ahead() {
  const uint32_t ready = limit_.free_pages() + store_.pages_coming_free();
  if (ready >= std::max(2 * limit_.least_free(), lot() / 2) || limit_.worth_waiting() || limit_.over()) return false;
  const uint32_t gone = evict(kAheadLot, kAheadLot);
  memory_.statistics.evicted_ahead += gone;
  return gone != 0;
}

void Eviction::write_ahead(uint64_t soon) {
  const uint32_t stock = std::clamp(limit_.pages() / kStockShare, kLeastStock, kMostStock);
  const uint32_t room = write_back_.room_ahead();
  if (limit_.free_pages() > stock || memory_.order.released_clean() > stock || room == 0) return;
  uint32_t dirty[kVictims];
  const uint32_t n = memory_.order.clean(dirty, std::min(kVictims, room), soon);
  write_back_.write_ahead(dirty, n, WriteBack::Why::kNext);
}

} // namespace pagecast
