// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/teams.h"
#include "core/sharing/reference.h"
#include <gtest/gtest.h>

#include <vector>

namespace pagecast::core::test {
namespace {

/// `shared` of ten blocks are the group's, and the others are each member's own.
std::vector<double> densities(const std::vector<uint32_t> &group_of, uint32_t shared) {
  const auto count = uint32_t(group_of.size());
  const uint64_t words = block_set_words(1000);
  std::vector<std::vector<uint64_t>> sets(count, std::vector<uint64_t>(words));
  std::vector<const uint64_t *> rows;
  for (uint32_t m = 0; m < count; ++m) {
    for (uint32_t b = 0; b < 10; ++b) insert_block(sets[m].data(), b < shared ? group_of[m] * 10 + b : 500 + m * 10 + b);
    rows.push_back(sets[m].data());
  }
  std::vector<double> out(count * count);
  pair_densities(rows.data(), count, words, out.data());
  return out;
}

std::vector<uint32_t> teams(const std::vector<uint32_t> &group_of, uint32_t shared, const TeamRules &rules, uint32_t *count) {
  auto matrix = densities(group_of, shared);
  std::vector<uint32_t> out(group_of.size());
  *count = make_teams(matrix.data(), uint32_t(out.size()), rules, out.data());
  return out;
}

TEST(Teams, AreTheClustersThatAreLargeEnough) {
  uint32_t count = 0;
  const std::vector<uint32_t> groups = {0, 1, 0, 2, 2, 2, 0, 2};
  EXPECT_EQ(teams(groups, 10, {}, &count), (std::vector<uint32_t>{0, kAlone, 0, 1, 1, 1, 0, 1}));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(teams(groups, 10, {0.8, 4}, &count), (std::vector<uint32_t>{kAlone, kAlone, kAlone, 0, 0, 0, kAlone, 0}));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(teams(groups, 10, {0.8, 1}, &count), (std::vector<uint32_t>{0, 1, 0, 2, 2, 2, 0, 2}));
}

TEST(Teams, ThereIsNoneWhereLessIsSharedThanTheThreshold) {
  uint32_t count = 0;
  EXPECT_EQ(teams({0, 0, 0}, 8, {}, &count), std::vector<uint32_t>(3, kAlone)); // 8 of 12 are 67 %
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(teams({0, 0, 0}, 8, {0.6, 3}, &count), std::vector<uint32_t>(3, 0));
}

TEST(Teams, AnIntervalIsHalvedUntilItsUnionFits) {
  const auto twice = [](uint64_t length) { return 2 * length; };
  EXPECT_EQ(fitting_interval(100, 0, twice), 100u);
  EXPECT_EQ(fitting_interval(100, 200, twice), 100u);
  EXPECT_EQ(fitting_interval(100, 199, twice), 50u);
  EXPECT_EQ(fitting_interval(100, 30, twice), 13u);
  EXPECT_EQ(fitting_interval(100, 1, twice), 1u); // no shorter than an iteration
}

TEST(Teams, TheUnionOfAnIntervalHasEachBlockOnceAndDataSetsApart) {
  const DataSetBlocks sets[] = {{64 << 10, 0, 2}, {4 << 10, 2, 1}};
  const Foreseen first[] = {{0, {0, 128 << 10, 1, {10}, {128 << 10}}}, {1, {0, 4096, 1, {10}, {4096}}}};
  const Foreseen second[] = {{0, {64 << 10, 64 << 10, 1, {10}, {128 << 10}}}};
  uint64_t set[3] = {};
  insert_foreseen(first, 2, sets, 1, 5, set);
  insert_foreseen(second, 1, sets, 1, 5, set);
  EXPECT_EQ(set[0], 0xf0u); // rows 2 and 3, of two blocks each
  EXPECT_EQ(set[1], 0u);
  EXPECT_EQ(set[2], 0xcu);
}

TEST(Pace, TheHelperIsOneIntervalAhead) {
  Pace pace;
  pace.start(2, 4, 1);
  EXPECT_TRUE(pace.may_ask(0) && pace.may_ask(1) && !pace.may_ask(2));
  pace.arrived(0, 3);
  EXPECT_FALSE(pace.may_ask(2)) << "the other one is still in the first";
  pace.arrived(1, 1);
  EXPECT_TRUE(pace.may_ask(2) && !pace.may_ask(3));
  pace.left(1);
  EXPECT_TRUE(pace.may_ask(3) && !pace.may_ask(4)) << "there are four";
  EXPECT_FALSE(pace.is_over());
  pace.left(0);
  EXPECT_TRUE(pace.is_over());
}

TEST(Pace, NobodyIsFurtherAheadThanTheLeadAndWhoHasGoneIsNotWaitedFor) {
  for (const uint64_t lead : {0, 1}) {
    Pace pace;
    pace.start(3, 5, lead);
    EXPECT_EQ(pace.gate(), lead + 1);
    pace.arrived(0, 2), pace.arrived(1, 2);
    EXPECT_EQ(pace.gate(), lead + 1);
    pace.arrived(2, 1);
    EXPECT_EQ(pace.gate(), lead + 2);
    pace.arrived(2, 0); // news may come late
    pace.left(2);
    EXPECT_EQ(pace.gate(), lead + 3);
    pace.arrived(0, 5), pace.arrived(1, 5);
    EXPECT_EQ(pace.gate(), ~uint64_t{0}) << "they are through";
  }
}

} // namespace
} // namespace pagecast::core::test
