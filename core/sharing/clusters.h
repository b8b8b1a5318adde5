// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which members of a parallel program get one helper in a phase: those that share nearly all that they touch.
//
// Clusters grow by complete linkage. Each member begins as a cluster of its own; the two clusters are joined whose least
// dense pair of members is the densest, as long as that reaches the threshold. So all pairs of a cluster reach it.
// Clusters below the smallest size are not worth a processor: their members prefetch each for itself (PACT 2008,
// section 4.3.4: of two, one would compute and one prefetch, which was worse).
//
// Example, the third nest of the paper's figure 10 with 16 processors: member p reads row log2(p) of R, so that the
// clusters are {0, 1}, {2, 3}, {4 ... 7} and {8 ... 15}. Helpers serve the last two (figure 11).
#pragma once
#include <cstdint>

namespace pagecast::core {

inline constexpr double kSharingThreshold = 0.8; ///< the paper's default
inline constexpr uint32_t kSmallestCluster = 3;

/// Writes for each of `count` members the number of its cluster, and returns how many there are. They are numbered by
/// their lowest members. `densities`: of pairs, as pair_densities() makes them; overwritten. Cost: count³.
uint32_t make_clusters(double *densities, uint32_t count, double threshold, uint32_t *cluster_of);

} // namespace pagecast::core
