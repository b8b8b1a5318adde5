// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which stores there are, and which of several a page is written to. Pages go in stripes of 512 KiB, each to the store that has
// least for its rate, so that data lie in proportion to the rates and all stores read at once. A rate is bytes over the time in
// which the store had a request; until it is known, a store counts as the mean of the others.
//
// Example: two stores of 100 and 300 MB/s get one and three of four stripes. A store that fills up gets none, and the others take
// what it would have got.
//
// Pager's thread only; times are arguments, in ns.
#pragma once
#include <cstdint>

namespace pagecast {

class Stripes {
public:
  static constexpr unsigned kMost = 8; ///< stores
  static constexpr uint32_t kPages = 128; ///< of a stripe
  static constexpr uint64_t kMeasured = 100'000'000; ///< a rate is known when a store has been busy for so long

  /// 0 or -ENOMEM.
  int start(unsigned stores);

  /// The store for pages from `slot` on, among those that have their bit in `usable`, which is not 0. A stripe stays where it is,
  /// unless all of it is written and its store has come to hold too much.
  unsigned choose(uint32_t slot, uint32_t pages, uint32_t usable);

  // A request begins and ends.
  void began(unsigned store, uint64_t now);
  void ended(unsigned store, uint64_t bytes, uint64_t now);
  /// Bytes a second; 0: not known yet.
  uint64_t rate(unsigned store) const { return store_[store].rate; }
  /// That lie there.
  uint64_t stripes(unsigned store) const { return store_[store].stripes; }
  /// After a fork: no request is under way.
  void forget_requests();

private:
  struct Of {
    uint64_t rate = 0, stripes = 0;
    uint64_t bytes = 0, busy_ns = 0, busy_since = 0; ///< since the rate was last found
    uint32_t under_way = 0;
  };
  double fill(unsigned store, uint64_t stripes) const;

  unsigned stores_ = 0;
  Of store_[kMost];
  uint8_t *chosen_ = nullptr; ///< of a stripe: 1 + its store, or 0
};

// The parts of the option that names the stores: DIR,DIR,... A directory may have commas in its name if it is the only one.

class StoreList {
public:
  /// `option` may be NULL. False: there are too many, or they are too long.
  bool read(const char *option);
  unsigned count() const { return count_; }
  /// NULL: none is named, and the default is meant.
  const char *operator[](unsigned i) const { return part_[i]; }
  /// Takes out number `i`.
  void drop(unsigned i);

private:
  char text_[4096];
  const char *part_[Stripes::kMost] = {};
  unsigned count_ = 0;
};

} // namespace pagecast
