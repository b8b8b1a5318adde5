// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The margins of rows. Rows are `span` bytes at every `stride` bytes, as in an array that is stored to except for the ends of
// its rows:
//
//     for (k = 1; k < n - 1; k++) for (j = 1; j < n - 1; j++) for (i = 1; i < n - 1; i++) x[k][j][i] = ...
//
//     begin          begin + span    begin + stride
//     |  row           |  margin     |  row           | margin ...         and likewise before `begin`
//
// A margin is what lies between the end of one row and the beginning of the next. Planes are rows too, if their distance
// is a multiple of the rows'.
#pragma once
#include "core/arithmetic.h"
#include "core/types.h"

namespace pagecast::core {

struct RowMargins {
  Addr begin = 0; ///< of one of them
  uint64_t stride = 0, span = 0; ///< span < stride; stride 0: there are none
  uint64_t margin() const { return stride - span; }
  bool any() const { return stride != 0; }

  /// Margins are worth keeping beside the pages that they are in: little of it, and in each page something else as well.
  bool narrow(uint64_t page) const {
    constexpr uint64_t kShare = 8; // of a row, and of a page
    return span < stride && margin() <= span / kShare && margin() <= page / kShare;
  }
  /// Bytes from the row at or before `a` to `a`.
  uint64_t offset(Addr a) const { return a >= begin ? (a - begin) % stride : (stride - (begin - a) % stride) % stride; }

  /// Calls `callback(Extent, row)` for each part of a margin in `e`; `row`: the address of the row that the margin is behind,
  /// which may wrap below 0. Cost: O(parts).
  template <class Callback> void for_each_margin(Extent e, Callback callback) const {
    for (Addr row = e.begin - offset(e.begin); e.begin < e.end; row += stride) {
      const Extent part{most(e.begin, row + span), least(e.end, row + stride)};
      if (!part.empty()) callback(part, row);
      e.begin = row + stride;
    }
  }
};

} // namespace pagecast::core
