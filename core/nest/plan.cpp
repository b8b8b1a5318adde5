// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/plan.h"
#include "core/arithmetic.h"
#include "core/nest/pieces.h"

namespace pagecast::core {

namespace {

constexpr uint64_t kStripUnit = 64;     // iterations: whole vectors, and the emitted code relies on it
constexpr uint64_t kMaxWide = 64 << 10; // bytes: this is where random reads reach a disk's bandwidth
constexpr uint64_t kSmallPages = 16;    // groups of fewer pages are not worth a release
constexpr uint64_t kBeyondShare = 16;   // of its reach, by which a group may go beyond one that it is like
constexpr uint64_t kFewPages = 8;       // of a row: its ends, which it shares with its neighbours, count

// Shares of the budget.
constexpr uint64_t kAheadShare = 4;  // is left to prefetches by what localized loops keep, at most
constexpr uint64_t kAheadLeast = 16; // is left to them at least, where little is new
constexpr uint64_t kTrailShare = 2;  // may lie between a group and the one that comes to its pages later, and releases them
constexpr uint64_t kWideShare = 4;   // may be in wide blocks that are live at a time
constexpr uint64_t kStepShare = 256; // is what the fastest group moves by in a step, at most
constexpr uint64_t kStepsShare = 32; // is what all groups move by in a step, at most

constexpr uint64_t kIterationsAhead = 2; // of a loop, for whose pages there is space beside what it keeps
constexpr uint64_t kStepsInRequest = 4;  // at least, of the fastest group
constexpr uint64_t kStepsInQueue = 2;    // at least, of groups of which each iteration may be in a page of its own
constexpr uint64_t kStillStrip = 4096;   // iterations, where nothing moves: only slices count steps
constexpr uint64_t kStillBatch = 16;     // steps, where nothing moves

/// Bytes in pages of the group while the loops from `from` run, and (span) those of one contiguous piece.
uint64_t footprint(const Shape &s, const Group &g, unsigned from, uint64_t page, uint64_t *span = nullptr) {
  Pieces p;
  p.set(g, 0, s.trips, from, s.loops, page);
  if (span) *span = p.span();
  return p.footprint();
}

/// Strides shorter than this come back to the same pages: to most of them, or, where rows of few pages lie
/// close together, to the page that two rows share.
uint64_t reused_below(uint64_t span, uint64_t page) {
  if (span < page) return most(page, 2 * span);
  return span <= kFewPages * page ? span + page : span;
}

void find_reuse(const Shape &s, const Group &g, uint64_t page, GroupPlan *plan) {
  for (unsigned k = 0; k < s.loops; ++k) {
    if (s.trips[k] <= 1 || g.indirect) continue;
    uint64_t span;
    footprint(s, g, k + 1, page, &span);
    if (g.stride[k] == 0) plan->temporal |= uint8_t(1u << k);
    else if (magnitude(g.stride[k]) < reused_below(span, page)) plan->spatial |= uint8_t(1u << k);
  }
}

/// Bytes that `g`, of `bytes` in pages, reaches and `h`, which moves alike, does not; ~0: it does not move alike, lies
/// elsewhere, or `h` may touch what `g` leaves out.
uint64_t reach_beyond(const Shape &s, const Group &g, uint64_t bytes, const Group &h) {
  for (unsigned k = 0; k < s.loops; ++k)
    if (g.stride[k] != h.stride[k] && s.trips[k] > 1) return kUnbounded;
  const Extent mine = reach_of(s, g);
  const uint64_t beyond = mine.size() - common(mine, reach_of(s, h)).size();
  const bool dense = bytes >= mine.size() - mine.size() / kBeyondShare;
  return !mine.empty() && dense && beyond <= mine.size() / kBeyondShare ? beyond : kUnbounded;
}

void add_footprints(const Shape &s, const Conditions &c, Plan *plan) {
  for (unsigned g = 0; g < s.groups; ++g) {
    uint8_t &like = plan->group[g].like;
    like = uint8_t(g);
    if (s.group[g].indirect) continue;
    uint64_t bytes = footprint(s, s.group[g], 0, c.page);
    for (unsigned h = 0; h < g && like == g; ++h) {
      if (s.group[h].indirect || plan->group[h].like != h) continue;
      const uint64_t beyond = reach_beyond(s, s.group[g], bytes, s.group[h]);
      if (beyond == kUnbounded) continue;
      like = uint8_t(h);
      bytes = beyond;
    }
    plan->total_bytes = saturating_add(plan->total_bytes, bytes);
    for (unsigned k = 0; k < s.loops; ++k)
      plan->iteration_bytes[k] = saturating_add(plan->iteration_bytes[k], footprint(s, s.group[g], k + 1, c.page));
  }
}

/// By how many bytes `g` begins beyond `h`; negative: before it.
int64_t ahead_of(const Group &g, const Group &h) { return int64_t(g.base + uint64_t(g.lo) - h.base - uint64_t(h.lo)); }

/// The share of what `g` touches while the loops inside `k` run that `h` does not touch: 1 unless `g` is some iterations of
/// one of these loops away from `h`, as a[i+1][j] is from a[i-1][j] down a column. Between 0 and 1.
double beyond_share(const Shape &s, const Group &g, const Group &h, unsigned k, uint64_t page) {
  for (unsigned m = 0; m < s.loops; ++m)
    if (g.stride[m] != h.stride[m] && s.trips[m] > 1) return 1;
  const uint64_t apart = magnitude(ahead_of(g, h));
  const uint64_t longer = magnitude((g.hi - g.lo) - (h.hi - h.lo));
  double least_share = 1;
  for (unsigned m = k + 1; m < s.loops; ++m) {
    const uint64_t stride = magnitude(g.stride[m]);
    if (stride == 0 || s.trips[m] <= 1) continue;
    const uint64_t n = (apart + stride / 2) / stride, exact = n * stride;
    const uint64_t off = (exact > apart ? exact - apart : apart - exact) + longer;
    const double share = double(n) / double(s.trips[m]) + double(off) / double(page);
    least_share = share < least_share ? share : least_share;
  }
  return least_share;
}

/// Bytes that reuse in loop k must keep for the group, but for those that a group before it, which `keeps` as well, has
/// kept already.
uint64_t kept_for(const Shape &s, unsigned g, unsigned k, uint64_t page, uint32_t keeps) {
  const uint64_t all = footprint(s, s.group[g], k + 1, page);
  double share = 1;
  for (unsigned h = 0; h < g; ++h) {
    if (!(keeps >> h & 1)) continue;
    const double beyond = beyond_share(s, s.group[g], s.group[h], k, page);
    share = beyond < share ? beyond : share;
  }
  return share < 1 ? uint64_t(double(all) * share) : all;
}

/// Bytes that an iteration of loop k fetches: all of a group that comes to other pages, and of one that comes to the same
/// pages again by a short stride what that leaves behind.
uint64_t fetched_by(const Shape &s, const Plan &plan, unsigned k, uint64_t page) {
  uint64_t sum = 0;
  for (unsigned g = 0; g < s.groups; ++g) {
    if (s.group[g].indirect || plan.group[g].temporal >> k & 1) continue;
    const uint64_t bytes = footprint(s, s.group[g], k + 1, page);
    const bool again = plan.group[g].spatial >> k & 1;
    const double share = again ? double(least(magnitude(s.group[g].stride[k]), page)) / double(page) : 1;
    sum = saturating_add(sum, again ? uint64_t(double(bytes) * share) : bytes);
  }
  return sum;
}

/// Sets plan->localized.
void localize(const Shape &s, const Conditions &c, Plan *plan) {
  uint64_t kept[kMaxGroups] = {};
  plan->localized = s.loops;
  for (unsigned k = s.loops; k-- > 0;) {
    uint64_t need = 0;
    uint32_t keeps = 0;
    for (unsigned g = 0; g < s.groups; ++g) {
      const GroupPlan &p = plan->group[g];
      const bool reuse = (p.temporal | p.spatial) >> k & 1;
      if (!s.group[g].indirect && (reuse || !c.release)) {
        kept[g] = kept_for(s, g, k, c.page, keeps);
        keeps |= 1u << g;
      }
      need = saturating_add(need, kept[g]);
    }
    const uint64_t ahead = most(c.budget / kAheadLeast, saturating_mul(kIterationsAhead, fetched_by(s, *plan, k, c.page)));
    if (need > c.budget - least(ahead, c.budget / kAheadShare)) return;
    plan->localized = k;
  }
}

void choose_release(const Shape &s, const Conditions &c, const Plan &plan, unsigned g, GroupPlan *p) {
  p->release_unit = int8_t(s.ticked);
  for (unsigned k = 0; k < s.loops; ++k) {
    const bool temporal = p->temporal >> k & 1, spatial = p->spatial >> k & 1;
    const bool kept = k >= plan.localized && !(c.at_once && temporal && k < s.ticked);
    if (!kept) {
      if (temporal || spatial) p->priority += 1u << k;
      if (spatial && k < s.ticked) p->comes_back = int8_t(k);
      continue;
    }
    if (temporal && p->release_loop < 0) p->release_loop = int8_t(k);
    const int unit = temporal ? int(k) - 1 : spatial ? int(k) : int(s.ticked);
    if (unit < p->release_unit) p->release_unit = int8_t(unit);
  }
  p->releases = c.release && (!plan.fits || c.crowded) && !s.group[g].indirect &&
                footprint(s, s.group[g], 0, c.page) > kSmallPages * c.page;
}

/// Bytes in pages that `n` iterations of loop k touch: those of elements share pages.
uint64_t bytes_of(const Shape &s, unsigned k, uint64_t n, uint64_t page) {
  uint64_t counts[kMaxLoops], sum = 0;
  for (unsigned m = 0; m < s.loops; ++m) counts[m] = m == k ? n : s.trips[m];
  for (unsigned g = 0; g < s.groups; ++g) {
    if (s.group[g].indirect) continue;
    Pieces p;
    p.set(s.group[g], 0, counts, k, s.loops, page);
    sum = saturating_add(sum, p.footprint());
  }
  return sum;
}

bool has_same_strides(const Shape &s, const Group &g, const Group &h) {
  for (unsigned k = 0; k < s.loops; ++k)
    if (g.stride[k] != h.stride[k]) return false;
  return true;
}

/// Group reuse that only run-time values show: `later` touches, n iterations of a localized loop later, what
/// `g` touches now (a[i+1][j] and a[i-1][j] with a whole row between them). Returns the loop; -1: none.
int trails(const Shape &s, const Conditions &c, const Plan &plan, const Group &g, const Group &later) {
  if (g.indirect || later.indirect || !has_same_strides(s, g, later)) return -1;
  const int64_t apart = ahead_of(g, later);
  for (unsigned k = plan.localized; k < s.loops; ++k) {
    const uint64_t stride = magnitude(g.stride[k]);
    if (stride == 0 || (apart < 0) != (g.stride[k] < 0)) continue;
    const uint64_t n = (magnitude(apart) + stride / 2) / stride;
    const uint64_t exact = n * stride, off = exact > magnitude(apart) ? exact - magnitude(apart) : magnitude(apart) - exact;
    if (n > 0 && n < s.trips[k] && off < c.page && bytes_of(s, k, n, c.page) <= c.budget / kTrailShare) return int(k);
  }
  return -1;
}

/// Whether `h` touches in each iteration what `g` touches, to a page.
bool lies_with(const Shape &s, const Group &g, const Group &h, uint64_t page) {
  return !g.indirect && !h.indirect && has_same_strides(s, g, h) && magnitude(ahead_of(g, h)) < page;
}

/// Only the last one to touch a page releases it. The first ask for it is to know of stores: those that come later, in the same
/// iteration, or in an earlier one of the same step.
void choose_trailing(const Shape &s, const Conditions &c, Plan *plan) {
  for (unsigned g = 0; g < s.groups; ++g) {
    GroupPlan &p = plan->group[g];
    for (unsigned h = 0; h < s.groups && (p.releases || s.group[g].writes); ++h) {
      if (s.group[g].writes && h != g && lies_with(s, s.group[g], s.group[h], c.page)) plan->group[h].stored = true;
      const int loop = h == g ? -1 : trails(s, c, *plan, s.group[g], s.group[h]);
      if (loop < 0) continue;
      if (p.releases) p.stored |= s.group[h].writes || plan->group[h].stored;
      p.releases = false;
      if (s.group[g].writes && loop >= int(s.ticked)) plan->group[h].stored = true;
    }
  }
}

/// A group of which each step touches many narrow pieces, and a loop whose next iterations want their neighbours.
struct Walk {
  int loop = -1;
  uint64_t pieces = 0; ///< live at a time
  uint64_t reach = 0;  ///< bytes by which the loop goes on in each piece
};

/// The loop with the longest reach: FFT lines along z go on by a few columns in one loop and by whole lines in the next.
Walk find_walk(const Shape &s, const Conditions &c, unsigned g, const GroupPlan &p) {
  Walk best;
  for (unsigned k = s.ticked + 1; k-- > 0;) {
    uint64_t span;
    const uint64_t below = footprint(s, s.group[g], k + 1, c.page, &span);
    if (!(p.spatial >> k & 1) || below <= round_up(span, c.page)) continue; // one piece: merging does it
    const uint64_t reach = saturating_mul(magnitude(s.group[g].stride[k]), s.trips[k]);
    if (reach > best.reach) best = {int(k), below / round_up(span, c.page), reach};
  }
  return best;
}

/// Wide blocks fetch neighbouring columns once, if all blocks that are live at a time fit. Groups that run ahead of
/// another one over the same pages share its blocks.
void choose_blocks(const Shape &s, const Conditions &c, Plan *plan) {
  Walk walk[kMaxGroups];
  for (unsigned g = 0; g < s.groups; ++g)
    if (!s.group[g].indirect) walk[g] = find_walk(s, c, g, plan->group[g]);
  const auto block_of = [&](unsigned g, uint64_t most_wide) {
    uint64_t block = c.page;
    while (block * 2 <= least(most_wide, walk[g].reach)) block *= 2;
    return block;
  };
  const auto live_bytes = [&](uint64_t most_wide) {
    uint64_t sum = 0;
    for (unsigned g = 0; g < s.groups; ++g)
      if (walk[g].loop >= 0 && (plan->group[g].releases || !c.release))
        sum = saturating_add(sum, saturating_mul(walk[g].pieces, block_of(g, most_wide)));
    return sum;
  };
  uint64_t wide = most(c.page, least(kMaxWide, c.max_io));
  while (wide > c.page && live_bytes(wide) > c.budget / kWideShare) wide /= 2;
  for (unsigned g = 0; g < s.groups; ++g) {
    GroupPlan &p = plan->group[g];
    p.block = walk[g].loop >= 0 ? block_of(g, wide) : c.page;
    if (p.block > c.page) p.wide_loop = int8_t(walk[g].loop);
  }
}

/// Bytes by which one iteration of the ticked loop moves the group on, in all of its pieces: what two iterations touch
/// beyond one.
uint64_t moved(const Shape &s, const Group &g, uint64_t page) {
  if (g.indirect) return 0;
  uint64_t counts[kMaxLoops];
  for (unsigned k = 0; k < s.loops; ++k) counts[k] = s.trips[k];
  constexpr Addr kMiddle = kUnbounded / 2; // strides may be negative
  Pieces one, two;
  counts[s.ticked] = 1;
  one.set(g, kMiddle, counts, s.ticked, s.loops, page);
  counts[s.ticked] = 2;
  two.set(g, kMiddle, counts, s.ticked, s.loops, page);
  const uint64_t pieces = most(one.size(), 1);
  if (two.size() > pieces) return saturating_mul(two.size() - pieces, round_up(two.span(), page));
  return saturating_mul(pieces, two.span() - least(two.span(), one.span()));
}

/// Slices that go by rows, or by what is inside the ticked loop, count as the program does; those of a single loop's elements do not.
bool by_rows(const Shape &s) { return s.stages > 0 && (s.loops > 1 || s.sliced_bytes > 0); }

void choose_strip(const Shape &s, const Conditions &c, uint64_t given, Plan *plan) {
  uint64_t fastest = 0, sum = 0, scattered = 0;
  for (unsigned g = 0; g < s.groups; ++g) {
    const uint64_t m = moved(s, s.group[g], c.page);
    fastest = most(fastest, m);
    sum = saturating_add(sum, m);
    scattered += s.group[g].scattered ? c.page : 0; // at worst, each iteration is in a page of its own
  }
  fastest = most(fastest, s.sliced_bytes);
  sum = saturating_add(sum, s.sliced_bytes);
  const uint64_t unit = s.sliced_bytes || !s.strips ? 1 : kStripUnit; // loops around loops are not vectorized
  const uint64_t trip = s.trips[s.ticked];
  if (given) {
    plan->strip = given;
  } else if (s.strips || (!by_rows(s) && c.fixed_distance == 0)) { // users count as the program does
    const uint64_t block = most(c.page, least(c.max_io / kStepsInRequest, c.budget / kStepShare));
    uint64_t strip = fastest ? block / fastest : kStillStrip;
    if (sum || scattered) strip = least(strip, c.budget / kStepsShare / saturating_add(sum, scattered));
    if (scattered && c.queue_bytes) // short ones, so that what a slice has asked for moves on evenly with the program
      strip = least(strip, c.queue_bytes / kStepsInQueue / scattered);
    const uint64_t whole = round_up(least(trip, uint64_t{1} << 62), unit);
    plan->strip = most(unit, least(strip / unit * unit, whole));
  }
  const uint64_t iterations = most(1, least(plan->strip, trip));
  for (unsigned g = 0; g < s.groups; ++g) {
    plan->group[g].step_bytes = saturating_mul(moved(s, s.group[g], c.page), iterations);
    plan->step_bytes = saturating_add(plan->step_bytes, plan->group[g].step_bytes);
  }
  plan->step_bytes = saturating_add(plan->step_bytes, saturating_mul(s.sliced_bytes, iterations));
  // What the loops inside a step touch must be there at the same time: if it cannot be, what is fetched goes before its turn.
  constexpr uint64_t kLiveSteps = 2; // the program's and the one ahead of it
  plan->prefetches = plan->fits || (plan->step_bytes <= c.budget / kLiveSteps && plan->iteration_bytes[s.ticked] <= c.budget);
  plan->batch_steps = fastest ? most(1, c.max_io / most(1, saturating_mul(fastest, iterations))) : kStillBatch;
}

} // namespace

Plan make_plan(const Shape &s, const Conditions &c, uint64_t strip) {
  Plan plan;
  if (s.loops == 0) return plan;
  add_footprints(s, c, &plan);
  plan.total_bytes = saturating_add(plan.total_bytes, s.sliced_total);
  plan.fits = plan.total_bytes <= c.budget;
  for (unsigned g = 0; g < s.groups; ++g) find_reuse(s, s.group[g], c.page, &plan.group[g]);
  localize(s, c, &plan);
  for (unsigned g = 0; g < s.groups; ++g) choose_release(s, c, plan, g, &plan.group[g]);
  choose_trailing(s, c, &plan);
  choose_blocks(s, c, &plan);
  choose_strip(s, c, strip, &plan);
  return plan;
}

Extent reach_of(const Shape &s, const Group &g) {
  return hull_of({g.base + uint64_t(g.lo), g.base + uint64_t(g.hi)}, s.loops, s.trips, g.stride);
}

Shape sanitized(const Shape &given) {
  Shape s = given;
  if (s.loops > kMaxLoops) s.loops = kMaxLoops;
  if (s.groups > kMaxGroups) s.groups = kMaxGroups;
  if (s.loops > 0 && s.ticked >= s.loops) s.ticked = s.loops - 1;
  if (s.loops == 0) s.ticked = 0;
  return s;
}

Conditions sanitized(const Conditions &given) {
  Conditions c = given;
  if (c.page == 0 || (c.page & (c.page - 1))) c.page = 4096;
  if (c.max_io == 0) c.max_io = 256 << 10;
  c.max_io = most(round_down(least(c.max_io, uint64_t{1} << 40), c.page), c.page);
  return c;
}

} // namespace pagecast::core
