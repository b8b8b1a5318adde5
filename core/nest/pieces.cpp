// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/pieces.h"
#include "core/arithmetic.h"

namespace pagecast::core {

void Pieces::set(const Group &g, Addr origin, const uint64_t *count, unsigned from, unsigned loops, uint64_t page) {
  begin_ = origin;
  span_ = g.hi > g.lo ? uint64_t(g.hi) - uint64_t(g.lo) : 0;
  page_ = page;
  size_ = 0;
  walks_ = 0;
  Walk sorted[kMaxLoops];
  unsigned n = 0;
  for (unsigned k = from; k < loops; ++k) {
    if (count[k] == 0) span_ = 0;
    if (count[k] <= 1 || g.stride[k] == 0) continue;
    if (g.stride[k] < 0) begin_ += uint64_t(g.stride[k]) * (count[k] - 1);
    const Walk w{magnitude(g.stride[k]), count[k]};
    unsigned i = n++;
    for (; i > 0 && sorted[i - 1].stride > w.stride; --i) sorted[i] = sorted[i - 1];
    sorted[i] = w;
  }
  if (span_ == 0) return;
  for (unsigned i = 0; i < n; ++i) add_loop(sorted[i].stride, sorted[i].count);

  // All of it must lie in the address space, or the trip counts or strides are not what the program does.
  uint64_t reach = span_, total = 1;
  for (unsigned i = 0; i < walks_; ++i) {
    reach = saturating_add(reach, saturating_mul(walk_[i].stride, walk_[i].count - 1));
    total = saturating_mul(total, walk_[i].count);
  }
  if (reach > kUnbounded - page_ || begin_ > kUnbounded - page_ - reach) return;
  size_ = least(total, kMaxPieces);
}

void Pieces::add_loop(uint64_t stride, uint64_t count) {
  if (walks_ == 0 && stride < saturating_add(span_, page_)) {
    span_ = saturating_add(span_, saturating_mul(stride, count - 1));
    return;
  }
  // A walk in the same steps as the one before only makes that longer: a[i + k] touches no row twice.
  if (walks_ > 0) {
    Walk &last = walk_[walks_ - 1];
    if (stride % last.stride == 0 && stride / last.stride <= last.count) {
      last.count = saturating_add(last.count, saturating_mul(stride / last.stride, count - 1));
      return;
    }
  }
  walk_[walks_++] = {stride, count};
}

uint64_t Pieces::footprint() const {
  if (span_ == 0) return 0;
  uint64_t bytes = round_up(span_, page_);
  for (unsigned i = 0; i < walks_; ++i) bytes = saturating_mul(bytes, walk_[i].count);
  return bytes;
}

Extent Pieces::aligned(Addr begin) const { return {round_down(begin, page_), round_up(begin + span_, page_)}; }

Extent Pieces::at(uint64_t i) const { return shifted(i, 0); }

Extent Pieces::shifted(uint64_t i, int64_t by) const {
  Addr a = begin_ + uint64_t(by);
  for (unsigned k = 0; k < walks_ && i > 0; ++k) {
    a += walk_[k].stride * (i % walk_[k].count);
    i /= walk_[k].count;
  }
  return aligned(a);
}

Extent Pieces::first_overlap(Extent e) const {
  if (size_ == 0 || e.empty()) return {};
  uint64_t reach = span_; // of everything inside the walk at hand
  for (unsigned k = 0; k < walks_; ++k) reach += walk_[k].stride * (walk_[k].count - 1);
  if (begin_ + reach <= e.begin) return {};

  // From the largest walk in: the first iteration whose whole extent ends behind e.begin. There always is
  // one, as the extent of the walk outside it, or of everything, ends there.
  Addr a = begin_;
  for (unsigned k = walks_; k-- > 0;) {
    reach -= walk_[k].stride * (walk_[k].count - 1);
    if (a + reach <= e.begin) a += ((e.begin - (a + reach)) / walk_[k].stride + 1) * walk_[k].stride;
  }
  return a < e.end ? aligned(a) : Extent{};
}

} // namespace pagecast::core
