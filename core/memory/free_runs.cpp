// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/free_runs.h"

#include <initializer_list>

namespace pagecast::core {

void FreeRuns::note(uint32_t first, uint32_t n, bool taken) {
  for (const uint32_t at : {first, first + n - 1}) {
    entry_[at].length = n;
    entry_[at].taken = taken;
  }
}

/// A run that is free from now on, and has no free neighbour.
void FreeRuns::put(uint32_t first, uint32_t n) {
  const unsigned l = list_of(n);
  note(first, n, false);
  entry_[first].before = kNone;
  entry_[first].after = some_[l / 64] >> (l % 64) & 1 ? first_[l] : kNone;
  if (entry_[first].after != kNone) entry_[entry_[first].after].before = first;
  first_[l] = first;
  some_[l / 64] |= 1ull << (l % 64);
}

/// A free run, from its list.
void FreeRuns::remove(uint32_t first) {
  const Entry &e = entry_[first];
  const unsigned l = list_of(e.length);
  if (e.after != kNone) entry_[e.after].before = e.before;
  if (e.before != kNone) entry_[e.before].after = e.after;
  else if (e.after != kNone) first_[l] = e.after;
  else some_[l / 64] &= ~(1ull << (l % 64));
}

unsigned FreeRuns::suitable(uint32_t n) const {
  uint64_t from = ~0ull << (n % 64);
  for (unsigned word = n / 64; word < (kLists + 63) / 64; ++word, from = ~0ull)
    if (const uint64_t some = some_[word] & from) return word * 64 + static_cast<unsigned>(__builtin_ctzll(some));
  return kLists;
}

/// Makes granules free that belong to no run, with the free run before them if there is one.
void FreeRuns::join(uint32_t first, uint32_t n) {
  if (first && !entry_[first - 1].taken) {
    const uint32_t before = entry_[first - 1].length;
    first -= before;
    n += before;
    remove(first);
  }
  put(first, n);
}

bool FreeRuns::add(uint32_t n) {
  if (n == 0 || n > most_ - end_) return false;
  const uint32_t first = end_;
  end_ += n;
  join(first, n);
  return true;
}

uint32_t FreeRuns::take(uint32_t n) {
  if (n == 0 || n > kLongest) return kNone;
  const unsigned l = suitable(n);
  if (l == kLists) return kNone;
  const uint32_t first = first_[l], length = entry_[first].length;
  remove(first);
  if (length > n) put(first + n, length - n);
  note(first, n, true);
  if (first + n > untouched_) untouched_ = first + n;
  return first;
}

uint32_t FreeRuns::take_long(uint32_t *n) {
  constexpr unsigned l = kLists - 1;
  uint32_t at = some_[l / 64] >> (l % 64) & 1 ? first_[l] : kNone;
  while (at != kNone && at >= untouched_) at = entry_[at].after;
  if (at == kNone) return kNone;
  *n = entry_[at].length;
  remove(at);
  note(at, *n, true);
  return at;
}

void FreeRuns::give(uint32_t first) {
  uint32_t n = entry_[first].length;
  if (const uint32_t next = first + n; next < end_ && !entry_[next].taken) {
    n += entry_[next].length;
    remove(next);
  }
  join(first, n);
}

bool FreeRuns::resize(uint32_t first, uint32_t n) {
  const uint32_t length = entry_[first].length, next = first + length;
  if (n == 0 || n > kLongest) return false;
  if (n == length) return true;
  if (n < length) {
    note(first, n, true);
    note(first + n, length - n, true);
    give(first + n);
    return true;
  }
  if (next >= end_ || entry_[next].taken || length + entry_[next].length < n) return false;
  const uint32_t left = length + entry_[next].length - n;
  remove(next);
  if (left) put(first + n, left);
  note(first, n, true);
  if (first + n > untouched_) untouched_ = first + n;
  return true;
}

bool FreeRuns::is_valid() const {
  uint64_t listed = 0, free = 0;
  bool before_free = false;
  for (uint32_t at = 0; at < end_; at += entry_[at].length) {
    const Entry &e = entry_[at], &last = entry_[at + e.length - 1];
    if (e.length == 0 || e.length > end_ - at || last.length != e.length || last.taken != e.taken) return false;
    if (!e.taken && before_free) return false;
    if (e.taken && at + e.length > untouched_) return false;
    before_free = !e.taken;
    free += !e.taken;
  }
  for (unsigned l = 0; l < kLists; ++l) {
    if (!(some_[l / 64] >> (l % 64) & 1)) continue;
    for (uint32_t at = first_[l], before = kNone; at != kNone; before = at, at = entry_[at].after) {
      if (entry_[at].taken || list_of(entry_[at].length) != l || entry_[at].before != before || ++listed > free) return false;
    }
  }
  return listed == free;
}

} // namespace pagecast::core
