// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/regions.h"

#include "runtime/kernel/lock.h"
#include "runtime/kernel/os.h"

#include <algorithm>
#include <cstring>

namespace pagecast {
namespace {
Lock lock;
}

void regions_forked() { lock.release(); }

template <class R> bool RegionTable<R>::start() {
  regions_ = static_cast<R *>(os::reserve(kMost * sizeof(R)));
  return regions_ != nullptr;
}

/// Index of the first region that ends above `address`.
template <class R> unsigned RegionTable<R>::lower(uint64_t address) const {
  unsigned low = 0, high = count_;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (regions_[middle].end() > address) high = middle;
    else low = middle + 1;
  }
  return low;
}

template <class R> R *RegionTable<R>::at_or_after(uint64_t address) {
  const unsigned i = lower(address);
  return i < count_ ? &regions_[i] : nullptr;
}

template <class R> R *RegionTable<R>::find(uint64_t address) {
  if (last_ < count_ && address - regions_[last_].base < regions_[last_].bytes) return &regions_[last_];
  const unsigned i = lower(address);
  if (i == count_ || address < regions_[i].base) return nullptr;
  last_ = i;
  return &regions_[i];
}

template <class R> Region RegionTable<R>::look_up(uint64_t address) {
  Guard guard(lock);
  const unsigned i = lower(address);
  if (i == count_ || address < regions_[i].base) return {};
  const R &r = regions_[i]; // without what the pager's thread counts in it meanwhile
  return {r.base, r.bytes, r.first_slot, r.kind, __atomic_load_n(&r.look_ahead, __ATOMIC_RELAXED)};
}

template <class R> bool RegionTable<R>::insert(const R &region) {
  Guard guard(lock);
  if (count_ == kMost) return false;
  const unsigned i = lower(region.base);
  memmove(regions_ + i + 1, regions_ + i, (count_ - i) * sizeof(R));
  regions_[i] = region;
  ++count_;
  return true;
}

template <class R> void RegionTable<R>::grow(R &region, uint64_t bytes) {
  Guard guard(lock);
  region.bytes += bytes;
}

template <class R> void RegionTable<R>::cut(uint64_t begin, uint64_t end, unsigned page_shift) {
  Guard guard(lock);
  for (unsigned i = lower(begin); i < count_ && regions_[i].base < end;) {
    const R whole = regions_[i];
    R left = whole, right = whole;
    left.bytes = begin > whole.base ? begin - whole.base : 0;
    if (whole.end() > end) right.begin_at(std::max(end, whole.base), page_shift);
    else right.bytes = 0;
    const unsigned keep = (left.bytes != 0) + (right.bytes != 0);
    memmove(regions_ + i + keep, regions_ + i + 1, (count_ - i - 1) * sizeof(R));
    count_ = count_ - 1 + keep;
    if (left.bytes) regions_[i++] = left;
    if (right.bytes) regions_[i++] = right;
  }
}

template class RegionTable<PagedRegion>;
template class RegionTable<FileRegion>;

} // namespace pagecast
