// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/groups.h"
#include "core/sharing/teams.h"
#include <algorithm>

namespace pagecast::simulator {
namespace {

constexpr uint64_t kLeastUnion = 8; ///< blocks of a team's interval

/// Those of `members` that are in the team.
std::vector<uint32_t> those_of(uint32_t team, const std::vector<uint32_t> &members, const std::vector<uint32_t> &team_of) {
  std::vector<uint32_t> out;
  for (size_t i = 0; i < members.size(); ++i)
    if (team_of[i] == team) out.push_back(members[i]);
  return out;
}

} // namespace

Group *Groups::find(uint32_t phase, uint32_t occurrence, uint32_t member) const {
  const auto at = group_of_.find({phase, occurrence, member});
  return at == group_of_.end() ? nullptr : at->second;
}

void Groups::make(const Leg &leg) {
  group_of_.clear();
  if (scheme_.kind == SchemeKind::kNone || scheme_.kind == SchemeKind::kIndependent) return;
  std::map<Nest, StepsOfAll> nests;
  for (uint32_t r = 0; r < run_.members; ++r)
    for (const Visit &v : leg.of[r]) nests[{v.entry->phase, v.occurrence}][r] = steps_of(*v.entry, page_, run_.bytes);
  for (const auto &[nest, steps] : nests) make(nest, steps);
}

void Groups::make(Nest nest, const StepsOfAll &steps) {
  std::vector<uint32_t> members;
  for (const auto &[r, unused] : steps) members.push_back(r);
  uint32_t teams = 1;
  std::vector<uint32_t> team_of(members.size(), 0);
  if (scheme_.kind == SchemeKind::kReserved) {
    for (size_t i = 0; i < members.size(); ++i) team_of[i] = members[i] * scheme_.reserved / run_.members;
    teams = scheme_.reserved;
  } else teams = clusters(steps, members, &team_of);
  for (uint32_t t = 0; t < teams; ++t) add(nest, steps, those_of(t, members, team_of), true, most_blocks(teams));
  add(nest, steps, those_of(core::kAlone, members, team_of), false, most_blocks(teams + 1));
}

uint64_t Groups::most_blocks(uint64_t teams) const {
  return std::max({uint64_t{1}, frames_ * 3 / 8 / std::max<uint64_t>(teams, 1), std::min(kLeastUnion, frames_ / 8)});
}

uint32_t Groups::clusters(const StepsOfAll &steps, const std::vector<uint32_t> &members, std::vector<uint32_t> *team_of) const {
  const uint64_t words = core::block_set_words((run_.bytes + block_ - 1) / block_);
  std::vector<std::vector<uint64_t>> sets(members.size(), std::vector<uint64_t>(words));
  std::vector<const uint64_t *> rows;
  for (size_t i = 0; i < members.size(); ++i) {
    for (const Step &step : steps.at(members[i]))
      for (const PageTouch &t : step) core::insert_block(sets[i].data(), block_of(t));
    rows.push_back(sets[i].data());
  }
  const auto count = uint32_t(members.size());
  std::vector<double> densities(size_t(count) * count);
  core::pair_densities(rows.data(), count, words, densities.data());
  const uint32_t smallest = scheme_.kind == SchemeKind::kLive ? 2 : scheme_.smallest;
  return core::make_teams(densities.data(), count, {scheme_.threshold, smallest}, team_of->data());
}

/// `most`: blocks of a team's interval.
void Groups::add(Nest nest, const StepsOfAll &steps, const std::vector<uint32_t> &members, bool has_helper, uint64_t most) {
  if (members.empty()) return;
  auto group = std::make_unique<Group>();
  group->members = members;
  group->has_helper = has_helper;
  uint64_t longest = 1;
  for (const uint32_t r : members) longest = std::max<uint64_t>(longest, steps.at(r).size());
  const auto largest = [&](uint64_t length) {
    group->intervals = (longest + length - 1) / length;
    group->unions = unions_of(steps, *group);
    size_t most_of_one = 0;
    for (const Blocks &blocks : group->unions) most_of_one = std::max(most_of_one, blocks.size());
    return most_of_one;
  };
  const auto cut = [&](uint64_t blocks) {
    largest(core::fitting_interval(std::max<uint64_t>(1, uint64_t(double(longest) * scheme_.interval)), blocks, largest));
    return group->intervals;
  };
  group->most_intervals = has_helper ? cut(most) : cut(core::alone_blocks(core::kAloneLeast, members.size(), most));
  if (!has_helper) cut(core::alone_blocks(core::kAloneMost, members.size(), most));
  for (const uint32_t r : members) group_of_[{nest.first, nest.second, r}] = group.get();
  groups_.push_back(std::move(group));
}

std::vector<Blocks> Groups::unions_of(const StepsOfAll &steps, const Group &group) const {
  std::vector<Blocks> out(group.intervals);
  for (const uint32_t r : group.members) {
    const std::vector<Step> &of = steps.at(r);
    const uint64_t intervals = std::min<uint64_t>(group.intervals, of.size());
    for (size_t s = 0; s < of.size(); ++s)
      for (const PageTouch &t : of[s]) out[s * intervals / of.size()].insert(block_of(t));
  }
  return out;
}

} // namespace pagecast::simulator
