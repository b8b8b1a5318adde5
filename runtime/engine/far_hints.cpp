// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/far_hints.h"

#include "core/nest/plan.h"
#include "core/sharing/density.h"
#include "runtime/kernel/os.h"

#include <algorithm>
#include <cstring>

namespace pagecast {
namespace {

constexpr uint64_t kMostAhead = 4u << 20; ///< bytes of a group in an interval
constexpr auto kLeastIntervals = static_cast<uint64_t>(1 / core::kInterval);

/// Whether its references say on entry what they will touch.
bool is_seen(const core::Group &g) { return !g.indirect && (g.reads || g.writes) && g.hi > g.lo; }

core::Reference reference_of(const core::Shape &shape, const core::Group &g, uint64_t beginning) {
  core::Reference r;
  r.first = static_cast<int64_t>(g.base + static_cast<uint64_t>(g.lo) - beginning);
  r.span = static_cast<uint64_t>(g.hi - g.lo);
  r.loops = shape.loops;
  std::copy(shape.trips, shape.trips + shape.loops, r.trips);
  std::copy(g.stride, g.stride + shape.loops, r.stride);
  return r;
}

/// The same share of another whole, rounded down.
uint64_t part(uint64_t of, uint64_t whole, uint64_t other) {
  return static_cast<uint64_t>(static_cast<__int128>(of) * other / whole);
}

} // namespace

FarHints::Blocks FarHints::blocks_of(const PagedRegion &r) const {
  const uint64_t beginning = r.base - (r.origin.start + (uint64_t{r.first_slot} << pager_.memory.shift));
  const uint64_t block = pager_.store.block_of(r.origin);
  return {beginning, block, std::min(core::block_set_words((r.end() - beginning + block - 1) / block), kMostWords)};
}

void FarHints::begin(const OpenNest &nest) {
  Nest &n = nest_[number_of(&nest)] = {};
  const core::Shape &shape = nest.policy.shape();
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::Group &group = shape.group[g];
    const core::Extent reach = core::reach_of(shape, group);
    const PagedRegion *r = is_seen(group) ? pager_.memory.regions.find(group.base + static_cast<uint64_t>(group.lo)) : nullptr;
    if (r && r->origin.is_map()) n.intervals = std::max({n.intervals, kLeastIntervals, reach.size() / kMostAhead});
  }
  n.intervals = std::min(n.intervals, nest.policy.steps());
  if (!n.intervals || before_) return;
  set_ = static_cast<uint64_t *>(os::reserve(kMostWords * sizeof *set_));
  before_ = static_cast<uint64_t *>(set_ ? os::reserve(kMostWords * sizeof *before_) : nullptr);
}

void FarHints::insert(const OpenNest &nest, const PagedRegion &r, const Blocks &blocks, uint64_t interval, uint64_t intervals,
                      uint64_t *set) const {
  const core::Shape &shape = nest.policy.shape();
  memset(set, 0, blocks.words * sizeof *set);
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::Group &group = shape.group[g];
    if (!is_seen(group) || group.base + static_cast<uint64_t>(group.lo) - r.base >= r.bytes) continue;
    const core::Reference reference = reference_of(shape, group, blocks.beginning);
    core::insert_touched(reference, core::interval_of(reference, interval, intervals), blocks.bytes, set, blocks.words);
  }
}

/// Asks for what the interval touches that the one before it did not, and that is not in memory.
void FarHints::ask(const OpenNest &nest, const PagedRegion &r, uint64_t interval, uint64_t intervals) {
  const Blocks blocks = blocks_of(r);
  insert(nest, r, blocks, interval, intervals, set_);
  if (interval) insert(nest, r, blocks, interval - 1, intervals, before_);
  for (uint64_t w = 0; w < blocks.words && interval; ++w) set_[w] &= ~before_[w];
  const core::Extent mapped{r.base, r.end()};
  for (uint64_t b = 0; (b = core::next_block(set_, blocks.words, b)) < blocks.words * 64; ++b) {
    const core::Extent e = core::common({blocks.beginning + b * blocks.bytes, blocks.beginning + (b + 1) * blocks.bytes}, mapped);
    if (e.empty() || pager_.memory.map.next_absent(e, blocks.bytes).empty()) continue;
    if (!pager_.store.ask_ahead(r.origin, e.begin - blocks.beginning, e.size())) return;
  }
}

uint64_t FarHints::go_on(const OpenNest &nest, uint64_t step) {
  Nest &n = nest_[number_of(&nest)];
  if (n.next >= n.intervals || !before_) return ~uint64_t{0};
  const uint64_t steps = nest.policy.steps(), now = part(step, steps, n.intervals);
  n.next = std::max(n.next, now);
  for (; n.next < n.intervals && n.next <= now + 1; ++n.next)
    for (unsigned i = 0; i < pager_.memory.regions.count(); ++i)
      if (const PagedRegion &r = pager_.memory.regions[i]; r.origin.is_map()) ask(nest, r, n.next, n.intervals);
  if (n.next >= n.intervals) return ~uint64_t{0};
  return static_cast<uint64_t>((static_cast<__int128>(n.next - 1) * steps + n.intervals - 1) /
                               n.intervals); // when its turn comes
}

} // namespace pagecast
