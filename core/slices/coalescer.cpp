// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/slices/coalescer.h"
#include "core/arithmetic.h"

namespace pagecast::core {

/// The first lot that begins above `address`.
unsigned Lots::place_of(Addr address) const {
  unsigned low = 0, high = count_;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (lot_[middle].extent.begin > address) high = middle;
    else low = middle + 1;
  }
  return low;
}

/// Makes the piece a part of lot `at`, if there is one and they touch.
bool Lots::join(unsigned at, const Lot &piece) {
  if (at >= count_) return false;
  Lot &lot = lot_[at];
  if (lot.write != piece.write || piece.extent.begin > lot.extent.end || piece.extent.end < lot.extent.begin) return false;
  if (piece.extent.size() > lot.extent.size()) lot.group = piece.group;
  lot.extent = {least(lot.extent.begin, piece.extent.begin), most(lot.extent.end, piece.extent.end)};
  lot.since = least(lot.since, piece.since);
  return true;
}

void Lots::remove(unsigned at, Lot *out) {
  *out = lot_[at];
  --count_;
  for (unsigned i = at; i < count_; ++i) lot_[i] = lot_[i + 1];
}

unsigned Lots::oldest_lot() const {
  unsigned oldest = 0;
  for (unsigned i = 1; i < count_; ++i)
    if (lot_[i].since < lot_[oldest].since) oldest = i;
  return oldest;
}

uint64_t Lots::oldest() const { return count_ ? lot_[oldest_lot()].since : ~uint64_t{0}; }

bool Lots::add(const Lot &piece, Lot *out) {
  unsigned at = place_of(piece.extent.begin);
  if (at > 0 && join(at - 1, piece)) {
    --at;
  } else if (!join(at, piece)) {
    const bool full = count_ == kMost;
    if (full) remove(oldest_lot(), out);
    at = place_of(piece.extent.begin);
    for (unsigned i = count_++; i > at; --i) lot_[i] = lot_[i - 1];
    lot_[at] = piece;
    return full;
  }
  Lot next;
  while (at + 1 < count_ && join(at, lot_[at + 1])) remove(at + 1, &next);
  if (lot_[at].extent.size() < enough_) return false;
  remove(at, out);
  return true;
}

} // namespace pagecast::core
