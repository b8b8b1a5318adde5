// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Margins: the few bytes between rows (core/nest/row_margins.h), kept when their pages leave memory. A nest that stores over the rows
// finds its pages made of zeros and of these, and none of them is read:
//
//     save    a page goes: what its margins hold is copied from it
//     fill    a nest is certain to store over all else of the page: the margins are put back
//
// What was saved of a page holds for as long as the page is absent: it cannot change there, and each time that it goes it
// is saved once more. What cannot be saved is not there.
//
// Rows that no nest comes to again are saved in vain, as those that are stored to once, when their array is made. Where all pages have
// gone kPatience times, and none was heard of, no more are saved until one is; from then on twice as often.
//
// Pager's thread only.
#pragma once
#include "core/nest/row_margins.h"
#include "core/types.h"

#include <cstdint>

namespace pagecast {

class Margins {
public:
  /// A nest stores over `rows` in `range`, in a region that is all of `region`: what leaves memory there is saved from now
  /// on, as long as that takes no more than `most` bytes in all. Rows that do not come round, while others that were first
  /// heard of later do so twice, take no memory until they do. O(rows known).
  void expect(const core::RowMargins &rows, core::Extent range, core::Extent region, uint64_t most);
  /// Pages that are in memory, that nobody can store to, and that are about to leave. Cost: next to nothing where no nest
  /// is expected, else 0.05 us for each margin.
  void save(core::Extent pages);
  /// Whether the margins of `rows` in the page are there.
  bool has(const core::RowMargins &rows, uint64_t page) const;
  /// Puts them into `to`, which stands for `pages`, all of which has() said yes of.
  void fill(const core::RowMargins &rows, core::Extent pages, char *to) const;
  /// There is no region any more.
  void forget(core::Extent);
  void forget_all();
  /// Memory that is taken by what is saved, or will be.
  uint64_t bytes() const { return bytes_; }

  static constexpr uint32_t kPatience = 4, kMostPatience = 64;

private:
  struct Kept {
    core::RowMargins rows; ///< that begin with the last one that does not begin behind the region's beginning
    core::Extent region;
    core::Extent range; ///< pages that nests have stored over
    uint64_t born, heard; ///< when they were first and last expected
    uint64_t rounds; ///< how often they were, within `range`
    uint64_t in_vain; ///< pages saved since they were heard of
    uint32_t patience; ///< for how many times the pages in `range`
    uint64_t reserved; ///< bytes of addresses at `saved`
    uint64_t *saved; ///< bit for each page of the region, and behind them the margins, row by row; null: not saved yet
    char *margins;
    bool is_in_vain() const; ///< it rests, or is to, until a nest is heard of
  };
  static constexpr unsigned kMost = 32;

  Kept *find(const core::RowMargins &, core::Extent range);
  const Kept *find(const core::RowMargins &rows, core::Extent range) const {
    return const_cast<Margins *>(this)->find(rows, range);
  }
  void widen(Kept &, core::Extent range, uint64_t most);
  void reserve(Kept &, uint64_t most);
  void let_go(Kept &);
  void drop(Kept &);
  static uint64_t cost(const core::RowMargins &, core::Extent);
  static void save(Kept &, core::Extent pages);

  Kept kept_[kMost];
  unsigned count_ = 0;
  uint64_t bytes_ = 0;
  uint64_t now_ = 0; ///< counts what was expected
};

} // namespace pagecast
