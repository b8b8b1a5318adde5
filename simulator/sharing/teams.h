// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a phase is shared out under a scheme: who computes what, and who prefetches for whom.
#pragma once
#include "simulator/sharing/schemes.h"
#include <algorithm>

namespace pagecast::simulator {

/// Processors that have a helper, or one that has none.
struct Team {
  std::vector<std::vector<Access>> reads;      ///< of each processor that computes
  std::vector<std::vector<uint32_t>> foretold; ///< of each interval: what all of them read, each block once; empty: no helper
  size_t step = 1;                             ///< reads of an interval, of each processor
  bool is_independent = false;                 ///< without a helper: each prefetches for itself
  bool is_beside = false;                      ///< the helper runs on the processors that compute

  /// The first of processor `p`'s reads in interval `k`.
  size_t begin_of(size_t p, size_t k) const { return std::min(k * step, reads[p].size()); }
};

std::vector<Team> make_teams(const Program &, const Phase &, const IoMachine &, const Scheme &);

} // namespace pagecast::simulator
