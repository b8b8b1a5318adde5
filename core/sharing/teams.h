// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Teams: members of a parallel program that one helper serves in a phase. Who they are, how their iterations are cut into
// intervals, what the helper asks for in each, and who waits for whom (PACT 2008, section 4.3 and figure 8).
//
// The simulator and the helper of real programs (nbd/job_helper.h) run the same rules.
//
// Example: eight members, of whom each pair shares all that it touches, are one team with one helper. Four with a helper of
// 80 blocks an interval, where half of the cache is 64 blocks, get intervals of half of that length.
//
// No clock, no allocation. Not thread-safe.
#pragma once
#include "core/sharing/reference.h"

#include <algorithm>
#include <cstdint>

namespace pagecast::core {

// --- sharing clusters --------------------------------------------------------------------------
//
// Which members of a parallel program get one helper in a phase: those that share nearly all that they touch.
//
// Clusters grow by complete linkage. Each member begins as a cluster of its own; the two clusters are joined whose least
// dense pair of members is the densest, as long as that reaches the threshold. So all pairs of a cluster reach it.
//
// Clusters below the smallest size are not worth a processor: their members prefetch each for itself (PACT 2008,
// section 4.3.4: of two, one would compute and one prefetch, which was worse).
//
// Example, the third nest of the paper's figure 10 with 16 processors: member p reads row log2(p) of R, so that the
// clusters are {0, 1}, {2, 3}, {4 ... 7} and {8 ... 15}. Helpers serve the last two (figure 11).

inline constexpr double kSharingThreshold = 0.8; ///< the paper's default
inline constexpr uint32_t kSmallestCluster = 3;

/// Writes for each of `count` members the number of its cluster, and returns how many there are. They are numbered by
/// their lowest members. `densities`: of pairs, as pair_densities() makes them; overwritten. Cost: count³.
uint32_t make_clusters(double *densities, uint32_t count, double threshold, uint32_t *cluster_of);

// --- teams ----------------------------------------------------------------------------------

inline constexpr uint32_t kMostTeamMembers = 512;
inline constexpr uint32_t kAlone = ~0u; ///< of no team

struct TeamRules {
  double threshold = kSharingThreshold;
  uint32_t smallest = kSmallestCluster;
};

/// Writes for each member the number of its team, or kAlone where its sharing cluster is too small. Returns the number of teams,
/// which are numbered by their lowest members. `densities`: as make_clusters() takes them.
uint32_t make_teams(double *densities, uint32_t count, const TeamRules &, uint32_t *team_of);

/// The length of an interval: `length`, halved until none of a team's unions has more than `most` blocks. `largest(length)`: the
/// size of the largest union then. `most` 0: any will do.
template <class Largest> uint64_t fitting_interval(uint64_t length, uint64_t most, Largest largest) {
  while (most && length > 1 && largest(length) > most) length = (length + 1) / 2;
  return length;
}

/// What those who are in no team ask for in an interval, all together: at least, and at most, so many times what one team may. Between
/// these, each has the interval that it has by itself. Where there is room, requests are larger for it. And each reads what has come for
/// it into its own memory soon, so that they may be more than the cache holds: where they were three quarters of it at most, eight members
/// with three arrays asked for one or two blocks of each at a time, and the disk had a fifth more requests.
///
/// But none of them asks for more than a team may. What one has asked for goes before what it has just read, as that was used later: so
/// the interval that it has read, the one that it reads and the one that it asks for must fit in the cache. A sweep in 128 blocks has no
/// harmful prefetch with intervals of 38 blocks, and hardly another with 48.
inline constexpr uint64_t kAloneLeast = 2, kAloneMost = 8;
/// `times` is one of these; `members`: how many they are; `most`: blocks of a team's interval.
inline uint64_t alone_blocks(uint64_t times, uint64_t members, uint64_t most) { return std::min(times, members) * most; }
/// The intervals of one of them, who has `own` by itself: `few` ask for the most, `many` for the least.
inline uint64_t alone_intervals(uint64_t own, uint64_t few, uint64_t many) { return std::clamp(own, few, std::max(few, many)); }

/// A data set's blocks within the sets of a job, in which all data sets follow each other.
struct DataSetBlocks {
  uint64_t block = kStorageBlock; ///< bytes
  uint64_t first_word = 0, words = 0;
};

/// What a member will touch of a data set in a phase.
struct Foreseen {
  uint32_t data_set = 0;
  Reference reference;
};

/// Puts what is touched in interval `k` of `intervals` into the set.
void insert_foreseen(const Foreseen *, uint32_t count, const DataSetBlocks *, uint64_t k, uint64_t intervals, uint64_t *set);

/// Where a team's members are, and so what the helper may ask for and who must wait. A member has arrived at interval k when all
/// that comes before it is done.
class Pace {
public:
  /// `lead`: intervals by which a member may be ahead of the last one. The paper's is 0: all meet at each boundary.
  void start(uint32_t members, uint64_t intervals, uint64_t lead);
  void arrived(uint32_t member, uint64_t interval) { at_[member] = std::max(at_[member], interval); }
  /// It has left the phase, or died: nobody waits for it.
  void left(uint32_t member) { at_[member] = ~uint64_t{0}; }
  uint64_t slowest() const { return *std::min_element(at_, at_ + members_); }

  /// The helper brings interval k while members are in the one before it, and at their beginning the first two.
  bool may_ask(uint64_t k) const { return k < intervals_ && (slowest() >= k || slowest() + 1 == k); }
  /// The first interval that a member may not enter yet.
  uint64_t gate() const { return slowest() >= intervals_ ? ~uint64_t{0} : slowest() + lead_ + 1; }
  bool is_over() const { return slowest() == ~uint64_t{0}; }

private:
  uint32_t members_ = 0;
  uint64_t intervals_ = 0, lead_ = 0;
  uint64_t at_[kMostTeamMembers] = {};
};

} // namespace pagecast::core
