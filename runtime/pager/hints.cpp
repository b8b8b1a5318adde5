// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints by hand and from slices: emptying their rings.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

namespace pagecast {
namespace {
/// Looked at in one turn of the loop.
constexpr unsigned kByHand = 64, kOfSlices = 512;
} // namespace

bool Pager::hint(const Hint &hint) {
  const bool taken = hand_ring_.push(hint);
  if (!taken) statistics.hints_dropped.fetch_add(1, std::memory_order_relaxed);
  poke();
  return taken;
}

bool Pager::slice_hint(const Hint &hint) { return slice_ring_.push(hint); }

/// A hint for a file's region. False: not now.
bool Pager::advise(const Hint &h, core::Extent e, bool from_slice) {
  if (h.kind == Hint::kRelease) return files_.release(e, h.priority, h.site), true;
  if (!files_.fetch(e, {h.site, h.nest, h.due, from_slice, h.kind == Hint::kFetchWrite})) return false;
  if (from_slice) statistics.slice_hints += h.pages;
  return true;
}

/// The oldest hint of the ring by hand. False: it stays there.
bool Pager::take_by_hand(const Hint &h) {
  const core::Extent e = h.extent(shift_);
  if (files_.look_up(e.begin).bytes) return advise(h, e, false);
  if (h.kind == Hint::kRelease) return release(e.begin, e.end, {h.priority, false, 0}, h.site), true;
  uint64_t at = e.begin;
  if (fetch(at, e.end, {h.site, h.nest, 0, h.kind == Hint::kFetchWrite, false})) return true;
  hand_ring_.shorten(static_cast<uint32_t>((at - e.begin) >> shift_), shift_);
  // By hand: non-binding. It is asked again while memory is only being freed; else dropped.
  if (pages_writing_ || requests_.any()) return false;
  ++statistics.refused_fetches;
  return true;
}

/// The oldest hint of the slices' ring. False: it stays there.
bool Pager::take_of_slice(const Hint &h) {
  const core::Extent e = h.extent(shift_);
  if (files_.look_up(e.begin).bytes) return advise(h, e, true);
  if (h.kind == Hint::kRelease) {
    const OpenNest &nest = nest_table[h.nest];
    release(e.begin, e.end, wanted(nest, h.site - nest.sites, e, h.priority), h.site);
    return true;
  }
  const uint64_t freed = freed_;
  const Asked asked{h.site, h.nest, h.due, h.kind == Hint::kFetchWrite, false};
  if (h.pages > 1 ? fetch_range(h, e, asked) : fetch_page(e.begin, asked)) return true;
  hints_blocked_ = freed;
  return false;
}

bool Pager::fetch_range(const Hint &h, core::Extent e, const Asked &asked) {
  uint64_t at = e.begin;
  const bool all = fetch(at, e.end, asked);
  const auto done = static_cast<uint32_t>((at - e.begin) >> shift_);
  statistics.slice_hints += all ? h.pages : done;
  if (!all) slice_ring_.shorten(done, shift_);
  return all;
}

/// A page alone, with neighbours where there are none yet.
bool Pager::fetch_page(uint64_t address, const Asked &asked) {
  Region *r = regions_.find(address);
  const uint32_t slot = r ? slot_of(*r, address) : 0;
  if (r && pages_[slot].state == PageState::kReading) {
    ++statistics.useless_hints;
  } else if (r && !r->draining) {
    const bool absent = pages_[slot].state == PageState::kAbsent;
    const Run run = absent && asked.write ? refill_run(*r, slot) : zero_run(*r, slot);
    const uint32_t ahead = absent                                   ? (run.pages > 1 ? refill_ahead(*r) : 0)
                           : pages_[slot].state == PageState::kZero ? r->append_streams.ahead(allowance_.pages())
                                                                    : 0;
    const uint64_t hinted = r->zero_hints;
    uint32_t done = fetch_run(*r, run.slot, run.pages, asked);
    if (run.slot + done <= slot) done = fetch_run(*r, slot, 1, asked); // little room: the page itself
    if (done == 0) return false;
    if (r->append_streams.grows()) r->zero_hints = hinted; // it only follows what faults have told
    if (ahead) release_behind(*r, run.slot, ahead);
  }
  ++statistics.slice_hints;
  return true;
}

bool Pager::take_hints() {
  bool busy = false;
  for (unsigned n = 0; n < kByHand; ++n) {
    const Hint *h = hand_ring_.front();
    if (!h || !take_by_hand(*h)) break;
    hand_ring_.pop();
    busy = true;
  }
  if (hints_blocked_ == freed_) return busy;
  for (unsigned n = 0; n < kOfSlices; ++n) {
    const Hint *h = slice_ring_.front();
    if (!h || !take_of_slice(*h)) break;
    slice_ring_.pop();
    busy = true;
  }
  return busy;
}

} // namespace pagecast
