// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who shares what in a phase, and for whom one helper is to prefetch (core/sharing/reference.h and teams.h).
#pragma once
#include "cli/profile/profile.h"
#include "core/sharing/teams.h"
#include <optional>

namespace pagecast::cli {

struct Thresholds {
  double density = core::kSharingThreshold;
  uint32_t smallest = core::kSmallestCluster;
};

/// Those who touch something in a phase.
struct Sharing {
  std::vector<uint32_t> members;               ///< indices in the profile, ascending
  std::vector<uint64_t> blocks;                ///< that each of them touches
  uint64_t distinct = 0;                       ///< blocks that any of them touches
  std::vector<double> matrix;                  ///< of each pair: members² of them
  std::vector<std::vector<uint32_t>> clusters; ///< indices in `members`
};

Sharing sharingOf(const Profile &, const ProfilePhase &, const Thresholds &);
/// sharingOf() each phase, in their order.
std::vector<Sharing> sharingsOf(const Profile &, const Thresholds &);
/// The names of those in a cluster.
std::vector<std::string> namesOf(const Profile &, const Sharing &, const std::vector<uint32_t> &cluster);

/// What the clusters of one profile are worth for another run.
struct Served {
  std::string phase;
  bool isKnown = false; ///< the profile has the phase
  /// A cluster of the profile that is large enough: its members that are in the run, and their least density there.
  struct Cluster {
    std::vector<std::string> members;
    double density = 0;
  };
  std::vector<Cluster> clusters;
};

struct Fit {
  std::vector<std::string> misfits; ///< sentences: what of the profile does not fit the run
  std::vector<Served> phases;       ///< of the run
};

/// Members are the same in both when they have the same name, and phases when they have the same name and file.
Fit fitOf(const Profile &profile, const Profile &run, const Thresholds &);

} // namespace pagecast::cli
