// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pages that one group touches while some of its loops run: equal spans of bytes at regular distances.
//
// Start with the span [lo, hi) of one iteration. In order of increasing |stride|, a loop whose stride leaves
// no whole untouched page between two iterations (|stride| < span + page) makes the span longer; each other
// loop is a walk, and every combination of the walks' iterations is one piece. A negative stride is the same
// set of pages from its other end.
//
// Example: double a[1000][1000], page 4096, i in 0..9, j in 0..511 of a[i][j]: j (stride 8) merges into a
// span of 4096 bytes; i (stride 8000) merges too, as 8000 < 4096 + 4096, and there is one piece of 76096
// bytes. With rows of 1500 doubles (stride 12000) there are ten pieces of one span each.
#pragma once
#include "core/types.h"

namespace pagecast::core {

/// No more pieces than this come from one step: the rest of that step goes without hints. A step of so many
/// separate pages means that the wrong loop is ticked, or that a trip count is wrong.
inline constexpr uint64_t kMaxPieces = 4096;

class Pieces {
public:
  /// Loops [from, loops) run count[k] iterations each; `origin` is the address of the first byte at
  /// iteration 0 of all of them. `page`: a power of two.
  void set(const Group &, Addr origin, const uint64_t *count, unsigned from, unsigned loops, uint64_t page);

  /// Number of pieces, at most kMaxPieces. Zero when a loop is empty or the span leaves the address space.
  uint64_t size() const { return size_; }
  /// Bytes of one piece, not rounded to pages.
  uint64_t span() const { return span_; }
  /// Bytes in pages of all pieces, saturating, not limited by kMaxPieces.
  uint64_t footprint() const;
  /// Piece i, rounded out to whole pages. Ascending in i, unless walks are interleaved.
  Extent at(uint64_t i) const;
  /// As at(i), of a piece that lies `by` bytes further.
  Extent shifted(uint64_t i, int64_t by) const;
  /// The lowest piece that overlaps the page-aligned `e`; empty when there is none.
  /// Exact when a walk's stride exceeds the extent of the smaller walks, else it may miss some.
  Extent first_overlap(Extent e) const;

private:
  struct Walk {
    uint64_t stride, count;
  };
  void add_loop(uint64_t stride, uint64_t count);
  Extent aligned(Addr begin) const;

  Addr begin_ = 0;
  uint64_t span_ = 0;
  uint64_t page_ = 4096;
  uint64_t size_ = 0;
  unsigned walks_ = 0;
  Walk walk_[kMaxLoops] = {}; ///< smallest stride first
};

} // namespace pagecast::core
