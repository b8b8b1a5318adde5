// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/teams.h"

#include <algorithm>

namespace pagecast::core {

namespace {

/// The two clusters, by their lowest members, with the densest least dense pair; its density, or -1 if there are no two.
double densest(const double *linkage, uint32_t count, const uint32_t *cluster_of, uint32_t *into, uint32_t *from) {
  double best = -1;
  for (uint32_t a = 0; a < count; ++a)
    for (uint32_t b = a + 1; b < count && cluster_of[a] == a; ++b)
      if (cluster_of[b] == b && linkage[a * count + b] > best) {
        best = linkage[a * count + b];
        *into = a;
        *from = b;
      }
  return best;
}

} // namespace

uint32_t make_clusters(double *linkage, uint32_t count, double threshold, uint32_t *cluster_of) {
  for (uint32_t m = 0; m < count; ++m) cluster_of[m] = m; // a cluster goes by its lowest member meanwhile
  for (uint32_t into = 0, from = 0;;) {
    const double best = densest(linkage, count, cluster_of, &into, &from);
    if (best < threshold || best < 0) break;
    for (uint32_t m = 0; m < count; ++m) {
      if (cluster_of[m] == from) cluster_of[m] = into;
      double &joined = linkage[into * count + m];
      joined = linkage[m * count + into] = std::min(joined, linkage[from * count + m]);
    }
  }
  uint32_t clusters = 0;
  for (uint32_t m = 0; m < count; ++m) cluster_of[m] = cluster_of[m] == m ? clusters++ : cluster_of[cluster_of[m]];
  return clusters;
}

uint32_t make_teams(double *densities, uint32_t count, const TeamRules &rules, uint32_t *team_of) {
  const uint32_t clusters = make_clusters(densities, count, rules.threshold, team_of);
  uint32_t teams = 0;
  for (uint32_t c = 0; c < clusters; ++c) {
    const auto size = static_cast<uint32_t>(std::count(team_of, team_of + count, c));
    std::replace(team_of, team_of + count, c, size < rules.smallest ? kAlone : teams++); // never above c: what follows stays
  }
  return teams;
}

void insert_foreseen(const Foreseen *foreseen, uint32_t count, const DataSetBlocks *sets, uint64_t k, uint64_t intervals,
                     uint64_t *set) {
  for (const Foreseen *f = foreseen; f < foreseen + count; ++f) {
    const DataSetBlocks &of = sets[f->data_set];
    insert_touched(f->reference, interval_of(f->reference, k, intervals), of.block, set + of.first_word, of.words);
  }
}

void Pace::start(uint32_t members, uint64_t intervals, uint64_t lead) {
  members_ = std::min(members, kMostTeamMembers);
  intervals_ = intervals;
  lead_ = lead;
  std::fill(at_, at_ + kMostTeamMembers, 0);
}

} // namespace pagecast::core
