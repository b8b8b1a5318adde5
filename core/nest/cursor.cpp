// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/cursor.h"
#include "core/arithmetic.h"

namespace pagecast::core {

void Cursor::start(const Shape &s, uint64_t strip) {
  loops_ = s.loops;
  ticked_ = s.ticked;
  strip_ = most(strip, 1);
  for (unsigned k = 0; k < loops_; ++k) trips_[k] = s.trips[k];
  for (unsigned k = 0; k <= ticked_; ++k) radix_[k] = k < ticked_ ? trips_[k] : divide_up(trips_[k], strip_);
  uint64_t per = 1;
  bool empty = loops_ == 0;
  for (unsigned k = ticked_ + 1; k-- > 0;) {
    per_[k + 1] = most(per, 1);
    per = saturating_mul(per, radix_[k]);
    empty |= trips_[k] == 0;
  }
  per_[0] = most(per, 1);
  steps_ = empty ? 0 : per;
  seek(0);
}

void Cursor::next() {
  if (at_end()) return;
  ++position_;
  for (unsigned k = ticked_ + 1; k-- > 0;) {
    if (++index_[k] < radix_[k]) return;
    index_[k] = 0;
  }
}

void Cursor::seek(uint64_t position) {
  position_ = least(position, steps_);
  uint64_t rest = steps_ ? position_ : 0;
  for (unsigned k = ticked_ + 1; k-- > 0;) {
    index_[k] = radix_[k] ? rest % radix_[k] : 0;
    rest = radix_[k] ? rest / radix_[k] : 0;
  }
}

uint64_t Cursor::count() const {
  const uint64_t f = first();
  return f < trips_[ticked_] ? least(strip_, trips_[ticked_] - f) : 0;
}

Addr Cursor::origin(const Group &g, unsigned loops) const {
  Addr a = g.base + uint64_t(g.lo); // wraps, as the program's own address arithmetic does
  for (unsigned k = 0; k < loops; ++k) a += uint64_t(g.stride[k]) * (k == ticked_ ? first() : index_[k]);
  return a;
}

void Cursor::step_pieces(const Group &g, uint64_t page, Pieces *out) const {
  uint64_t counts[kMaxLoops];
  for (unsigned k = ticked_; k < loops_; ++k) counts[k] = trips_[k];
  counts[ticked_] = count();
  out->set(g, origin(g, ticked_ + 1), counts, ticked_, loops_, page);
}

void Cursor::unit_pieces(const Group &g, int loop, uint64_t page, Pieces *out) const {
  const unsigned from = unsigned(loop + 1);
  out->set(g, origin(g, from), trips_, from, loops_, page);
}

Extent Cursor::widened(const Group &g, Extent e, unsigned loop, uint64_t block, uint64_t page) const {
  const bool ticks = loop == ticked_;
  const uint64_t after = trips_[loop] - (ticks ? first() + count() : index_[loop] + 1);
  // e is in whole pages: moved by less than a page it may not reach the next one, hence the rounding inwards.
  const uint64_t reach = round_down(saturating_mul(magnitude(g.stride[loop]), after), page);
  if (g.stride[loop] < 0) return {e.begin - least(e.begin - round_down(e.begin, block), reach), e.end};
  return {e.begin, e.end + least(round_up(e.end, block) - e.end, reach)};
}

} // namespace pagecast::core
