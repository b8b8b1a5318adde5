// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that are open at the same time. Two loops that follow each other inside a third one are two nests, both open
// for as long as the third one runs:
//
//     for j
//       for k: y[k] = u[k][j]      nest A, over j and k
//       for k: to[k][j] = y[k]     nest B, over j and k
//
// Each alone may fit in memory and would keep what it touches; both together may not. So each is planned for its part
// of the memory. And what both touch, the one that comes to it last gives up: B in the same j, or A a few j later, if it looks back.
#include "runtime/engine/nest_share.h"

#include "core/arithmetic.h"
#include "runtime/state/open_nests.h"

#include <algorithm>

namespace pagecast {
namespace {

/// Nests smaller than this share of the budget take no part: they come and go inside the others.
constexpr uint64_t kSmallShare = 8;
constexpr uint64_t kLittleShare = 8; ///< of a nest's part: by less it may change without a new plan

struct Company {
  OpenNest *nest[kMostOpenNests];
  unsigned count = 0;
};

Company company(uint64_t budget) {
  Company all;
  for (OpenNest &nest : OpenNests()) {
    if (nest.runs() && nest.policy.plan().total_bytes > budget / kSmallShare) all.nest[all.count++] = &nest;
  }
  return all;
}

/// Bytes that all of them touch, what several touch counted once; about, since a group's holes count, too.
uint64_t touched_by(const Company &all) {
  core::Extent reach[kMostOpenNests * core::kMaxGroups];
  unsigned count = 0;
  uint64_t sum = 0;
  for (unsigned i = 0; i < all.count; ++i) {
    const core::Shape &shape = all.nest[i]->policy.shape();
    sum += all.nest[i]->policy.plan().total_bytes;
    for (unsigned g = 0; g < shape.groups; ++g)
      if (!shape.group[g].indirect) reach[count++] = core::reach_of(shape, shape.group[g]);
  }
  std::sort(reach, reach + count, [](const core::Extent &a, const core::Extent &b) { return a.begin < b.begin; });
  uint64_t bytes = 0, end = 0;
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t begin = std::max(reach[i].begin, end);
    if (reach[i].end > begin) bytes += reach[i].end - begin, end = reach[i].end;
  }
  for (unsigned i = 0; i < all.count; ++i) bytes += all.nest[i]->policy.shape().sliced_total;
  return std::min(bytes, sum);
}

/// What the group reaches in the first iteration of its outermost loop.
core::Extent first_reach(const core::Shape &shape, const core::Group &group) {
  core::Group g = group;
  g.stride[0] = 0;
  return core::reach_of(shape, g);
}

/// How far `first` is ahead of `second`, bytes. Places that loops inside go to are left out where their strides are
/// greater than that of the outermost loop.
int64_t ahead_of(const core::Shape &shape, const core::Group &first, core::Addr second) {
  auto ahead = static_cast<int64_t>(first_reach(shape, first).begin - second);
  for (unsigned k = 1; k < shape.loops; ++k) {
    const auto stride = static_cast<int64_t>(core::magnitude(first.stride[k]));
    if (core::magnitude(first.stride[k]) <= core::magnitude(first.stride[0])) continue;
    ahead %= stride;
    if (ahead > stride / 2) ahead -= stride;
    else if (ahead < -(stride / 2)) ahead += stride;
  }
  return ahead;
}

/// Both nests run in each iteration of one loop, which moves group h of `b` as it moves group g of `a`: does h come to
/// most of g's bytes after g, some iterations later, or, if in the same one, because its nest comes second?
bool comes_later(const OpenNest &b, unsigned h, const OpenNest &a, unsigned g) {
  const core::Group &first = a.policy.shape().group[g], &second = b.policy.shape().group[h];
  const int64_t stride = first.stride[0];
  if (stride != second.stride[0] || a.policy.shape().trips[0] != b.policy.shape().trips[0]) return false;
  const core::Extent mine = first_reach(a.policy.shape(), first), theirs = first_reach(b.policy.shape(), second);
  const int64_t ahead = ahead_of(a.policy.shape(), first, theirs.begin);
  const auto iteration = static_cast<int64_t>(core::magnitude(stride));
  // Every other plane and the ones between them lie in the same place, and have no byte in common.
  const int64_t off = iteration ? ahead - (ahead + (ahead < 0 ? -1 : 1) * (iteration / 2)) / iteration * iteration : 0;
  const auto mine_bytes = static_cast<int64_t>(mine.size()), their_bytes = static_cast<int64_t>(theirs.size());
  if (std::min(off + mine_bytes, their_bytes) - std::max<int64_t>(off, 0) <= mine_bytes / 2) return false;
  const int64_t lead = stride < 0 ? -ahead : ahead;
  if (iteration && lead > iteration / 2) return true;
  return (!iteration || lead >= -(iteration / 2)) && b.serial > a.serial;
}

uint64_t bytes_of(const OpenNest &nest, unsigned group) {
  core::Pieces pieces;
  nest.policy.footprint(group, &pieces);
  return pieces.footprint();
}

/// Most of what group g of `a` touches is given up by `b`, which comes to it later.
bool gives_up(const OpenNest &b, const OpenNest &a, unsigned g) {
  if (b.frame != a.frame || a.policy.shape().group[g].indirect) return false;
  const core::Extent mine = core::reach_of(a.policy.shape(), a.policy.shape().group[g]);
  const core::Shape &other = b.policy.shape();
  for (unsigned h = 0; h < other.groups; ++h) {
    const bool releases = b.policy.plan().group[h].releases || (b.left_to_others >> h & 1);
    if (other.group[h].indirect || !releases || !comes_later(b, h, a, g)) continue;
    const core::Extent theirs = core::reach_of(other, other.group[h]);
    if (core::common(mine, theirs).size() > mine.size() / 2 && bytes_of(b, h) > bytes_of(a, g) / 2) return true;
  }
  return false;
}

/// Unless little has changed.
void plan_again(OpenNest &nest, uint64_t part, uint32_t left) {
  const uint64_t little = nest.shared / kLittleShare;
  if (left == nest.left_to_others && nest.shared - little <= part && part <= nest.shared + little) return;
  nest.shared = part;
  nest.left_to_others = left;
  nest.policy.share(part, left, nest.step());
  nest.wake_at = 0; // a nest that fitted wanted nothing any more; now it may have to release
}

} // namespace

void share_memory(uint64_t budget) {
  const Company all = company(budget);
  if (all.count < 2) return;
  const uint64_t touched = touched_by(all);
  if (touched <= budget) return;
  // First each for its part, since what a nest gives up depends on that; then what each leaves to others.
  for (unsigned i = 0; i < all.count; ++i) {
    OpenNest &nest = *all.nest[i];
    const double part = std::min(1.0, static_cast<double>(nest.policy.plan().total_bytes) / static_cast<double>(touched));
    plan_again(nest, static_cast<uint64_t>(part * static_cast<double>(budget)), nest.left_to_others);
  }
  uint32_t left[kMostOpenNests] = {};
  for (unsigned i = 0; i < all.count; ++i)
    for (unsigned g = 0; g < all.nest[i]->policy.shape().groups; ++g)
      for (unsigned j = 0; j < all.count; ++j)
        if (j != i && gives_up(*all.nest[j], *all.nest[i], g)) left[i] |= 1u << g;
  for (unsigned i = 0; i < all.count; ++i) plan_again(*all.nest[i], all.nest[i]->shared, left[i]);
}

} // namespace pagecast
