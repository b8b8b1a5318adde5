// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/overwrite.h"
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
  if (g.hi <= g.lo || below > first || size > kUnbounded - first) return kEverywhere;
  return {first - below, first + size};
}

/// Whether the group is elsewhere in each iteration of the loop.
bool moves(const Shape &s, const Group &g, unsigned loop) { return s.trips[loop] > 1 && g.stride[loop] != 0; }

/// The first part of `e` that is not in `at`.
Extent outside(Extent e, Extent at) {
  if (common(e, at).empty()) return e;
  return e.begin < at.begin ? Extent{e.begin, at.begin} : Extent{least(at.end, e.end), e.end};
}

/// To the stretch behind this one. False: it is the last.
bool next_stretch(const Shape &s, const Group &g, unsigned outer, uint64_t *index, Addr *begin) {
  for (unsigned k = outer; k-- > 0;) {
    if (!moves(s, g, k)) continue;
    if (index[k] + 1 < s.trips[k]) {
      ++index[k];
      *begin += uint64_t(g.stride[k]);
      return true;
    }
    *begin -= index[k] * uint64_t(g.stride[k]);
    index[k] = 0;
  }
  return false;
}

} // namespace

Overwrite::Stretch Overwrite::stretch_of(const Shape &s, const Group &g, uint64_t page) {
  Stretch stretch{s.loops, g.hi > g.lo ? uint64_t(g.hi) - uint64_t(g.lo) : 0};
  for (unsigned k = 0; k < s.loops; ++k)
    if (s.trips[k] == 0 || g.stride[k] < 0) return {};
  while (stretch.from > 0 && (!moves(s, g, stretch.from - 1) || uint64_t(g.stride[stretch.from - 1]) <= stretch.span)) {
    --stretch.from;
    stretch.span = saturating_add(stretch.span, saturating_mul(uint64_t(g.stride[stretch.from]), s.trips[stretch.from] - 1));
  }
  for (unsigned k = stretch.from; k-- > 0;) { // the rows' stride, and whether planes keep to it
    if (!moves(s, g, k)) continue;
    if (stretch.stride == 0) stretch.stride = uint64_t(g.stride[k]);
    else if (uint64_t(g.stride[k]) % stretch.stride != 0) {
      stretch.stride = 0;
      break;
    }
  }
  if (stretch.stride && !RowMargins{0, stretch.stride, stretch.span}.narrow(page)) stretch.stride = 0;
  uint64_t extent = stretch.span; // of all stretches that the loops inside go through
  for (unsigned k = stretch.from; k-- > 0;) {
    if (!moves(s, g, k)) continue;
    if (uint64_t(g.stride[k]) < extent) return {};
    extent = saturating_add(extent, saturating_mul(uint64_t(g.stride[k]), s.trips[k] - 1));
  }
  return (stretch.span >= page || stretch.stride) && extent < kUnbounded ? stretch : Stretch{};
}

void check_overwrites(Shape *s, uint64_t page) {
  for (unsigned w = 0; w < s->groups; ++w) {
    Group &writer = s->group[w];
    if (!writer.overwrites) continue;
    const Extent mine = hull(*s, writer);
    writer.overwrites =
        !writer.indirect && !writer.reads && Overwrite::stretch_of(*s, writer, page).span && mine.end != kUnbounded;
    for (unsigned r = 0; r < s->groups && writer.overwrites; ++r) {
      const Extent other = hull(*s, s->group[r]);
      writer.overwrites = !s->group[r].reads || common(mine, other).empty();
    }
  }
}

void Overwrite::start(const Shape &s, uint64_t strip, uint64_t page) {
  page_ = page;
  strip_ = most(strip, 1);
  stored_ = 0;
  any_ = false;
  for (unsigned g = 0; g < s.groups; ++g) {
    stretch_[g] = s.group[g].overwrites ? stretch_of(s, s.group[g], page) : Stretch{};
    any_ |= stretch_[g].span != 0;
  }
  if (any_) program_at_.start(s, strip);
}

Overwrite::Unread Overwrite::unread(const Shape &s, unsigned group, uint64_t step) {
  Unread u;
  if (!any_ || stretch_[group].span == 0) return u;
  program_at_.seek(step);
  if (program_at_.at_end()) return u;
  Pieces pieces;
  program_at_.step_pieces(s.group[group], 1, &pieces);
  const uint64_t n = pieces.size();
  at_ = n > 0 && n < kMaxPieces ? Extent{pieces.at(0).begin, pieces.at(n - 1).end} : kEverywhere;
  u.by_ = this;
  u.shape_ = &s;
  u.group_ = group;
  return u;
}

/// The stretch that begins last of those up to `from`, or the first one: its place in the loops around it, and where it begins.
Addr Overwrite::seek_stretch(const Shape &s, unsigned group, Addr from, uint64_t *index) const {
  const Group &g = s.group[group];
  Addr begin = g.base + uint64_t(g.lo);
  from = most(from, begin);
  for (unsigned k = 0; k < stretch_[group].from; ++k) {
    if (!moves(s, g, k)) continue;
    index[k] = least((from - begin) / uint64_t(g.stride[k]), s.trips[k] - 1);
    begin += index[k] * uint64_t(g.stride[k]);
  }
  return begin;
}

Extent Overwrite::first_unread(const Shape &s, unsigned group, Extent e) const {
  const Stretch &stretch = stretch_[group];
  const Extent wanted = common(e, hull(s, s.group[group]));
  if (wanted.empty() || stretch.span < page_) return {};
  uint64_t index[kMaxLoops] = {};
  Addr begin = seek_stretch(s, group, wanted.begin, index);
  do {
    const Extent stored = to_come(s, group, index, begin);
    const Extent pages = outside(common(e, {round_up(stored.begin, page_), round_down(stored.end, page_)}), in_progress());
    if (!pages.empty()) return pages;
  } while (next_stretch(s, s.group[group], stretch.from, index, &begin) && begin < e.end);
  return {};
}

/// The pages that hold something that an iteration of this step stores.
Extent Overwrite::in_progress() const { return {round_down(at_.begin, page_), round_up(at_.end, page_)}; }

/// Each byte is to come, or in a margin.
bool Overwrite::unread_but_margins(const Shape &s, unsigned group, Addr page) const {
  const Stretch &stretch = stretch_[group];
  const Extent all{page, page + page_};
  if (stretch.stride == 0 || !common(all, in_progress()).empty() || common(all, hull(s, s.group[group])).empty()) return false;
  const uint64_t margin = row_margins(s, group).margin();
  uint64_t index[kMaxLoops] = {};
  Addr begin = seek_stretch(s, group, page, index), done = page; // the bytes before `done` are seen to
  do {
    const Extent here = common(all, {begin, begin + stretch.span}), stored = to_come(s, group, index, begin);
    if (here.empty()) continue;
    if (here.begin - done > margin || stored.empty() || stored.begin > here.begin) return false;
    done = here.end;
  } while (next_stretch(s, s.group[group], stretch.from, index, &begin) && begin < all.end);
  return done > page && all.end - done <= margin;
}

RowMargins Overwrite::row_margins(const Shape &s, unsigned group) const {
  const Stretch &stretch = stretch_[group];
  return stretch.stride ? RowMargins{s.group[group].base + uint64_t(s.group[group].lo), stretch.stride, stretch.span}
                        : RowMargins{};
}

/// What is still to be stored of the stretch at `begin`, which is that of `index` in the loops around it.
Extent Overwrite::to_come(const Shape &s, unsigned group, const uint64_t *index, Addr begin) const {
  const Group &g = s.group[group];
  const Stretch &stretch = stretch_[group];
  const Extent all{begin, begin + stretch.span};
  for (unsigned k = 0; k <= s.ticked; ++k) {
    const uint64_t now = k == s.ticked ? program_at_.first() : program_at_.index(k);
    const uint64_t after = k == s.ticked ? now + program_at_.count() : now + 1;
    if (!moves(s, g, k)) {
      if (after < s.trips[k]) return all; // it will be stored once more, from end to end
      continue;
    }
    if (k >= stretch.from) return {least(most(all.begin, at_.end), all.end), all.end};
    if (index[k] >= after) return all;
    if (index[k] < now) return {};
  }
  return {}; // all of it is in this step
}

/// The step behind the one that stores the byte, of those behind the program's. Where rows overlap: the last that does.
uint64_t Overwrite::stored_by(const Shape &s, unsigned group, Addr byte) const {
  const Group &g = s.group[group];
  uint64_t index[kMaxLoops] = {}, rest = byte - (g.base + uint64_t(g.lo));
  unsigned differs = s.ticked + 1, repeats = differs; // the first loop that is elsewhere then; one that comes round again
  for (unsigned k = 0; k <= s.ticked; ++k) {
    if (!moves(s, g, k)) {
      index[k] = differs <= s.ticked ? 0 : program_at_.index(k);
      continue;
    }
    const uint64_t stride = uint64_t(g.stride[k]);
    index[k] = least(rest / stride, s.trips[k] - 1);
    rest -= index[k] * stride;
    if (k == s.ticked) index[k] /= strip_;
    if (differs > s.ticked && index[k] != program_at_.index(k)) differs = k;
  }
  if (differs > s.ticked || index[differs] < program_at_.index(differs)) { // the program has passed it
    for (unsigned k = 0; k < differs && k <= s.ticked; ++k)
      if (!moves(s, g, k) && program_at_.index(k) + 1 < (k == s.ticked ? program_at_.strips() : s.trips[k])) repeats = k;
    if (repeats > s.ticked) return program_at_.steps();
    ++index[repeats];
    for (unsigned k = repeats + 1; k <= s.ticked; ++k)
      if (!moves(s, g, k)) index[k] = 0;
  }
  uint64_t step = 1;
  for (unsigned k = 0; k <= s.ticked; ++k) step += index[k] * program_at_.steps_per(int(k));
  return step;
}

void Overwrite::leave(const Unread &unread, Extent asked) {
  if (!unread.by_) return;
  const Shape &s = *unread.shape_;
  const unsigned group = unread.group_;
  if (stretch_[group].stride) { // rows in a page that the program has passed come round again after the others
    for (Addr page = asked.begin; page < asked.end; page += page_)
      if (unread.but_margins(page))
        stored_ = most(stored_, most(stored_by(s, group, most(page, s.group[group].base + uint64_t(s.group[group].lo))),
                                     stored_by(s, group, page + page_ - 1)));
  }
  for (Extent part = unread.first(asked); !part.empty(); part = unread.first(asked)) {
    stored_ = most(stored_, stored_by(s, group, part.end - 1));
    asked.begin = part.end;
  }
}

} // namespace pagecast::core
