// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pager's side of nests: moving the cursors of the open ones, and keeping what they will use.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <algorithm>

namespace pagecast {

/// One advance of one nest: translates the core's decisions.
class Pager::NestSink final : public core::Sink {
public:
  NestSink(Pager &pager, NestSlot &slot) : pager_(pager), slot_(slot) {}
  bool fetch(core::Extent e, unsigned group, bool write) override {
    const uint64_t step = slot_.step();
    const auto number = static_cast<uint8_t>(number_of(&slot_));
    const auto due = static_cast<uint32_t>(step + slot_.nest.distance());
    if (pager_.files_.look_up(e.begin).bytes) return pager_.files_.fetch(e, {site_of(group), number, due, false});
    Asked asked{site_of(group), number, due, write, false};
    if (write && slot_.overwrite.any() && !pager_.finishing_ && pager_.may_overwrite()) {
      asked.unread = slot_.overwrite.unread(slot_.nest.shape(), group, step);
      slot_.overwrite.leave(asked.unread, e);
    }
    return pager_.fetch(e.begin, e.end, asked); // what was asked for is marked: a repetition goes on there
  }
  core::Extent first_served(core::Extent e) override {
    const Region *own = pager_.regions_.at_or_after(e.begin);
    const Region file = pager_.files_.at_or_after(e.begin);
    const bool of_file = file.bytes && (!own || file.base < own->base);
    if (!of_file && !own) return {};
    const uint64_t base = of_file ? file.base : own->base, end = of_file ? file.end() : own->end();
    return {std::min(std::max(e.begin, base), e.end), std::min(e.end, end)};
  }
  void release(core::Extent e, unsigned group, unsigned priority) override {
    if (pager_.files_.look_up(e.begin).bytes) return pager_.files_.release(e, priority, site_of(group));
    pager_.release(e.begin, e.end, pager_.wanted(slot_, group, e, priority), site_of(group));
  }

private:
  uint16_t site_of(unsigned group) const { return static_cast<uint16_t>(slot_.sites + group); }

  Pager &pager_;
  NestSlot &slot_;
};

/// Resident pages of the range stay, as if asked for now, the last one first.
void Pager::keep_range(uint64_t begin, uint64_t end) {
  while (begin < end) {
    Region *r = regions_.find(end - 1);
    if (!r) return; // a nest's extents seldom span regions; what lies before a gap goes without
    const uint64_t from = std::max(begin, r->base);
    for (uint32_t s = slot_of(*r, end), first = slot_of(*r, from); s-- > first;) {
      if (!resident(pages_[s].state)) continue;
      pages_[s].flags &= static_cast<uint8_t>(~(kEvict | kDone));
      order_.touch(s);
    }
    end = from;
  }
}

/// Part number `part` of `parts` of the range.
void Pager::keep_part(core::Extent e, uint64_t part, uint64_t parts) {
  if (e.empty()) return;
  const uint64_t begin = e.begin & ~(page_ - 1), pages = (e.end - begin + page_ - 1) >> shift_;
  keep_range(begin + (pages * part / parts << shift_), begin + (pages * (part + 1) / parts << shift_));
}

/// Whether to go through all that the nest touches, at 2 to 5 ns a page: it is not too much.
bool Pager::worth_walking(const NestSlot &slot) const {
  constexpr uint64_t kMostFootprint = 16; // budgets
  return slot.nest.plan().total_bytes >> shift_ <= kMostFootprint * allowance_.pages();
}

/// A nest begins: what is resident is kept where this one will use it, so that what it releases itself and what
/// it does not use go first. The groups are walked backwards, side by side: if memory must be found among these pages
/// all the same, the ones that the nest comes to last go first.
void Pager::keep_for(NestSlot &slot) {
  const core::Shape &shape = slot.nest.shape();
  if (free_pages() > allowance_.pages() / 4 || !worth_walking(slot)) return; // with so much memory left, nothing goes soon
  constexpr uint64_t kParts = 64;
  for (uint64_t part = kParts; part-- > 0;) {
    for (unsigned g = 0; g < shape.groups; ++g) {
      if (shape.group[g].indirect) {
        keep_part(slot.hull[g], part, kParts);
        continue;
      }
      if (slot.nest.plan().group[g].like != g) continue;
      core::Pieces pieces;
      slot.nest.footprint(g, &pieces);
      const uint64_t n = pieces.size();
      if (n >= kParts) {
        for (uint64_t i = n * (part + 1) / kParts; i-- > n * part / kParts;) keep_range(pieces.at(i).begin, pieces.at(i).end);
        continue;
      }
      for (uint64_t i = n; i-- > 0;) { // few pieces: each in parts
        const core::Extent e = pieces.at(i);
        const bool down = n == 1 && shape.group[g].stride[shape.ticked] < 0;
        keep_part(e, down ? kParts - 1 - part : part, kParts);
      }
    }
  }
}

/// Indirect targets that are fetched whole get no hints while their nest runs: they do not age then.
void Pager::pin_targets(const NestSlot &slot, int change) {
  for (unsigned i = 0; i < slot.pinned_count; ++i)
    if (Region *r = regions_.find(slot.pinned[i])) {
      r->pinned = static_cast<uint32_t>(static_cast<int>(r->pinned) + change);
      if (change > 0) keep_range(r->base, r->end());
    }
}

/// Nests that the program has left: before others start, since what they give up is older than what those will.
bool Pager::close_nests() {
  bool busy = false;
  for (NestSlot &slot : OpenNests()) {
    if (slot.state.load(std::memory_order_acquire) != NestSlot::kClosing) continue;
    NestSink sink(*this, slot);
    slot.nest.finish(slot.step(), sink);
    const bool ran = slot.started, foreseen = ran && slot.foreseen; // read while it is the pager's
    if (ran) release_rest(slot);
    if (ran) pin_targets(slot, -1);
    open_nests.fetch_and(~(1u << number_of(&slot)), std::memory_order_seq_cst);
    slot.state.store(NestSlot::kFree, std::memory_order_release);
    busy = true;
    if (foreseen) release_clusters();
  }
  return busy;
}

/// Nests that the program has entered, in the order in which it did: the forecast compares orders.
void Pager::start_nests() {
  for (;;) {
    NestSlot *next = nullptr;
    for (NestSlot &slot : OpenNests()) {
      if (slot.state.load(std::memory_order_acquire) != NestSlot::kOpen || slot.started) continue;
      if (!next || slot.serial < next->serial) next = &slot;
    }
    if (!next) return;
    NestSlot &slot = *next;
    slot.started = true;
    ++slot.turn;
    slot.astray = 0;
    slot.crowded_seen = crowded();
    share_memory(allowance_.for_pages());
    order_.new_epoch();
    foresee(slot);
    release_along(slot);
    expect_margins(slot);
    keep_for(slot);
    pin_targets(slot, 1);
    for (unsigned g = 0; g < slot.description->groups && slot.sites; ++g) ++statistics.site[slot.sites + g].entries;
  }
}

bool Pager::run_nests() {
  bool busy = close_nests();
  start_nests();
  for (NestSlot &slot : OpenNests()) {
    if (!slot.runs()) continue;
    const uint64_t step = slot.step();
    if (step < slot.wake_at && !(slot.nest.blocked() && slot.room_seen != room_)) continue;
    NestSink sink(*this, slot);
    const uint64_t room = room_;
    slot.nest.crowded(crowded() - slot.crowded_seen);
    slot.crowded_seen = crowded();
    slot.nest.budget(std::min(slot.shared, allowance_.for_pages()));
    const uint64_t wake = slot.nest.advance(step, os::now_ns(), map_, sink);
    slot.room_seen = room;
    // Blocked: only room can help, not the program's progress.
    slot.wake_at = slot.nest.blocked() && wake <= step ? step + 1 : wake;
    slot.slice_ahead.store(slot.nest.slice_distance(), std::memory_order_relaxed);
    __atomic_store_n(&slot.ticket.wake, std::min(slot.ticks.ticks(slot.wake_at), slot.last_tick), __ATOMIC_RELAXED);
    busy = true;
  }
  return busy;
}

/// Whether open nests have stored all that was left unread for them. A nest that is closing has.
bool Pager::all_stored() {
  for (NestSlot &slot : OpenNests()) {
    if (slot.runs() && !slot.overwrite.all_stored(slot.step())) return false;
  }
  return true;
}

} // namespace pagecast
