// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/guards.h"

#include "runtime/kernel/os.h"

#include <algorithm>
#include <cstring>

namespace pagecast {

constinit Guards guards;

unsigned GuardTable::first_ending_after(uint64_t address) const {
  return static_cast<unsigned>(
      std::partition_point(ranges_, ranges_ + ranges(), [&](const Range &r) { return r.end <= address; }) - ranges_);
}

/// Ranges [from, to) make way for `n` others.
void GuardTable::replace(unsigned from, unsigned to, const Range *with, unsigned n) {
  const unsigned count = ranges();
  if (count - (to - from) + n > kMost) {
    overflowed_.store(true, std::memory_order_relaxed);
    return;
  }
  memmove(ranges_ + from + n, ranges_ + to, (count - to) * sizeof(Range));
  std::copy_n(with, n, ranges_ + from);
  count_.store(count - (to - from) + n, std::memory_order_relaxed);
}

void GuardTable::add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  Guard guard(lock_);
  if (!ranges_) ranges_ = static_cast<Range *>(os::reserve(kMost * sizeof(Range)));
  if (!ranges_) {
    overflowed_.store(true, std::memory_order_relaxed);
    return;
  }
  const unsigned from = begin ? first_ending_after(begin - 1) : 0; // one that ends at `begin` grows
  unsigned to = from;
  Range whole{begin, end};
  for (; to < ranges() && ranges_[to].begin <= end; ++to)
    whole = {std::min(whole.begin, ranges_[to].begin), std::max(whole.end, ranges_[to].end)};
  replace(from, to, &whole, 1);
}

void GuardTable::remove(uint64_t begin, uint64_t end) {
  if (begin >= end || ranges() == 0) return;
  Guard guard(lock_);
  const unsigned from = first_ending_after(begin);
  unsigned to = from, n = 0;
  while (to < ranges() && ranges_[to].begin < end) ++to;
  if (from == to) return;
  Range rest[2];
  if (ranges_[from].begin < begin) rest[n++] = {ranges_[from].begin, begin};
  if (ranges_[to - 1].end > end) rest[n++] = {end, ranges_[to - 1].end};
  replace(from, to, rest, n);
}

bool GuardTable::holds(uint64_t address) { return overlaps(address, address + 1); }

bool GuardTable::overlaps(uint64_t begin, uint64_t end) {
  if (overflowed_.load(std::memory_order_relaxed)) return true;
  if (ranges() == 0) return false;
  Guard guard(lock_);
  const unsigned i = first_ending_after(begin);
  return i < ranges() && ranges_[i].begin < end;
}

} // namespace pagecast
