// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/forecasts.h"

#include <algorithm>

namespace pagecast {
namespace {
/// Nests that touch less than this share of the budget change little of what is in memory.
constexpr uint64_t kSmallShare = 16;
constexpr uint64_t kDueSteps = 8; ///< in which dues are told apart, while the budget is touched once
constexpr uint64_t kMostFootprint = 16; ///< budgets; what is worth walking through

core::Extent range_of(const OpenNest &nest, unsigned group) {
  const core::Shape &shape = nest.policy.shape();
  return shape.group[group].indirect ? nest.hull[group] : core::reach_of(shape, shape.group[group]);
}

} // namespace

void Forecasts::start(uint64_t budget) { due_unit_ = std::max<uint64_t>(budget / kDueSteps, memory_.page); }

void Forecasts::foresee(OpenNest &nest) {
  const core::Shape &shape = nest.policy.shape();
  nest.foreseen = nest.policy.plan().total_bytes >= limit_.budget() / kSmallShare;
  for (core::Forecast::Next &n : nest.next) n = {};
  if (!nest.foreseen) return;
  core::Forecast::Use uses[core::kMaxGroups];
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::Group &group = shape.group[g];
    // What a slice only stores to, nests inside overwrite as a rule; the others have proved it, or read before.
    uses[g] = {range_of(nest, g), !group.indirect && group.stride[0] < 0, group.reads || !(group.overwrites || group.indirect),
               group.writes};
  }
  forecast_.begin(reinterpret_cast<uint64_t>(nest.description), uses, shape.groups);
  memory_.order.set_now(forecast_.now() / due_unit_);
  for (OpenNest &other : OpenNests()) {
    if (!other.runs() || !other.foreseen || other.frame != nest.frame) continue;
    const core::Shape &theirs = other.policy.shape();
    for (unsigned g = 0; g < theirs.groups; ++g) other.next[g] = forecast_.next_use(range_of(other, g), theirs.group[g].writes);
  }
}

void Forecasts::release_along(OpenNest &nest) {
  const core::Plan &plan = nest.policy.plan();
  if (!nest.foreseen || !plan.fits || plan.total_bytes <= static_cast<uint64_t>(limit_.free_pages()) << memory_.shift) return;
  uint32_t kept = nest.left_to_others;
  for (unsigned g = 0; g < nest.policy.shape().groups; ++g)
    if (nest.next[g].kind == core::Forecast::Next::kUnknown) kept |= 1u << g;
  nest.policy.release_along(kept, nest.step());
}

Wanted Forecasts::wanted(const OpenNest &nest, unsigned group, core::Extent e, unsigned priority) const {
  if (group >= core::kMaxGroups || nest.next[group].kind != core::Forecast::Next::kLater) return {priority, false, 0};
  const core::Forecast::Next &next = nest.next[group];
  return {priority, next.dead(), std::max<uint64_t>(next.rank(e, limit_.budget()) / due_unit_, 1)};
}

void Forecasts::release_parts(const OpenNest &nest, unsigned group, core::Extent e) {
  for (uint64_t begin = e.begin; begin < e.end; begin += due_unit_) {
    const core::Extent part{begin, std::min(e.end, begin + due_unit_)};
    eviction_.release(part.begin, part.end, wanted(nest, group, part, 0), static_cast<uint16_t>(nest.sites + group));
  }
}

void Forecasts::release_rest(const OpenNest &nest) {
  const core::Shape &shape = nest.policy.shape();
  if (!nest.foreseen || !worth_walking(nest)) return;
  uint32_t done = 0; // bit g: groups like g have been given up
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::GroupPlan &plan = nest.policy.plan().group[g];
    if (nest.left_to_others >> g & 1 || (plan.releases && plan.priority == 0)) done |= 1u << plan.like;
  }
  for (unsigned g = 0; g < shape.groups; ++g) {
    if (shape.group[g].indirect || nest.policy.plan().group[g].like != g || done >> g & 1) continue;
    core::Pieces pieces;
    nest.policy.footprint(g, &pieces);
    for (uint64_t i = 0; i < pieces.size(); ++i) release_parts(nest, g, pieces.at(i));
  }
}

bool Forecasts::worth_walking(const OpenNest &nest) const {
  return nest.policy.plan().total_bytes >> memory_.shift <= kMostFootprint * limit_.pages();
}

} // namespace pagecast
