// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/fault_service.h"

#include "runtime/kernel/os.h"
#include "runtime/state/open_nests.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr int kAtOnce = 32; ///< faults, in one turn of the loop
/// Pages that become dirty at the first store that goes on from others; as many more each time, up to the second.
constexpr uint32_t kFirstRun = 16, kMostRun = 64;
constexpr uint64_t kEdge = 64; ///< bytes of a page that a walk through it comes to first
} // namespace

bool FaultService::take() {
  if (placement_.fd() < 0) return false;
  os::Fault faults[kAtOnce];
  const int n = os::fault_read(placement_.fd(), faults, kAtOnce);
  for (int i = 0; i < n; ++i) take(faults[i]);
  return n > 0;
}

void FaultService::take(const os::Fault &fault) {
  StallTimes &stall_ns = memory_.statistics.stall_ns;
  memory_.statistics.fault_events.fetch_add(1, std::memory_order_relaxed);
  memory_.attendance.faulted(fault.thread);
  const uint64_t began = os::now_ns();
  PagedRegion *r = memory_.regions.find(fault.address);
  if (!r) return placement_.wake(fault.address, memory_.page);
  const uint32_t slot = memory_.slot_of(*r, fault.address);
  if (fault.protect) {
    if (stored_to_protected(*r, slot)) stall_ns[StallKind::kProtect] += let_go_since(began);
    else wait_for_room(fault, slot, began);
    return;
  }
  const Page before = memory_[slot];
  const core::Favour::Owner owner = memory_.favour.owner_of(fault.thread);
  const bool served = serve(fault.place, fault.write, owner, false);
  if (!served && !waiting_.add(fault.address, fault.write, owner))
    placement_.wake(fault.address, memory_.page); // it faults again
  if (!PagedMemory::resident(before.state) && (before.state != PageState::kReading || (before.flags & kToMark)))
    follow(fault, slot, owner);
  const PageState state = memory_[slot].state;
  const StallKind kind = kind_of(before, slot, served);
  if (PagedMemory::resident(state)) stall_ns[kind] += let_go_since(began);
  else if (!served || state == PageState::kReading) placement_.begin_wait(slot, kind, began);
}

/// What goes on from faults before, in space or in time.
void FaultService::follow(const os::Fault &fault, uint32_t slot, core::Favour::Owner owner) {
  if (!successions_.expects(slot, owner) && streams_.follow(fault.place, fault.write, owner)) return;
  successions_.follow(slot, fault.write, owner);
}

/// A store finds no memory for a copy of the page.
void FaultService::wait_for_room(const os::Fault &fault, uint32_t slot, uint64_t began) {
  if (!waiting_.add(fault.address, true, memory_.favour.owner_of(fault.thread))) placement_.wake(fault.address, memory_.page);
  else placement_.begin_wait(slot, StallKind::kRoom, began);
}

/// What a thread waits for that faulted on a page that was as `before`.
StallKind FaultService::kind_of(const Page &before, uint32_t slot, bool served) const {
  if (!served) return StallKind::kRoom;
  switch (before.state) {
  case PageState::kZero: return StallKind::kZeroFill;
  case PageState::kShelved:
  case PageState::kAbsent: return StallKind::kNotPrefetched;
  case PageState::kReading:
    return before.flags & kPrefetched ? StallKind::kLate : placement_.waited_for(slot, StallKind::kNotPrefetched);
  default: return StallKind::kProtect;
  }
}

bool FaultService::retry() {
  if (!waiting()) return false;
  return waiting_.retry([this](uint64_t address, bool write, core::Favour::Owner owner) {
    if (!serve(address, write, owner, true)) return false;
    const PagedRegion *r = memory_.regions.find(address);
    if (r && memory_[memory_.slot_of(*r, address)].state == PageState::kReading)
      placement_.wait_for_read(memory_.slot_of(*r, address));
    return true;
  });
}

/// Serves a fault on a page that is not there. `place`: its address, to the byte where the kernel tells it; `again`: it was counted
/// when it was served for the first time, and found no room. False: no room now, ask again.
bool FaultService::serve(uint64_t place, bool write, core::Favour::Owner owner, bool again) {
  const uint64_t address = place & ~(memory_.page - 1);
  PagedRegion *r = memory_.regions.find(address);
  if (!r) return placement_.wake(address, memory_.page), true;
  if (r->draining) return false;
  const uint32_t slot = memory_.slot_of(*r, address);
  switch (memory_[slot].state) {
  case PageState::kZero:
    if (!again) nest_missed(address);
    return fetcher_.zero_fill(*r, slot, runs_.zeros_for_fault(*r, slot), {0, 0, 0, write, true, {}, owner}) != 0;
  case PageState::kAbsent: return refill(*r, place, write, owner);
  case PageState::kMark: marks_.show(slot, write); return true;
  case PageState::kShelved:
    if (!fetcher_.unshelve(slot, write, true)) return false;
    return memory_[slot].state != PageState::kAbsent || refill(*r, place, write, owner);
  case PageState::kReading: wait_for(slot, write, owner, again); return true;
  case PageState::kLost: // the program has removed what makes it raise SIGBUS
    placement_.poison(slot);
    placement_.wake(address, memory_.page);
    return true;
  case PageState::kClean:
  case PageState::kForked:
    if (write && !stored_to_protected(*r, slot)) return false;
    [[fallthrough]];
  default:
    placement_.wake(address, memory_.page); // arrived in the meantime
    placement_.end_wait(slot, 1);
    return true;
  }
}

/// The page is on its way; its installation wakes the thread.
void FaultService::wait_for(uint32_t slot, bool write, core::Favour::Owner owner, bool again) {
  Page &p = memory_[slot];
  if (!again) memory_.favour.waited(owner, false);
  p.owner = low_bits(owner, kOwnerBits);
  p.flags |= static_cast<uint8_t>(kDemand | (write ? kWriteIntent : 0));
  if (!again && (p.flags & kPrefetched)) {
    ++memory_.statistics.site[p.site].late;
    p.flags &= static_cast<uint8_t>(~kPrefetched);
    if (p.site != Statistics::kHistory) nest_late(p.nest, p.site);
    else memory_.stream_used(slot);
  }
  p.flags &= static_cast<uint8_t>(~kToMark);
}

/// Whether a walk through the pages comes to one at its first bytes, or last ones, having passed the one before. Who comes in no
/// order seldom does.
bool FaultService::goes_on(const PagedRegion &r, uint32_t slot, uint64_t place) const {
  const uint64_t offset = place & (memory_.page - 1);
  return (offset < kEdge && memory_.pages_before(r, slot, 1, PagedMemory::resident)) ||
         (offset >= memory_.page - kEdge && memory_.pages_from(r, slot + 1, 1, PagedMemory::resident));
}

/// The absent page, with those around it that are likely to be wanted, too. Nests know that better, and what goes on in order is
/// left to streams. What an export holds is another's, too.
PageRun FaultService::around(PagedRegion &r, uint32_t slot, uint64_t place) {
  const PageRun alone{slot, 1};
  r.surroundings.fault(slot);
  const auto absent = [](PageState s) { return s == PageState::kAbsent; };
  const uint32_t block = core::Surroundings::block(limit_.pages()), before = slot & (block - 1);
  const uint32_t back = memory_.pages_before(r, slot, before, absent),
                 on = memory_.pages_from(r, slot + 1, block - before - 1, absent);
  if (back + on == 0 || r.origin.is_map() || !memory_.options->history || goes_on(r, slot, place) || nest_covers(place))
    return alone;
  r.surroundings.judge(memory_.gone(), memory_.used, memory_.end.wanted_again());
  PageRun run{slot - back, back + 1 + on};
  if (r.surroundings.wants_sample()) {
    r.surroundings.sample(on ? slot + on : slot - back, memory_.gone());
    if (!on) ++run.slot;
    --run.pages;
  }
  return r.surroundings.pays() ? run : alone;
}

/// Reads the page that the program faulted on, and those behind it that it is likely to come to. False: no room now.
bool FaultService::refill(PagedRegion &r, uint64_t place, bool write, core::Favour::Owner owner) {
  const uint32_t slot = memory_.slot_of(r, place);
  const bool expected = !write && r.may_expect_stores() && r.store_predictor.expected();
  memory_.statistics.releases_regretted += memory_.release_trial.faulted(slot, memory_.gone(), memory_.used);
  if (const unsigned kind = memory_.passed.regretted(slot, memory_.gone(), memory_.used); kind != core::PassedNotes::kNone) {
    r.passed[kind].regretted();
    ++memory_.statistics.releases_regretted;
  }
  const Page before = memory_[slot];
  if (!fetcher_.read_around(r, around(r, slot, place), slot, {0, 0, 0, write || expected, true, {}, owner})) return false;
  memory_.waited(owner, slot, before);
  if (!write) r.store_predictor.loaded(slot, expected);
  memory_.statistics.stores_expected += expected;
  if (!memory_.options->history || nest_missed(memory_.pages.address(slot))) return true;
  const uint32_t run = runs_.refill_for_fault(r, slot);
  if (run) fetcher_.read_in(r, slot + 1, run, {Statistics::kHistory, 0, 0, write, false, {}, owner});
  return true;
}

/// The first store to a protected page. False: no room now for a copy of it.
bool FaultService::stored_to_protected(PagedRegion &r, uint32_t slot) {
  const PageState state = memory_[slot].state;
  if (state == PageState::kWriting) return stored_while_written(slot), true;
  if (state == PageState::kDirty) return placement_.unprotect(slot, 1), true; // in the meantime
  if (!PagedMemory::awaits_store(state))
    return placement_.wake(memory_.pages.address(slot), memory_.page), true; // on its way out and in again
  const bool alone = !limit_.has_others();
  if (alone && state == PageState::kForked) return unprotect_forked(r, slot), true;
  if (limit_.may_store(1, os::now_ns()) == 0) return false;
  r.store_predictor.stored(slot);
  if (!r.may_expect_stores()) {
    placement_.make_writable(slot, 1);
    ++memory_.statistics.protect_faults;
  } else if (!alone || !streams_.stored(slot)) {
    unprotect_run(r, slot);
  }
  return true;
}

/// Nobody else has such pages any more: as many of them as make the fault's cost a trifle.
void FaultService::unprotect_forked(PagedRegion &r, uint32_t slot) {
  constexpr uint32_t kMost = 4096;
  const auto forked = [](PageState s) { return s == PageState::kForked; };
  const uint32_t back = memory_.pages_before(r, slot, kMost / 2, forked), on = memory_.pages_from(r, slot, kMost / 2, forked);
  placement_.make_writable(slot - back, back + on);
}

void FaultService::stored_while_written(uint32_t slot) {
  Page &p = memory_[slot];
  if (memory_.cleaning.is_cleaned(slot)) memory_.cleaning.stored(slot, os::now_ns());
  p.flags = static_cast<uint8_t>((p.flags | kRedirtied) & ~kEvict);
  if (!memory_.residency.test(memory_.pages.address(slot)))
    memory_.order.touch(slot), memory_.residency.set(memory_.extent(slot, 1));
  limit_.stored(1);
  placement_.unprotect(slot, 1);
  ++memory_.statistics.protect_faults;
}

/// Neighbours follow where the stores come in order, upward or downward.
void FaultService::unprotect_run(PagedRegion &r, uint32_t slot) {
  const uint32_t end = memory_.end_of(r);
  const auto dirty = [&](uint32_t at) { return at >= r.first_slot && at < end && memory_[at].state == PageState::kDirty; };
  const bool down = !dirty(slot - 1) && dirty(slot + 1);
  uint32_t want = 1;
  if (down || dirty(slot - 1)) want = slot == r.store_next && r.store_pages * 2 < kMostRun ? r.store_pages * 2 : kFirstRun;
  const uint32_t left = down ? slot - r.first_slot + 1 : end - slot;
  uint32_t n = 1;
  while (n < want && n < left && PagedMemory::awaits_store(memory_[down ? slot - n : slot + n].state)) ++n;
  n = std::max(1u, limit_.may_store(n, os::now_ns()));
  r.store_next = down ? slot - n : slot + n;
  r.store_pages = n;
  placement_.make_writable(down ? slot - n + 1 : slot, n);
  memory_.statistics.protect_faults += n;
}

} // namespace pagecast
