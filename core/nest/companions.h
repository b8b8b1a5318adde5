// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Companions: rows that the next small nest touches at a constant distance from this one's. Two loops after one another go over
// the rows of one record in several arrays: the first over some of them, the second over the others. All are known when the first
// begins, but only this one's are in its hand. The others lie where they lay before: as far from its own.
//
//     for (k) off += a[k] * b[k];          a = near + r.from * width, b = far + r.to * width
//     for (k) as[k] += off * b[k];         as = near_slope + r.from * width: always near_slope - near behind a
//
// A distance that was seen kSure times in a row is taken to hold, until the next nest comes with another one. So is one of zero,
// of a row that this nest reads and the next one stores to: its pages are wanted for stores.
//
// Example: after four records, near_slope's row is asked for with near's, when the first loop begins.
//
// One such object for each nest and those that come after it. Cost: kMost comparisons for each pair of rows. No clock, no
// allocation; not thread-safe.
#pragma once
#include "core/types.h"

#include <algorithm>
#include <cstdint>

namespace pagecast::core {

/// Bytes that a nest touches, in one piece.
struct Row {
  Extent extent;
  bool write = false;

  bool covers(Extent e) const { return extent.begin <= e.begin && e.end <= extent.end; }
};

class Companions {
public:
  static constexpr unsigned kMost = 16;
  static constexpr uint8_t kSure = 4, kMostSure = 64;

  /// The nest whose these are was entered with `rows`, and after it `next` with `others`: what can be learnt from that.
  void followed(const Row *rows, unsigned count, const void *next, const Row *others, unsigned other_count) {
    for (Companion &c : companion_) c.confirmed = false;
    for (unsigned o = 0; o < other_count; ++o)
      if (!is_asked_for(others[o], rows, count))
        for (unsigned r = 0; r < count; ++r) note(r, next, rows[r], others[o]);
    for (Companion &c : companion_)
      if (c.next == next && !c.confirmed) c.seen = 0;
  }

  /// Calls `callback(Row)` for what comes with `rows`, as far as that is sure; also for one of `rows` that is only now written.
  template <class Callback> void for_each(const Row *rows, unsigned count, Callback callback) const {
    for (const Companion &c : companion_) {
      if (c.seen < kSure || c.row >= count) continue;
      const uint64_t begin = rows[c.row].extent.begin + c.distance;
      callback(Row{{begin, begin + c.bytes}, c.write});
    }
  }

private:
  struct Companion {
    const void *next = nullptr;
    uint64_t distance = 0; ///< modulo 2^64
    uint64_t bytes = 0;
    uint8_t row = 0;
    uint8_t seen = 0; ///< times in a row; 0: the entry is free
    bool write = false, confirmed = false;
  };

  /// Whether what `other` needs comes with one of `rows`.
  static bool is_asked_for(const Row &other, const Row *rows, unsigned count) {
    return std::any_of(rows, rows + count, [&other](const Row &r) { return r.covers(other.extent) && r.write >= other.write; });
  }

  void note(unsigned row, const void *next, const Row &own, const Row &other) {
    const uint64_t distance = other.extent.begin - own.extent.begin;
    Companion *replaced = &companion_[0];
    for (Companion &c : companion_) {
      if (c.seen && c.next == next && c.row == row && c.distance == distance && c.bytes == other.extent.size()) {
        c.seen = std::min<uint8_t>(c.seen + 1, kMostSure);
        c.confirmed = true;
        c.write |= other.write;
        return;
      }
      if (c.seen < replaced->seen) replaced = &c;
    }
    if (replaced->seen < kSure)
      *replaced = {next, distance, other.extent.size(), static_cast<uint8_t>(row), 1, other.write, true};
  }

  Companion companion_[kMost];
};

} // namespace pagecast::core
