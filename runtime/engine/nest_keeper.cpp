// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/nest_keeper.h"

#include "runtime/kernel/sandbox.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint64_t kParts = 64;      ///< of each group, walked side by side
constexpr uint32_t kPlentyShare = 4; ///< of the budget, free
/// Margins may take this share of what is left for pages. A page less in memory is read and written once more in each
/// round; a page of margins saves eight reads, at least.
constexpr uint64_t kMarginsShare = 8;
} // namespace

/// Resident pages of the range stay, as if asked for now, the last one first.
void NestKeeper::keep_range(uint64_t begin, uint64_t end) {
  while (begin < end) {
    const PagedRegion *r = memory_.regions.find(end - 1);
    if (!r) return; // a nest's extents seldom span regions; what lies before a gap goes without
    const uint64_t from = std::max(begin, r->base);
    for (uint32_t s = memory_.slot_of(*r, end), first = memory_.slot_of(*r, from); s-- > first;) {
      if (!PagedMemory::resident(memory_[s].state)) continue;
      memory_[s].flags &= static_cast<uint8_t>(~(kEvict | kDone));
      memory_.order.touch(s);
    }
    end = from;
  }
}

/// Part number `part` of kParts of the range.
void NestKeeper::keep_part(core::Extent e, uint64_t part) {
  if (e.empty()) return;
  const uint64_t begin = e.begin & ~(memory_.page - 1), pages = (e.end - begin + memory_.page - 1) >> memory_.shift;
  keep_range(begin + memory_.bytes(pages * part / kParts), begin + memory_.bytes(pages * (part + 1) / kParts));
}

void NestKeeper::keep_group(const OpenNest &nest, unsigned group, uint64_t part) {
  const core::Shape &shape = nest.policy.shape();
  if (shape.group[group].indirect) return keep_part(nest.hull[group], part);
  const core::GroupPlan &plan = nest.policy.plan().group[group];
  // Of a matrix down its columns most pages are wanted many columns from now: kept, they would outstay those of the next one.
  if (plan.like != group || plan.comes_back >= 0) return;
  core::Pieces pieces;
  nest.policy.footprint(group, &pieces);
  const uint64_t n = pieces.size();
  if (n >= kParts) {
    for (uint64_t i = n * (part + 1) / kParts; i-- > n * part / kParts;) keep_range(pieces.at(i).begin, pieces.at(i).end);
    return;
  }
  for (uint64_t i = n; i-- > 0;) { // few pieces: each in parts
    const bool down = n == 1 && shape.group[group].stride[shape.ticked] < 0;
    keep_part(pieces.at(i), down ? kParts - 1 - part : part);
  }
}

bool NestKeeper::plenty() const { return limit_.free_pages() > limit_.pages() / kPlentyShare; }

void NestKeeper::keep_for(OpenNest &nest) {
  for (uint64_t part = kParts; part-- > 0;)
    for (unsigned g = 0; g < nest.policy.shape().groups; ++g) keep_group(nest, g, part);
}

void NestKeeper::pin_targets(const OpenNest &nest, int change) {
  for (unsigned i = 0; i < nest.pinned_count; ++i) {
    PagedRegion *r = memory_.regions.find(nest.pinned[i]);
    if (!r) continue;
    r->pinned = static_cast<uint32_t>(static_cast<int>(r->pinned) + change);
    if (change > 0) keep_range(r->base, r->end());
  }
}

void NestKeeper::expect_margins(const OpenNest &nest) {
  if (!nest.overwrite.any() || sandboxed()) return;
  const core::Shape &shape = nest.policy.shape();
  const uint64_t before = margins_.bytes(), most = (limit_.for_pages() + before) / kMarginsShare;
  if (before > 2 * most) margins_.forget_all(); // the budget has fallen
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::RowMargins rows = nest.overwrite.row_margins(shape, g);
    if (!rows.any()) continue;
    const core::Extent range = core::reach_of(shape, shape.group[g]);
    if (const PagedRegion *r = memory_.regions.find(range.begin)) margins_.expect(rows, range, {r->base, r->end()}, most);
  }
  if (margins_.bytes() != before) limit_.account();
}

} // namespace pagecast
