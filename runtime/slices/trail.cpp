// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slices/trail.h"

#include "core/arithmetic.h"

namespace pagecast {

using core::Extent;
using core::least;
using core::most;
using core::round_down;
using core::round_up;
using core::saturating_add;

void SliceTrail::start(uint64_t page_bytes, uint64_t max_io, uint64_t kept) {
  for (Stream &s : stream_) s = {};
  first_ = count_ = 0;
  page_ = page_bytes;
  max_io_ = max_io;
  kept_ = kept;
}

/// In the stream's view.
bool SliceTrail::begins_anew(const Stream &s, Extent e) const {
  return s.even && s.moves >= kSweep && s.done - s.first > kept_ && s.done - e.begin > kept_;
}

/// Goes down from now on. What the stream has passed so far, going up, ages.
void SliceTrail::turn(unsigned group) {
  Stream &s = stream_[group];
  s.down = true;
  s.pending = s.seen(s.pending);
  s.high = s.done = s.moves = s.taken = 0;
  unsigned kept = 0;
  for (unsigned i = 0; i < count_; ++i) {
    const Passed p = passed_[(first_ + i) % kMost];
    if (p.group != group) passed_[(first_ + kept++) % kMost] = p;
  }
  count_ = kept;
}

Extent SliceTrail::add(unsigned group, Extent touched, uint64_t step) {
  Stream &s = stream_[group];
  if (!s.down && s.even && s.moves == 1 && touched.begin + page_ < s.done) turn(group);
  const Extent e = s.seen(touched);
  if (e.begin + page_ < s.done) {
    if (begins_anew(s, e)) s.high = s.done = s.moves = 0;
    else s.even = false;
  }
  if (s.high == 0) s.first = s.low = round_down(e.begin, page_);
  s.high = most(s.high, e.end);
  s.latest = step;
  Extent &p = s.pending;
  if (!p.empty() && e.begin + page_ >= p.begin && e.begin <= p.end + page_) {
    p.begin = least(p.begin, e.begin);
    p.end = most(p.end, e.end);
    if (p.size() < 2 * max_io_) return {};
    return take(group, false);
  }
  const Extent before = take(group, true);
  s.pending = e;
  s.since = step;
  return before;
}

Extent SliceTrail::take(unsigned group, bool last) {
  Extent &p = stream_[group].pending;
  if (p.empty()) return {};
  taken_since_ = stream_[group].since;
  const Extent whole{round_down(p.begin, page_), last ? round_up(p.end, page_) : round_down(p.end, page_)};
  if (!whole.empty()) stream_[group].taken = whole.end;
  if (last) p = {};
  else p.begin = most(p.begin, whole.end), stream_[group].since = stream_[group].latest; // a part of a page
  return whole.empty() ? Extent{} : stream_[group].seen(whole);
}

void SliceTrail::step_done(unsigned group, uint64_t step) {
  Stream &s = stream_[group];
  const uint64_t end = round_down(s.high, page_);
  s.moves += s.high > s.done;
  s.done = s.high;
  if (!s.even || end <= s.low || count_ == kMost) return;
  passed_[(first_ + count_++) % kMost] = {step, {s.low, end}, group};
  s.low = end;
}

/// All that the stream has gone over since it began, in the view of those that go up or `down`; empty: nothing.
Extent SliceTrail::gone_over(const Stream &s, bool down) {
  if (s.high == 0) return {};
  return s.down == down ? Extent{s.first, s.high} : Extent{0 - s.high, 0 - s.first};
}

bool SliceTrail::is_followed_by(uint32_t groups, unsigned group) const {
  const Stream &own = stream_[group];
  for (unsigned g = 0; g < PAGECAST_MAX_GROUPS; ++g) {
    const Stream &s = stream_[g];
    if (g == group || !(groups >> g & 1) || !s.even || s.moves == 0 || s.down != own.down) continue;
    const bool meet = !core::common(gone_over(s, own.down), gone_over(own, own.down)).empty();
    if (meet && s.high <= own.high && own.high - s.high <= kept_) return true;
  }
  return false;
}

/// Where the part of `e`, noted for the group, begins that others come to later; the end of `e` if none does. All is left to others that
/// go the other way.
uint64_t SliceTrail::left_to_others(unsigned group, Extent e) const {
  uint64_t to_come[PAGECAST_MAX_GROUPS], begin = e.end;
  for (unsigned g = 0; g < PAGECAST_MAX_GROUPS; ++g) to_come[g] = stream_[g].low;
  for (unsigned i = count_; i-- > 0;) {
    const Passed &p = passed_[(first_ + i) % kMost];
    to_come[p.group] = p.extent.begin;
  }
  for (unsigned g = 0; g < PAGECAST_MAX_GROUPS; ++g) {
    const Stream &s = stream_[g], &own = stream_[group];
    if (g == group || !s.even || core::common(gone_over(s, own.down), gone_over(own, own.down)).empty()) continue;
    if (s.down != own.down) return e.begin;
    if (to_come[g] < begin && e.begin <= saturating_add(to_come[g], kept_)) begin = to_come[g];
  }
  return most(begin, e.begin);
}

bool SliceTrail::passed(uint64_t step, unsigned *group, Extent *e) {
  while (count_ > 0) {
    const Passed p = passed_[first_];
    if (p.step + 1 >= step) return false; // one step behind
    first_ = (first_ + 1) % kMost;
    --count_;
    if (!stream_[p.group].even) continue;
    *group = p.group;
    *e = stream_[p.group].seen({p.extent.begin, left_to_others(p.group, p.extent)});
    if (!e->empty()) return true;
  }
  return false;
}

} // namespace pagecast
