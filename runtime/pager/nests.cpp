// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pager's side of nests: moving the cursors of the open ones, and keeping what they will use.
#include "runtime/state/open_nests.h"
#include "runtime/pager/nest_share.h"
#include "runtime/pager/pager.h"

#include <algorithm>

namespace pagecast {

/// One advance of one nest: translates the core's decisions.
class Pager::NestSink final : public core::Sink {
public:
  NestSink(Pager &pager, OpenNest &nest) : pager_(pager), nest_(nest) {}
  bool fetch(core::Extent e, unsigned group, bool write) override {
    const uint64_t step = nest_.step();
    const auto number = static_cast<uint8_t>(number_of(&nest_));
    const auto due = static_cast<uint32_t>(step + nest_.policy.distance());
    if (pager_.files_.look_up(e.begin).bytes) return pager_.files_.fetch(e, {site_of(group), number, due, false});
    Asked asked{site_of(group), number, due, write, false};
    if (write && nest_.overwrite.any() && !pager_.finishing_ && pager_.may_overwrite()) {
      asked.unread = nest_.overwrite.unread(nest_.policy.shape(), group, step);
      nest_.overwrite.leave(asked.unread, e);
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
    pager_.release(e.begin, e.end, pager_.wanted(nest_, group, e, priority), site_of(group));
  }

private:
  uint16_t site_of(unsigned group) const { return static_cast<uint16_t>(nest_.sites + group); }

  Pager &pager_;
  OpenNest &nest_;
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
bool Pager::worth_walking(const OpenNest &nest) const {
  constexpr uint64_t kMostFootprint = 16; // budgets
  return nest.policy.plan().total_bytes >> shift_ <= kMostFootprint * allowance_.pages();
}

/// A nest begins: what is resident is kept where this one will use it, so that what it releases itself and what
/// it does not use go first. The groups are walked backwards, side by side: if memory must be found among these pages
/// all the same, the ones that the nest comes to last go first.
void Pager::keep_for(OpenNest &nest) {
  const core::Shape &shape = nest.policy.shape();
  if (free_pages() > allowance_.pages() / 4 || !worth_walking(nest)) return; // with so much memory left, nothing goes soon
  constexpr uint64_t kParts = 64;
  for (uint64_t part = kParts; part-- > 0;) {
    for (unsigned g = 0; g < shape.groups; ++g) {
      if (shape.group[g].indirect) {
        keep_part(nest.hull[g], part, kParts);
        continue;
      }
      if (nest.policy.plan().group[g].like != g) continue;
      core::Pieces pieces;
      nest.policy.footprint(g, &pieces);
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
void Pager::pin_targets(const OpenNest &nest, int change) {
  for (unsigned i = 0; i < nest.pinned_count; ++i)
    if (Region *r = regions_.find(nest.pinned[i])) {
      r->pinned = static_cast<uint32_t>(static_cast<int>(r->pinned) + change);
      if (change > 0) keep_range(r->base, r->end());
    }
}

/// Nests that the program has left: before others start, since what they give up is older than what those will.
bool Pager::close_nests() {
  bool busy = false;
  for (OpenNest &nest : OpenNests()) {
    if (nest.state.load(std::memory_order_acquire) != OpenNest::kClosing) continue;
    NestSink sink(*this, nest);
    nest.policy.finish(nest.step(), sink);
    const bool ran = nest.started, foreseen = ran && nest.foreseen; // read while it is the pager's
    if (ran) release_rest(nest);
    if (ran) pin_targets(nest, -1);
    open_nest_mask.fetch_and(~(1u << number_of(&nest)), std::memory_order_seq_cst);
    nest.state.store(OpenNest::kFree, std::memory_order_release);
    busy = true;
    if (foreseen) release_clusters();
  }
  return busy;
}

/// Nests that the program has entered, in the order in which it did: the forecast compares orders.
void Pager::start_nests() {
  for (;;) {
    OpenNest *next = nullptr;
    for (OpenNest &nest : OpenNests()) {
      if (nest.state.load(std::memory_order_acquire) != OpenNest::kOpen || nest.started) continue;
      if (!next || nest.serial < next->serial) next = &nest;
    }
    if (!next) return;
    OpenNest &nest = *next;
    nest.started = true;
    ++nest.turn;
    nest.astray = 0;
    nest.crowded_seen = crowded();
    share_memory(allowance_.for_pages());
    order_.new_epoch();
    foresee(nest);
    release_along(nest);
    expect_margins(nest);
    keep_for(nest);
    pin_targets(nest, 1);
    for (unsigned g = 0; g < nest.description->groups && nest.sites; ++g) ++statistics.site[nest.sites + g].entries;
  }
}

bool Pager::run_nests() {
  bool busy = close_nests();
  start_nests();
  for (OpenNest &nest : OpenNests()) {
    if (!nest.runs()) continue;
    const uint64_t step = nest.step();
    if (step < nest.wake_at && !(nest.policy.blocked() && nest.freed_seen != freed_)) continue;
    NestSink sink(*this, nest);
    const uint64_t freed = freed_;
    nest.policy.crowded(crowded() - nest.crowded_seen);
    nest.crowded_seen = crowded();
    nest.policy.budget(std::min(nest.shared, allowance_.for_pages()));
    const uint64_t wake = nest.policy.advance(step, os::now_ns(), map_, sink);
    nest.freed_seen = freed;
    // Blocked: only room can help, not the program's progress.
    nest.wake_at = nest.policy.blocked() && wake <= step ? step + 1 : wake;
    nest.slice_ahead.store(nest.policy.slice_distance(), std::memory_order_relaxed);
    __atomic_store_n(&nest.ticket.wake, std::min(nest.ticks.ticks(nest.wake_at), nest.last_tick), __ATOMIC_RELAXED);
    busy = true;
  }
  return busy;
}

/// Whether open nests have stored all that was left unread for them. A nest that is closing has.
bool Pager::all_stored() {
  for (OpenNest &nest : OpenNests()) {
    if (nest.runs() && !nest.overwrite.all_stored(nest.step())) return false;
  }
  return true;
}

} // namespace pagecast
