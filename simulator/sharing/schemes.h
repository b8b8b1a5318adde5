// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who prefetches for whom, and how long a program takes then.
//
// Independent: each processor asks for its own blocks, a distance ahead (PACT 2008, section 3). With helpers: some
// processors compute nothing, and each asks for what a cluster of others reads, every block once. Each iteration is
// cut into intervals. Before the cluster begins interval k, the helper has brought what all of them read in it, and then
// brings that of k + 1 while they compute (section 4.3, figure 8).
#pragma once
#include "core/sharing/teams.h"
#include "simulator/sharing/machine.h"
#include "simulator/sharing/program.h"

#include <algorithm>

namespace pagecast::simulator {

enum class SchemeKind : uint8_t {
  kNone,
  kIndependent,
  kReserved, ///< a number of processors prefetch for all others, in every phase
  kAdaptive, ///< a helper for each cluster of a phase, by a profile; clusters that are too small are independent
  kLive,     ///< clusters by what the open nests will read; the helper is a thread beside the members, and none of its
             ///< intervals is larger than its share of half of the cache
};

struct Scheme {
  SchemeKind kind = SchemeKind::kNone;
  uint32_t reserved = 1;
  double threshold = core::kSharingThreshold;
  uint32_t smallest = core::kSmallestCluster;
  double interval = 0.1; ///< of the reads of an iteration
};

struct SharedReport {
  uint64_t micros = 0;
  uint64_t disk_reads = 0;
  core::ClientCounts counts; ///< of all processors
  uint32_t helpers = 0;      ///< in the phase that has the most
  double harmful() const {
    return counts.prefetches ? double(counts.harmful_intra + counts.harmful_inter) / double(counts.prefetches) : 0;
  }
};

SharedReport run_shared(const Program &, const IoMachine &, const Scheme &);

// How a phase is shared out under a scheme: who computes what, and who prefetches for whom.

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
