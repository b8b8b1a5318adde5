// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/teams.h"

namespace pagecast::core {

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
