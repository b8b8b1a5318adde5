// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads that a store follows. A page that is read for a fault of a load is mapped write-protected, so that it can go without
// being written; a program that counts (a[x[i]]++) stores to it next, and faults on it once more. Where that was so of nearly
// all such pages lately, the next ones are mapped writable at once, but for one in kProbe, by which a change is seen.
//
//   right    one fault instead of two
//   wrong    a page is written before it goes that had not changed: at most one in eight, and some hundreds after a change
//
// Only stores that come soon count, before kLately more such loads: what is stored to later may have gone meanwhile.
//
// Example: faults on pages 7, 3, 9 of loads, each followed by a store: after 56 of 64 such, page 5 is mapped writable.
//
// One such object for each region; O(1); the pager's thread.
#pragma once
#include <bit>
#include <cstdint>

namespace pagecast::core {

class StorePredictor {
public:
  static constexpr uint32_t kLately = 8; ///< loads whose pages are watched
  static constexpr uint32_t kProbe = 16;
  static constexpr int kMany = 56; ///< of the last 64 pages watched were stored to soon: expected from there on
  static constexpr int kFew = 48;  ///< and until so few were

  /// Whether the next page that a load waits for will be stored to.
  bool expected() const { return expected_ && turn_ % kProbe != 0; }
  /// `page` (less than ~0) was read for a load, and mapped `writable` if that was expected.
  void loaded(uint32_t page, bool writable) {
    ++turn_;
    if (writable) return;
    uint32_t &entry = lately_[next_++ % kLately];
    if (entry) note(false);
    entry = page + 1;
  }
  /// The first store to a page that was protected.
  void stored(uint32_t page) {
    for (uint32_t &entry : lately_)
      if (entry == page + 1) return entry = 0, note(true);
  }

private:
  void note(bool stored) {
    last_ = last_ << 1 | (stored ? 1u : 0u);
    expected_ = std::popcount(last_) >= (expected_ ? kFew : kMany);
  }

  uint32_t lately_[kLately] = {}; ///< pages, plus one; 0: stored to, or none yet
  uint32_t next_ = 0, turn_ = 0;  ///< entries and loads, ever growing
  uint64_t last_ = 0;             ///< pages watched, a bit each: it was stored to soon
  bool expected_ = false;
};

} // namespace pagecast::core
