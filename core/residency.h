// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The residency map: one bit per page, set while the page is resident or in flight. It is the filter that
// most hints end at, so a test is one load, and long resident ranges are passed over 64 pages at a time.
//
// Layout (read by code that the compiler emits): page number p is bit p & 7 of byte p >> 3.
// Threads: any number may test, set and clear. Operations on single words are atomic and relaxed: a bit
// read too early or too late costs a needless or a missing hint, never correctness. An operation on a range
// is not atomic as a whole.
#pragma once
#include "core/types.h"

namespace pagecast::core {

class ResidencyMap {
public:
  ResidencyMap() = default;

  /// Takes the memory of a map of `pages` pages, the first of which is number `first_page` of the address
  /// space. `bits`: zeroed, 8-byte aligned, bytes(pages) long; `first_page` is a multiple of 64. With
  /// first_page 0, `bits` can be handed to emitted code as it is; otherwise origin() can.
  void attach(uint8_t *bits, unsigned page_shift, uint64_t first_page, uint64_t pages);

  /// Bytes of memory that a map of so many pages needs.
  static uint64_t bytes(uint64_t pages) { return (pages + 63) / 64 * 8; }

  unsigned page_shift() const { return shift_; }
  /// Where the byte of page number 0 is or would be (see the layout above).
  const uint8_t *origin() const;

  /// Addresses outside the map read as resident: nothing is ever fetched for them.
  bool test(Addr a) const {
    const uint64_t page = (a >> shift_) - first_; // wraps to a huge number below the map
    return page >= pages_ || (load(page / 64) >> (page % 64) & 1);
  }
  /// The pages that `e` overlaps. Parts outside the map are ignored.
  void set(Extent e);
  void clear(Extent e);
  /// The first run of absent pages that overlap `within`, at most `max_bytes` of them (at least one page).
  /// Page-aligned; empty when all are resident.
  Extent next_absent(Extent within, uint64_t max_bytes) const {
    // Where most hints end: at one page, which is there.
    if (((within.begin ^ (within.end - 1)) >> shift_) == 0 && test(within.begin)) return {};
    return find_absent(within, max_bytes);
  }
  /// How many of the pages that `e` overlaps are in the map and set.
  uint64_t count(Extent e) const;

private:
  /// Pages relative to first_, clipped to the map.
  struct PageRange {
    uint64_t begin, end;
  };
  PageRange clip(Extent) const;
  Extent find_absent(Extent within, uint64_t max_bytes) const;
  uint64_t load(uint64_t word) const { return __atomic_load_n(&words_[word], __ATOMIC_RELAXED); }
  /// The first page in `r` whose bit is `value`, or r.end.
  uint64_t find(PageRange r, bool value) const;

  uint64_t *words_ = nullptr;
  unsigned shift_ = 12;
  uint64_t first_ = 0;
  uint64_t pages_ = 0;
};

} // namespace pagecast::core
