// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/overwrite.h"
#include "core/arithmetic.h"

namespace pagecast::core {

namespace {

constexpr Extent kEverywhere{0, kUnbounded};

/// All that the group touches; kEverywhere when that is not a range of addresses.
Extent hull(const Shape &s, const Group &g) {
  uint64_t below = 0, above = 0;
  for (unsigned k = 0; k < s.loops; ++k) {
    const uint64_t reach = saturating_mul(magnitude(g.stride[k]), s.trips[k] ? s.trips[k] - 1 : 0);
    uint64_t &side = g.stride[k] < 0 ? below : above;
    side = saturating_add(side, reach);
  }
  const Addr first = g.base + uint64_t(g.lo);
  const uint64_t size = saturating_add(above, uint64_t(g.hi) - uint64_t(g.lo));
  if (g.hi <= g.lo || below > first || size > kUnbounded - first)
    return kEverywhere;
  return {first - below, first + size};
}

bool without_gaps(const Shape &s, const Group &g) {
  uint64_t span = g.hi > g.lo ? uint64_t(g.hi) - uint64_t(g.lo) : 0;
  for (unsigned k = s.loops; k-- > 0;) {
    if (s.trips[k] == 0 || g.stride[k] < 0 || (s.trips[k] > 1 && uint64_t(g.stride[k]) > span))
      return false;
    span = saturating_add(span, saturating_mul(uint64_t(g.stride[k]), s.trips[k] - 1));
  }
  return span > 0 && span < kUnbounded;
}

/// Whether the program, now in this place of the nest, will store the whole interval again, after this time: a loop
/// outside all that move the group has iterations left.
bool again(const Shape &s, const Group &g, const Cursor &place) {
  for (unsigned k = 0; k < s.ticked && g.stride[k] == 0; ++k)
    if (place.index(k) + 1 < s.trips[k])
      return true;
  return false;
}

} // namespace

void check_overwrites(Shape *s) {
  for (unsigned w = 0; w < s->groups; ++w) {
    Group &writer = s->group[w];
    if (!writer.overwrites)
      continue;
    const Extent mine = hull(*s, writer);
    writer.overwrites = !writer.indirect && !writer.reads && without_gaps(*s, writer) && mine.end != kUnbounded;
    for (unsigned r = 0; r < s->groups && writer.overwrites; ++r) {
      const Extent other = hull(*s, s->group[r]);
      writer.overwrites = !s->group[r].reads || common(mine, other).empty();
    }
  }
}

void Overwrite::start(const Shape &s, uint64_t strip, uint64_t page) {
  page_ = page;
  ticked_ = s.ticked;
  any_ = false;
  for (unsigned g = 0; g < s.groups; ++g) {
    interval_[g] = {};
    left_[g] = {};
    if (!s.group[g].overwrites)
      continue;
    const Extent e = hull(s, s.group[g]);
    interval_[g] = {round_up(e.begin, page), round_down(e.end, page)};
    any_ |= !interval_[g].empty();
  }
  if (any_)
    place_.start(s, strip);
}

Overwrite::Unread Overwrite::unread(const Shape &s, unsigned group, uint64_t step) {
  const Extent all = interval_[group];
  if (!any_ || all.empty())
    return {};
  place_.seek(step);
  if (place_.at_end())
    return {};
  Pieces pieces;
  place_.step_pieces(s.group[group], 1, &pieces);
  if (pieces.size() != 1)
    return {};
  const Extent at = pieces.at(0);
  Unread u;
  if (again(s, s.group[group], place_))
    u.part[0] = {all.begin, most(all.begin, round_down(at.begin, page_))};
  u.part[1] = {least(all.end, most(all.begin, round_up(at.end, page_))), all.end};
  return u;
}

/// Which pass over the group's interval the step belongs to: an execution of the loops from the first that moves it on.
uint64_t Overwrite::pass_of(const Group &g, uint64_t step) const {
  int first = 0;
  while (first < int(ticked_) && g.stride[first] == 0)
    ++first;
  return step / place_.steps_per(first - 1);
}

void Overwrite::leave(const Shape &s, unsigned group, uint64_t step, Extent asked, const Unread &unread) {
  Left &left = left_[group];
  for (unsigned later = 0; later < 2; ++later) {
    const Extent e = common(unread.part[1 - later], asked);
    if (e.empty())
      continue;
    const uint64_t pass = pass_of(s.group[group], step) + later; // what the program has passed is stored the next time
    if (left.end == 0 || pass > left.pass || (pass == left.pass && e.end > left.end))
      left = {pass, e.end};
  }
}

bool Overwrite::all_stored(const Shape &s, uint64_t step) {
  if (!any_)
    return true;
  place_.seek(step);
  if (place_.at_end())
    return true;
  for (unsigned g = 0; g < s.groups; ++g) {
    const Left &left = left_[g];
    const uint64_t pass = left.end ? pass_of(s.group[g], step) : 0;
    if (left.end == 0 || pass > left.pass)
      continue;
    Pieces pieces;
    place_.step_pieces(s.group[g], 1, &pieces);
    if (pass < left.pass || pieces.size() != 1 || pieces.at(0).begin < left.end)
      return false;
  }
  return true;
}

} // namespace pagecast::core
