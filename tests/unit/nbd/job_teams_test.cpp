// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Teams of a job on virtual members: how far each is, the test says.
#include "nbd/job_teams.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace pagecast::nbd::test {
namespace {

constexpr uint64_t kBlock = 64 << 10;
const std::vector<core::DataSetBlocks> kSets{{kBlock, 0, 4}}; // 256 blocks
constexpr uint64_t kWords = 4;

constexpr uint64_t kLate = 1'000'000'000; ///< nobody is waited for any more

uint64_t done(uint64_t of, uint64_t whole) { return ((of << 32) + whole - 1) / whole; }

/// A member that goes through `count` blocks from `first` on, a block an iteration.
Opened member(uint32_t place, uint64_t first, uint64_t count, uint64_t phase = 7) {
  core::Foreseen f;
  f.reference.first = static_cast<int64_t>(first * kBlock);
  f.reference.span = kBlock;
  f.reference.loops = 1;
  f.reference.trips[0] = count;
  f.reference.stride[0] = kBlock;
  Opened o;
  o.place = place;
  o.rank = place;
  o.serial = 1;
  o.phase = phase;
  o.foreseen = {f};
  return o;
}

std::vector<size_t> sizes(const std::vector<std::vector<Opened>> &teams) {
  std::vector<size_t> out;
  for (const auto &team : teams) out.push_back(team.size());
  return out;
}

TEST(JobTeams, AskForEachBlockOnceWhileMembersAreInTheIntervalBefore) {
  std::vector<Opened> members{member(0, 0, 100), member(1, 0, 100), member(2, 0, 100)};
  JobTeam team(members, {}, kSets, kWords, 0);
  ASSERT_EQ(team.intervals(), 10u);
  std::vector<uint64_t> all, blocks;
  for (uint64_t at = 0; at < 10; ++at) {
    for (size_t m = 0; m < members.size(); ++m) {
      members[m].done = done(at, 10);
      team.note(m, &members[m]);
      while (team.next(&blocks)) {
        all.insert(all.end(), blocks.begin(), blocks.end());
        EXPECT_EQ(blocks.size(), 10u);
      }
      // Until the last of them has come there, one interval is all that lies before the first.
      EXPECT_EQ(team.asked(), std::min<uint64_t>(10, at + (at == 0 || m == 2 ? 2 : 1)));
    }
  }
  EXPECT_EQ(all.size(), 100u);
  EXPECT_EQ(std::set<uint64_t>(all.begin(), all.end()).size(), 100u);
}

TEST(JobTeams, WhoHasLeftIsNotWaitedFor) {
  std::vector<Opened> members{member(0, 0, 100), member(1, 0, 100)};
  JobTeam team(members, {}, kSets, kWords, 0);
  std::vector<uint64_t> blocks;
  while (team.next(&blocks)) {}
  members[0].done = done(5, 10);
  team.note(0, &members[0]);
  EXPECT_FALSE(team.next(&blocks)) << "member 1 is at its beginning";
  team.note(1, nullptr);
  EXPECT_TRUE(team.next(&blocks));
  EXPECT_EQ(blocks.front(), 50u) << "what has been passed is not asked for";
  team.note(0, nullptr);
  EXPECT_TRUE(team.is_over() && !team.next(&blocks));
}

TEST(JobTeams, ATeamThatTakesTheOthersPlaceDoesNotAskAgain) {
  std::vector<uint64_t> blocks, again;
  JobTeam two({member(0, 0, 100), member(1, 0, 100)}, {}, kSets, kWords, 0);
  while (two.next(&blocks)) {}
  JobTeam three({member(0, 0, 100), member(1, 0, 100), member(2, 5, 100)}, {}, kSets, kWords, 0);
  three.know(two.recent());
  while (three.next(&blocks)) again.insert(again.end(), blocks.begin(), blocks.end());
  EXPECT_EQ(again, (std::vector<uint64_t>{20, 21, 22, 23, 24}));
  EXPECT_EQ(three.recent()[0], (1u << 25) - 1);
}

TEST(JobTeams, IntervalsFitTheCache) {
  const std::vector<Opened> same{member(0, 0, 100), member(1, 0, 100)}, apart{member(0, 0, 100), member(1, 100, 100)};
  EXPECT_EQ(JobTeam(same, {}, kSets, kWords, 10).intervals(), 10u);
  EXPECT_EQ(JobTeam(same, {}, kSets, kWords, 9).intervals(), 20u);
  EXPECT_EQ(JobTeam(apart, {}, kSets, kWords, 10).intervals(), 20u);
}

TEST(JobTeams, WhoAskForThemselvesDoNotFillTheCacheTogether) {
  std::vector<Opened> alone;
  for (uint32_t m = 0; m < 8; ++m) alone.push_back(member(m, m * 32, 32));
  EXPECT_EQ(intervals_of(alone, {}, kSets, kWords, 0), 11u) << "three blocks each";
  EXPECT_EQ(intervals_of(alone, {}, kSets, kWords, 16), 16u) << "two blocks of each";
  EXPECT_EQ(intervals_of(alone, {}, kSets, kWords, 8), 32u);
}

TEST(JobTeams, WhoAskForThemselvesHaveTheirOwnIntervalsWhereThereIsRoom) {
  std::vector<Opened> alone;
  for (uint32_t m = 0; m < 8; ++m) alone.push_back(member(m, m * 32, 32));
  const auto of = [&](uint64_t own, uint64_t most) {
    Opened one = alone[0];
    one.own_intervals = own;
    return intervals_alone(one, alone, {}, kSets, kWords, most);
  };
  EXPECT_EQ(of(4, 8), 11u) << "64 blocks are room for three of each";
  EXPECT_EQ(of(12, 8), 12u) << "as it has by itself";
  EXPECT_EQ(of(64, 8), 16u) << "16 blocks are asked for in any case, two of each";
  EXPECT_EQ(of(4, 1), 32u) << "no interval asks for less than a block";
}

TEST(JobTeams, WhoIsAloneInAJobAsksForNoMoreThanATeam) {
  for (const uint64_t own : {1, 4, 16, 100}) {
    Opened one = member(0, 0, 128);
    one.own_intervals = own;
    EXPECT_EQ(intervals_alone(one, {one}, {}, kSets, kWords, 8), 22u) << "six blocks, where 16 or 64 would be room for twelve";
  }
}

TEST(JobTeams, SeveralHelpersHaveRanksThatFollowEachOtherWhoeverComesFirst) {
  JobScheme scheme;
  scheme.kind = JobScheme::kAll;
  std::vector<Opened> alone, phase;
  for (uint32_t rank = 0; rank < 7; ++rank) phase.push_back(member(rank, 0, 50));
  for (const auto &[helpers, right] :
       std::map<uint32_t, std::vector<size_t>>{{1, {7}}, {2, {4, 3}}, {3, {3, 2, 2}}, {9, {1, 1, 1, 1, 1, 1, 1}}}) {
    scheme.helpers = helpers;
    EXPECT_EQ(sizes(teams_of(phase, scheme, kSets, kWords, 7, kLate, &alone)), right) << helpers;
  }
  scheme.helpers = 2;
  const std::vector<Opened> late{member(6, 0, 50), member(3, 0, 50), member(5, 0, 50)}; // the others have not come yet
  const auto teams = teams_of(late, scheme, kSets, kWords, 7, kLate, &alone);
  ASSERT_EQ(sizes(teams), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(teams[0][0].rank, 3);
  EXPECT_TRUE(alone.empty());
}

TEST(JobTeams, AreMadeByWhatIsOpenByAProfileOrOfAll) {
  const std::vector<Opened> phase{member(0, 0, 50), member(1, 100, 50), member(2, 0, 50), member(3, 200, 50)};
  std::vector<Opened> alone;
  EXPECT_EQ(sizes(teams_of(phase, {}, kSets, kWords, 4, kLate, &alone)), (std::vector<size_t>{2}));
  EXPECT_EQ(alone.size(), 2u);
  JobScheme scheme;
  scheme.kind = JobScheme::kAll;
  alone.clear();
  EXPECT_EQ(sizes(teams_of(phase, scheme, kSets, kWords, 4, kLate, &alone)), (std::vector<size_t>{4}));
  EXPECT_TRUE(alone.empty());
  scheme.kind = JobScheme::kByProfile;
  scheme.plan[7] = {{0, 1}, {1, 1}, {2, 1}}; // of a run with three ranks
  EXPECT_EQ(sizes(teams_of(phase, scheme, kSets, kWords, 4, kLate, &alone)), (std::vector<size_t>{2}));
  ASSERT_EQ(alone.size(), 2u);
  EXPECT_EQ(alone[0].rank, 1) << "it shares nothing with them, whatever it did when the profile was taken";
  EXPECT_EQ(alone[1].rank, 3);
  const std::vector<Opened> other{member(0, 0, 50, 8), member(1, 0, 50, 8)};
  EXPECT_TRUE(teams_of(other, scheme, kSets, kWords, 4, kLate, &alone).empty()) << "the profile does not know the nest";
}

TEST(JobTeams, LiveWaitForAllRanks) {
  std::vector<Opened> alone, phase{member(0, 0, 50), member(1, 100, 50), member(2, 0, 50)};
  EXPECT_TRUE(teams_of(phase, {}, kSets, kWords, 4, 0, &alone).empty()) << "of four, one is to come";
  EXPECT_EQ(alone.size(), 3u);
  EXPECT_EQ(sizes(teams_of(phase, {}, kSets, kWords, 4, kGraceNs, &alone)), (std::vector<size_t>{2}));
  EXPECT_EQ(sizes(teams_of(phase, {}, kSets, kWords, 3, 0, &alone)), (std::vector<size_t>{2})) << "all are there";
  ASSERT_EQ(alone.size(), 5u);
  EXPECT_FALSE(alone[3].is_settled);
  EXPECT_TRUE(alone[4].is_settled) << "who shares with none of them need not wait";
  phase[1].done = done(9, 10);
  EXPECT_TRUE(teams_of(phase, {}, kSets, kWords, 3, 0, &alone).empty())
      << "one is at the end of the same loop, and may come again";
}

TEST(JobTeams, ByAProfileWaitForThoseWhoAreToCome) {
  JobScheme scheme;
  scheme.kind = JobScheme::kByProfile;
  scheme.plan[7] = {{0, 1}, {1, 1}, {2, 1}};
  std::vector<Opened> alone, phase{member(0, 0, 50), member(1, 0, 50)};
  const auto made = [&](uint64_t now_ns) {
    alone.clear();
    return sizes(teams_of(phase, scheme, kSets, kWords, 3, now_ns, &alone));
  };
  EXPECT_TRUE(made(kGraceNs - 1).empty()) << "the third may come in a moment";
  EXPECT_EQ(alone.size(), 2u);
  EXPECT_EQ(made(kGraceNs), (std::vector<size_t>{2})) << "it does not";
  phase.push_back(member(2, 0, 50));
  EXPECT_EQ(made(0), (std::vector<size_t>{3})) << "all are there";
  phase.pop_back();
  phase[0].is_served = true;
  EXPECT_EQ(made(0), (std::vector<size_t>{2})) << "one of a team has left";
  phase.pop_back();
  EXPECT_TRUE(made(kLate).empty()) << "one by itself is no team";
  scheme.plan.clear();
  phase = {member(0, 0, 50), member(1, 100, 50)};
  EXPECT_TRUE(made(0).empty());
  EXPECT_FALSE(alone[0].is_settled || alone[1].is_settled) << "how much of the cache is theirs is known when the third is there";
  phase.push_back(member(2, 200, 50));
  EXPECT_TRUE(made(0).empty());
  EXPECT_TRUE(alone[0].is_settled && alone[1].is_settled && alone[2].is_settled);
}

} // namespace
} // namespace pagecast::nbd::test
