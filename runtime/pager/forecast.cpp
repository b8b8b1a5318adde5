// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pager's side of core/memory/forecast.h: which nests it hears of, and what released pages gain from it. In a program that
// goes through the same nests again and again, pages are given up in the order in which they will be wanted last.
#include "runtime/state/open_nests.h"
#include "runtime/pager/pager.h"

#include <algorithm>

namespace pagecast {
namespace {
/// Nests that touch less than this share of the budget change little of what is in memory.
constexpr uint64_t kSmallShare = 16;

core::Extent range_of(const NestSlot &slot, unsigned group) {
  const core::Shape &shape = slot.nest.shape();
  return shape.group[group].indirect ? slot.hull[group] : core::reach_of(shape, shape.group[group]);
}

} // namespace

/// A nest begins: when will what it touches be wanted again? And what those touch that it runs beside, which have
/// found it to be the next so far.
void Pager::foresee(NestSlot &slot) {
  const core::Shape &shape = slot.nest.shape();
  slot.foreseen = slot.nest.plan().total_bytes >= budget() / kSmallShare;
  for (core::Forecast::Next &n : slot.next) n = {};
  if (!slot.foreseen) return;
  core::Forecast::Use uses[core::kMaxGroups];
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::Group &group = shape.group[g];
    // What a slice only stores to, nests inside overwrite as a rule; the others have proved it, or read before.
    uses[g] = {range_of(slot, g), !group.indirect && group.stride[0] < 0, group.reads || !(group.overwrites || group.indirect),
               group.writes};
  }
  forecast_.begin(reinterpret_cast<uint64_t>(slot.description), uses, shape.groups);
  order_.set_now(forecast_.now() / due_unit_);
  for (NestSlot &other : OpenNests()) {
    if (!other.runs() || !other.foreseen || other.frame != slot.frame) continue;
    const core::Shape &theirs = other.nest.shape();
    for (unsigned g = 0; g < theirs.groups; ++g) other.next[g] = forecast_.next_use(range_of(other, g), theirs.group[g].writes);
  }
}

/// A nest that fits begins where others' pages fill the memory. What it has finished with must go before what is wanted
/// sooner, and so cannot stay active until its end. Of what nobody knows when it is wanted, that is not so.
void Pager::release_along(NestSlot &slot) {
  const core::Plan &plan = slot.nest.plan();
  if (!slot.foreseen || !plan.fits || plan.total_bytes <= static_cast<uint64_t>(free_pages()) << shift_) return;
  uint32_t kept = slot.left_to_others;
  for (unsigned g = 0; g < slot.nest.shape().groups; ++g)
    if (slot.next[g].kind == core::Forecast::Next::kUnknown) kept |= 1u << g;
  slot.nest.release_along(kept, slot.step());
}

/// `group` of the slot's nest has finished with `e`.
Wanted Pager::wanted(const NestSlot &slot, unsigned group, core::Extent e, unsigned priority) const {
  if (group >= core::kMaxGroups || slot.next[group].kind != core::Forecast::Next::kLater) return {priority, false, 0};
  const core::Forecast::Next &next = slot.next[group];
  return {priority, next.dead(), std::max<uint64_t>(next.rank(e, budget()) / due_unit_, 1)};
}

void Pager::release_parts(const NestSlot &slot, unsigned group, core::Extent e) {
  for (uint64_t begin = e.begin; begin < e.end; begin += due_unit_) {
    const core::Extent part{begin, std::min(e.end, begin + due_unit_)};
    release(part.begin, part.end, wanted(slot, group, part, 0), static_cast<uint16_t>(slot.sites + group));
  }
}

/// The nest is over: what it did not release itself, because all of it fitted or because it came back to it, takes its
/// place among what later nests want, or, where that is not known, among what nobody is known to want. Left where it
/// is it would outstay all that is released from now on, and that may be wanted sooner, however much memory is free now.
void Pager::release_rest(const NestSlot &slot) {
  const core::Shape &shape = slot.nest.shape();
  if (!slot.foreseen || !worth_walking(slot)) return;
  uint32_t done = 0; // bit g: groups like g have been given up
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::GroupPlan &plan = slot.nest.plan().group[g];
    if (slot.left_to_others >> g & 1 || (plan.releases && plan.priority == 0)) done |= 1u << plan.like;
  }
  for (unsigned g = 0; g < shape.groups; ++g) {
    if (shape.group[g].indirect || slot.nest.plan().group[g].like != g || done >> g & 1) continue;
    core::Pieces pieces;
    slot.nest.footprint(g, &pieces);
    for (uint64_t i = 0; i < pieces.size(); ++i) release_parts(slot, g, pieces.at(i));
  }
}

} // namespace pagecast
