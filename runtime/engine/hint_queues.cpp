// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/hint_queues.h"

#include "runtime/kernel/os.h"
#include "runtime/state/open_nests.h"
#include "runtime/state/statistics.h"

#include <algorithm>
#include <bit>

namespace pagecast {
namespace {
/// Looked at in one turn of the loop.
constexpr unsigned kByHand = 64, kOfSlices = 512;
/// Of a budget in pages, the part that slices may be ahead by hints that wait. Each takes 32 bytes.
constexpr uint64_t kWaitingShare = 2;
} // namespace

void HintQueues::start(uint64_t budget) {
  by_hand_.start();
  const uint64_t waiting = std::clamp<uint64_t>((budget >> os::page_shift()) / kWaitingShare, kOfSlices, kMostOfSlices);
  of_slices_.start(std::bit_floor(static_cast<uint32_t>(waiting)));
}

bool HintQueues::push_by_hand(const Hint &hint) {
  const bool taken = by_hand_.push(hint);
  if (!taken) pager_.memory.statistics.hints_dropped.fetch_add(1, std::memory_order_relaxed);
  return taken;
}

bool HintQueues::posted() const {
  if (files_.waiting()) return false;
  return by_hand_.front() || (of_slices_.front() && blocked_ != pager_.memory.freed);
}

/// A hint for a file's region. False: not now.
bool HintQueues::advise(const Hint &h, core::Extent e, bool from_slice) {
  if (h.kind == Hint::kRelease) return files_.release(e, h.priority, h.site), true;
  if (!files_.fetch(e, {h.site, h.nest, h.wanted_by, from_slice, h.kind == Hint::kFetchWrite})) return false;
  if (from_slice) pager_.memory.statistics.slice_hints += h.pages;
  return true;
}

/// The oldest hint of the ring by hand. False: it stays there.
bool HintQueues::take_by_hand(const Hint &h) {
  const unsigned shift = pager_.memory.shift;
  const core::Extent e = h.extent(shift);
  if (files_.look_up(e.begin).bytes) return advise(h, e, false);
  if (h.kind == Hint::kRelease) return pager_.eviction.release(e.begin, e.end, {h.priority, false, 0}, h.site), true;
  uint64_t at = e.begin;
  if (pager_.fetcher.fetch(at, e.end, {h.site, h.nest, 0, h.kind == Hint::kFetchWrite, false})) return true;
  by_hand_.shorten(static_cast<uint32_t>((at - e.begin) >> shift), shift);
  // By hand: non-binding. It is asked again while memory is only being freed; else dropped.
  if (pager_.store.any_request()) return false;
  ++pager_.memory.statistics.refused_fetches;
  return true;
}

/// The oldest hint of the slices' ring. False: it stays there.
bool HintQueues::take_of_slice(const Hint &h) {
  const core::Extent e = h.extent(pager_.memory.shift);
  if (files_.look_up(e.begin).bytes) return advise(h, e, true);
  if (h.kind == Hint::kRelease) {
    const OpenNest &nest = nest_table[h.nest];
    pager_.eviction.release(e.begin, e.end, forecasts_.wanted(nest, h.site - nest.sites, e, h.priority), h.site);
    return true;
  }
  const uint64_t freed = pager_.memory.freed;
  const Fetcher::Asked asked{h.site, h.nest, h.wanted_by, h.kind == Hint::kFetchWrite, false, {}, nest_table[h.nest].owner};
  if (h.pages > 1 ? fetch_range(h, e, asked) : fetch_page(e.begin, asked)) return true;
  blocked_ = freed;
  return false;
}

bool HintQueues::fetch_range(const Hint &h, core::Extent e, const Fetcher::Asked &asked) {
  const unsigned shift = pager_.memory.shift;
  uint64_t at = e.begin;
  const bool all = pager_.fetcher.fetch(at, e.end, asked);
  const auto done = static_cast<uint32_t>((at - e.begin) >> shift);
  pager_.memory.statistics.slice_hints += all ? h.pages : done;
  if (!all) of_slices_.shorten(done, shift);
  return all;
}

bool HintQueues::fetch_page(uint64_t address, const Fetcher::Asked &asked) {
  PagedMemory &memory = pager_.memory;
  PagedRegion *r = memory.regions.find(address);
  const uint32_t slot = r ? memory.slot_of(*r, address) : 0;
  if (r && memory[slot].state == PageState::kReading) ++memory.statistics.useless_hints;
  else if (r && !r->draining && !fetch_around(*r, slot, asked)) return false;
  ++memory.statistics.slice_hints;
  return true;
}

/// A page alone, with neighbours where there are none yet. False: not now.
bool HintQueues::fetch_around(PagedRegion &r, uint32_t slot, const Fetcher::Asked &asked) {
  AppendRuns &runs = pager_.runs;
  const PageState state = pager_.memory[slot].state;
  const bool absent = state == PageState::kAbsent;
  const PageRun run = absent && asked.write ? runs.refill_for_hint(r, slot) : runs.zeros_for_hint(r, slot);
  uint32_t ahead = 0;
  if (absent && run.pages > 1) ahead = runs.refill_ahead(r);
  if (state == PageState::kZero) ahead = runs.zeros_ahead(r);
  const uint64_t hinted = r.zero_hints;
  uint32_t done = pager_.fetcher.fetch_run(r, run.slot, run.pages, asked);
  if (run.slot + done <= slot) done = pager_.fetcher.fetch_run(r, slot, 1, asked); // little room: the page itself
  if (done == 0) return false;
  if (r.append_streams.grows()) r.zero_hints = hinted; // it only follows what faults have told
  if (ahead) pager_.releases.release_behind(r, run.slot, ahead);
  return true;
}

bool HintQueues::take() {
  bool busy = false;
  for (unsigned n = 0; n < kByHand; ++n) {
    const Hint *h = by_hand_.front();
    if (!h || !take_by_hand(*h)) break;
    by_hand_.pop();
    busy = true;
  }
  return blocked_ == pager_.memory.freed ? busy : take_of_slices() || busy;
}

bool HintQueues::take_of_slices() {
  const Hint *h = of_slices_.front();
  if (!h) return false;
  // The time is charged to the slice whose hint is the last: mostly, one runs at a time.
  SliceStatistics *costs = nullptr;
  const uint64_t since = os::thread_cpu_ns();
  unsigned n = 0;
  for (; n < kOfSlices && h; ++n, h = of_slices_.front()) {
    costs = nest_table[h->nest].costs.load(std::memory_order_relaxed);
    if (!take_of_slice(*h)) break;
    of_slices_.pop();
  }
  if (costs) costs->pager_ns.fetch_add(os::thread_cpu_ns() - since, std::memory_order_relaxed);
  return n > 0;
}

} // namespace pagecast
