// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slice_trail.h"

#include "core/arithmetic.h"

namespace pagecast {

using core::Extent;
using core::least;
using core::most;
using core::round_down;
using core::round_up;

void SliceTrail::start(uint64_t page_bytes, uint64_t max_io) {
  for (Stream &s : stream_) s = {};
  first_ = count_ = 0;
  page_ = page_bytes;
  max_io_ = max_io;
}

Extent SliceTrail::add(unsigned group, Extent e, uint64_t step) {
  Stream &s = stream_[group];
  if (s.high == 0) s.low = round_down(e.begin, page_);
  if (e.begin + page_ < s.done) s.even = false;
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
  if (last) p = {};
  else p.begin = most(p.begin, whole.end), stream_[group].since = stream_[group].latest; // a part of a page
  return whole.empty() ? Extent{} : whole;
}

void SliceTrail::step_done(unsigned group, uint64_t step) {
  Stream &s = stream_[group];
  const uint64_t end = round_down(s.high, page_);
  s.done = s.high;
  if (!s.even || end <= s.low || count_ == kMost) return;
  passed_[(first_ + count_++) % kMost] = {step, {s.low, end}, group};
  s.low = end;
}

bool SliceTrail::passed(uint64_t step, unsigned *group, Extent *e) {
  while (count_ > 0) {
    const Passed &p = passed_[first_];
    if (p.step + 1 >= step) return false; // one step behind
    first_ = (first_ + 1) % kMost;
    --count_;
    if (!stream_[p.group].even) continue;
    *group = p.group;
    *e = p.extent;
    return true;
  }
  return false;
}

} // namespace pagecast
