// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Synthetic programs: executing a shape, one cycle per innermost iteration, every group touched in each.
#pragma once
#include "core/types.h"
#include <cstdint>

namespace pagecast::simulator {

/// Where the arrays of these programs lie: one after the other, each in its own part of the address space.
inline constexpr core::Addr kArrays = uint64_t{1} << 40;
inline constexpr uint64_t kArrayBytes = uint64_t{1} << 32;
inline constexpr uint64_t kMaxArrays = 3;

/// The loop of the thesis's figures 5.6, 5.8 and 5.13: a[i][j], `rows` outer iterations over `columns`
/// doubles. `sequential`: the next row follows at once (figure 5.6); otherwise each row is the first part of
/// a longer one, ten rows long (figures 5.7 and 5.8).
core::Shape rows(uint64_t rows, uint64_t columns, bool sequential);

/// `sweeps` times over the same `pages` pages.
core::Shape sweeps(uint64_t sweeps, uint64_t pages, uint64_t page);

/// Figure 4.3: c[i] += a[i][j] * b[j], `times` times.
core::Shape matvec(uint64_t times, uint64_t rows, uint64_t columns);

/// a[i][j] walked down its columns.
core::Shape columns(uint64_t rows, uint64_t columns);

/// Goes through the innermost iterations of a shape, in the program's order.
class Walker {
public:
  explicit Walker(const core::Shape &);

  bool done() const { return done_; }
  void next();
  core::Addr address(unsigned group) const { return address_[group]; } ///< of the first byte touched now
  /// True when the iteration that comes now begins another one of `loop`.
  bool begins(unsigned loop) const { return changed_ <= loop; }
  uint64_t index(unsigned loop) const { return index_[loop]; }

private:
  const core::Shape &shape_;
  uint64_t index_[core::kMaxLoops] = {};
  core::Addr address_[core::kMaxGroups] = {};
  unsigned changed_ = 0; ///< the outermost loop whose index the last next() changed
  bool done_ = false;
};

} // namespace pagecast::simulator
