// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/regions.h"

#include "runtime/kernel/lock.h"
#include "runtime/kernel/os.h"

#include <cstring>

namespace pagecast {
namespace {
Lock lock;
}

void RegionTable::forked() { lock.release(); }

bool RegionTable::start() {
  regions_ = static_cast<Region *>(os::reserve(kMost * sizeof(Region)));
  return regions_ != nullptr;
}

/// Index of the first region that ends above `address`.
unsigned RegionTable::lower(uint64_t address) const {
  unsigned low = 0, high = count_;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (regions_[middle].end() > address) high = middle;
    else low = middle + 1;
  }
  return low;
}

Region *RegionTable::at_or_after(uint64_t address) {
  const unsigned i = lower(address);
  return i < count_ ? &regions_[i] : nullptr;
}

Region *RegionTable::find(uint64_t address) {
  if (last_ < count_ && address - regions_[last_].base < regions_[last_].bytes) return &regions_[last_];
  const unsigned i = lower(address);
  if (i == count_ || address < regions_[i].base) return nullptr;
  last_ = i;
  return &regions_[i];
}

Region RegionTable::look_up(uint64_t address) {
  Guard guard(lock);
  const unsigned i = lower(address);
  Region r; // without what the pager's thread counts in it meanwhile
  if (i == count_ || address < regions_[i].base) return r;
  r.base = regions_[i].base;
  r.bytes = regions_[i].bytes;
  r.first_slot = regions_[i].first_slot;
  r.look_ahead = __atomic_load_n(&regions_[i].look_ahead, __ATOMIC_RELAXED);
  return r;
}

bool RegionTable::insert(const Region &region) {
  Guard guard(lock);
  if (count_ == kMost) return false;
  const unsigned i = lower(region.base);
  memmove(regions_ + i + 1, regions_ + i, (count_ - i) * sizeof(Region));
  regions_[i] = region;
  ++count_;
  return true;
}

void RegionTable::cut(uint64_t begin, uint64_t end, unsigned page_shift) {
  Guard guard(lock);
  for (unsigned i = lower(begin); i < count_ && regions_[i].base < end;) {
    const Region whole = regions_[i];
    Region left = whole, right = whole;
    left.bytes = begin > whole.base ? begin - whole.base : 0;
    right.bytes = whole.end() > end ? whole.end() - end : 0;
    right.base = whole.end() - right.bytes;
    right.first_slot += static_cast<uint32_t>((right.base - whole.base) >> page_shift);
    if (whole.twin) right.twin += right.base - whole.base;
    const unsigned keep = (left.bytes != 0) + (right.bytes != 0);
    memmove(regions_ + i + keep, regions_ + i + 1, (count_ - i - 1) * sizeof(Region));
    count_ = count_ - 1 + keep;
    if (left.bytes) regions_[i++] = left;
    if (right.bytes) regions_[i++] = right;
  }
}

} // namespace pagecast
