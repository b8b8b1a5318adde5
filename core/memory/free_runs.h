// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which pieces of an address range are taken, and which are free, for allocations of a few pages. All of the bookkeeping is
// in tables of its own: the allocations themselves may be on a disk, and freeing a matrix row by row must not read it back.
//
// The range consists of granules, of which runs are made; a run that is free has no free neighbour. A request gets the
// shortest free run that suffices, the one freed last among equals, from its beginning on: what is allocated one after
// the other lies one after the other. No clock, no allocation; not thread-safe.
#pragma once
#include <cstdint>

namespace pagecast::core {

class FreeRuns {
public:
  static constexpr uint32_t kNone = ~0u;
  /// Granules of a request at most; free runs may be longer.
  static constexpr uint32_t kLongest = 1023;

  /// Bytes of the tables for so many granules. They must be zero, and cost memory where granules were in use.
  static constexpr uint64_t bytes(uint32_t granules) { return uint64_t(granules) * sizeof(Entry); }
  void start(void *tables, uint32_t granules) {
    entry_ = static_cast<Entry *>(tables);
    most_ = granules;
  }
  /// Granules that there are, free or taken: [0, end()).
  uint32_t end() const { return end_; }
  /// Adds `n` free ones behind. False: there would be too many.
  bool add(uint32_t n);

  /// The first granule of a run of `n` in 1..kLongest, or kNone. Cost: constant.
  uint32_t take(uint32_t n);
  /// Makes the run free that begins at `first`.
  void give(uint32_t first);
  /// Makes the taken run shorter or, where what follows is free, longer. False: it stays as it is.
  bool resize(uint32_t first, uint32_t n);
  /// The length of the taken run that begins at `first`.
  uint32_t length(uint32_t first) const { return entry_[first].length; }
  /// Takes a whole free run that is longer than any request and not wholly untouched; `n`: its length. kNone: there is none.
  /// The caller gives the run's memory back, and then give() makes the run free again. Cost: the number of such runs.
  uint32_t take_long(uint32_t *n);
  /// Granules from here on were never part of a taken run.
  uint32_t untouched() const { return untouched_; }

  /// Checks the invariants, in time proportional to the number of runs.
  bool is_valid() const;

private:
  /// What is known of a granule. `length` and `taken` hold at both ends of a run, the links at the beginning of a free one.
  struct Entry {
    uint32_t length : 31;
    uint32_t taken : 1;
    uint32_t before, after; ///< in the list of free runs as long
  };
  static constexpr unsigned kLists = kLongest + 2; ///< by length; the last: longer than any request

  static unsigned list_of(uint32_t length) { return length > kLongest ? kLists - 1 : length; }
  void note(uint32_t first, uint32_t n, bool taken);
  void put(uint32_t first, uint32_t n);
  void join(uint32_t first, uint32_t n);
  void remove(uint32_t first);
  /// The list with the shortest runs of at least `n`; kLists: none.
  unsigned suitable(uint32_t n) const;

  Entry *entry_ = nullptr;
  uint32_t most_ = 0, end_ = 0, untouched_ = 0;
  uint32_t first_[kLists];              ///< of each list, where its bit is set
  uint64_t some_[(kLists + 63) / 64]{}; ///< bit l: list l has runs
};

} // namespace pagecast::core
