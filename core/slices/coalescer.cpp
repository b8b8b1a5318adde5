// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/slices/coalescer.h"
#include "core/arithmetic.h"

namespace pagecast::core {

/// The first request that begins above `address`.
unsigned Coalescer::index_of(Addr address) const {
  unsigned low = 0, high = count_;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (request_[middle].extent.begin > address) high = middle;
    else low = middle + 1;
  }
  return low;
}

/// Makes the piece a part of request `at`, if there is one and they touch.
bool Coalescer::join(unsigned at, const Request &piece) {
  if (at >= count_) return false;
  Request &request = request_[at];
  if (request.write != piece.write || piece.extent.begin > request.extent.end || piece.extent.end < request.extent.begin)
    return false;
  if (piece.extent.size() > request.extent.size()) request.group = piece.group;
  request.extent = {least(request.extent.begin, piece.extent.begin), most(request.extent.end, piece.extent.end)};
  request.since = least(request.since, piece.since);
  return true;
}

void Coalescer::remove(unsigned at, Request *out) {
  *out = request_[at];
  --count_;
  for (unsigned i = at; i < count_; ++i) request_[i] = request_[i + 1];
}

unsigned Coalescer::oldest_request() const {
  unsigned oldest = 0;
  for (unsigned i = 1; i < count_; ++i)
    if (request_[i].since < request_[oldest].since) oldest = i;
  return oldest;
}

uint64_t Coalescer::oldest() const { return count_ ? request_[oldest_request()].since : ~uint64_t{0}; }

bool Coalescer::add(const Request &piece, Request *out) {
  unsigned at = index_of(piece.extent.begin);
  if (at > 0 && join(at - 1, piece)) {
    --at;
  } else if (!join(at, piece)) {
    const bool full = count_ == kMost;
    if (full) remove(oldest_request(), out);
    at = index_of(piece.extent.begin);
    for (unsigned i = count_++; i > at; --i) request_[i] = request_[i - 1];
    request_[at] = piece;
    return full;
  }
  Request next;
  while (at + 1 < count_ && join(at, request_[at + 1])) remove(at + 1, &next);
  if (request_[at].extent.size() < enough_) return false;
  remove(at, out);
  return true;
}

} // namespace pagecast::core
