// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/plan.h"
#include "tests/unit/core/shapes.h"
#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

/// Figure 4.3 of the thesis, with `columns` columns of 4 bytes: loops iter, i, j; groups a, b, c.
Shape matvec(uint64_t columns) {
  const int64_t row = int64_t(columns) * 4;
  return nest_of({10, 100, columns}, {array(kBase, {0, row, 4}, 4), array(kBase + (1u << 30), {0, 0, 4}, 4),
                                      array(kBase + (2u << 30), {0, 4, 0}, 4)});
}

TEST(Plan, MatvecPrioritiesWhenARowDoesNotFit) {
  const Plan p = make_plan(matvec(1000000), machine(1 << 20));
  EXPECT_EQ(p.group[0].priority, 1u);
  EXPECT_EQ(p.group[1].priority, 3u);
  EXPECT_EQ(p.group[0].release_unit, 2) << "step by step";
  EXPECT_EQ(p.group[1].release_unit, 2);
  EXPECT_EQ(p.group[1].release_loop, -1);
  EXPECT_TRUE(p.group[0].releases && p.group[1].releases);
  EXPECT_FALSE(p.group[2].releases) << "a page of c is not worth a release";
}

TEST(Plan, MatvecKeepsARowThatFits) {
  const Plan p = make_plan(matvec(1000000), machine(75 << 20));
  EXPECT_EQ(p.localized, 1u);
  EXPECT_FALSE(p.fits);
  EXPECT_EQ(p.group[0].priority, 1u);
  EXPECT_EQ(p.group[0].release_unit, 2);
  EXPECT_EQ(p.group[1].priority, 1u) << "its reuse in i is localized, that in iter is not";
  EXPECT_EQ(p.group[1].release_loop, 1);
  EXPECT_EQ(p.group[1].release_unit, 0) << "released once per iteration of iter";
}

TEST(Plan, AtOnceGivesUpWhatOuterLoopsWantAgain) {
  Conditions c = machine(75 << 20);
  c.at_once = true;
  const Plan p = make_plan(matvec(1000000), c);
  EXPECT_EQ(p.group[1].priority, 3u) << "as OSDI 2000, figure 5";
  EXPECT_EQ(p.group[1].release_unit, 2) << "step by step, though a row fits";
  EXPECT_EQ(p.group[1].release_loop, -1);
  // What the steps of one row share stays: y[i] over j, and the rows of a stencil that trail each other.
  const Shape sums = nest_of({100000, 100000}, {array(kBase, {800000, 8}), array(kBase + (1ull << 40), {8, 0})});
  EXPECT_EQ(make_plan(sums, c).group[1].release_unit, make_plan(sums, machine(75 << 20)).group[1].release_unit);
  const int64_t row = 8 * 4096;
  const Plan stencil = make_plan(nest_of({8192, 4096}, {array(kBase + row, {row, 8}), array(kBase - row, {row, 8})}), c);
  EXPECT_FALSE(stencil.group[0].releases);
  EXPECT_TRUE(stencil.group[1].releases);
}

TEST(Plan, NothingIsReleasedWhenAllFits) {
  const Plan p = make_plan(matvec(1000), machine(75 << 20));
  EXPECT_TRUE(p.fits);
  for (unsigned g = 0; g < 3; ++g) EXPECT_FALSE(p.group[g].releases);
}

TEST(Plan, FootprintsCountSharedPagesOnce) {
  const Plan p = make_plan(matvec(1000000), machine(75 << 20));
  EXPECT_EQ(p.iteration_bytes[2], 3 * kPage);
  EXPECT_EQ(p.iteration_bytes[1], 2 * 4001792u + kPage) << "a row of a, b, and a page of c";
  EXPECT_EQ(p.total_bytes, 400003072u + 4001792 + kPage);
}

TEST(Plan, WhatSeveralGroupsTouchCountsOnce) {
  // Three planes of one array, one of another; then the first array's planes have holes in which others lie.
  const int64_t plane = 1 << 20, row = 8192;
  Shape s = nest_of({100, 128, 1024}, {array(kBase, {plane, row, 8}), array(kBase + plane, {plane, row, 8}),
                                       array(kBase + (1u << 30), {plane, row, 8}), array(kBase + 2 * plane, {plane, row, 8})});
  const Plan dense = make_plan(s, machine(32 << 20));
  EXPECT_EQ(dense.total_bytes, 203u * plane) << "and what they reach beyond the first";
  EXPECT_EQ(dense.group[1].like, 0u);
  EXPECT_EQ(dense.group[2].like, 2u);
  EXPECT_EQ(dense.group[3].like, 0u);
  for (Group &g : s.group) g.stride[1] *= 2;
  s.trips[1] = 64;
  s.group[1].base = kBase + uint64_t(row);
  const Plan holes = make_plan(s, machine(32 << 20));
  EXPECT_EQ(holes.group[1].like, 1u) << "the rows between";
  EXPECT_EQ(holes.total_bytes, 200u * plane);
}

TEST(Plan, AStepOfManyPiecesMovesByAllOfThem) {
  // Lines along z of a cube: blocks of 16 columns of 16 bytes, 128 planes; forwards, backwards, and a diagonal.
  for (const int64_t way : {1, -1}) {
    Shape s = nest_of({160, 16, 128}, {array(kBase, {4096, 256, way * 655360}, 256)}, false);
    s.ticked = 1;
    EXPECT_EQ(make_plan(s, machine(1 << 20)).step_bytes, 128u * 256);
    s.group[0].stride[1] = way * -8192;
    EXPECT_EQ(make_plan(s, machine(1 << 20)).step_bytes, 128u * kPage) << "pages of their own";
    s.group[0].stride[1] = way * 655360;
    EXPECT_EQ(make_plan(s, machine(1 << 20)).step_bytes, kPage) << "to where the next plane was";
  }
}

TEST(Plan, StripsMoveByABlock) {
  Conditions c = machine(uint64_t{1} << 30);
  c.max_io = 1 << 20;
  const Plan p = make_plan(nest_of({1 << 24}, {array(kBase, {8})}), c);
  EXPECT_EQ(p.strip, (256u << 10) / 8);
  EXPECT_EQ(p.step_bytes, 256u << 10);
  EXPECT_EQ(p.batch_steps, 4u);
}

TEST(Plan, StripsAreMultiplesOf64) {
  std::mt19937_64 r(5);
  for (int i = 0; i < 1000; ++i) {
    Shape s = random_shape(r);
    const Plan p = make_plan(s, machine(r() % (64 << 20)));
    if (!s.strips) {
      EXPECT_GE(p.strip, 1u);
      EXPECT_LE(p.strip, std::max<uint64_t>(1, s.trips[s.ticked]));
    } else {
      EXPECT_EQ(p.strip % 64, 0u);
      EXPECT_GE(p.strip, 64u);
      EXPECT_LE(p.strip, std::max<uint64_t>(64, (s.trips[s.ticked] + 63) / 64 * 64));
    }
  }
}

TEST(Plan, AStepIsASmallShareOfTheBudget) {
  Conditions c = machine(8 << 20);
  c.max_io = 16 << 20;
  Shape s = nest_of({1 << 24}, {});
  for (unsigned g = 0; g < 16; ++g) s.group[s.groups++] = array(kBase + (uint64_t{g} << 30), {8});
  const Plan p = make_plan(s, c);
  EXPECT_LE(p.step_bytes, c.budget / 32);
}

TEST(Plan, AStepWhoseLoopsInsideDoNotFitIsNotFetched) {
  Shape s = nest_of({10, 1 << 20}, {array(kBase, {0, 8})}); // each step of the outer loop goes through all of 8 MiB
  s.ticked = 0;
  EXPECT_FALSE(make_plan(s, machine(4 << 20)).prefetches);
  EXPECT_TRUE(make_plan(s, machine(9 << 20)).prefetches);
  s.ticked = 1;
  EXPECT_TRUE(make_plan(s, machine(4 << 20)).prefetches);
}

TEST(Plan, ColumnWalksFetchWideBlocks) {
  // 1000 rows of 1 MiB, walked column by column: the next 511 columns are on the same pages.
  const Shape s = nest_of({100000, 1000}, {array(kBase, {8, 1 << 20})});
  const Plan p = make_plan(s, machine(uint64_t{1} << 30));
  EXPECT_EQ(p.group[0].wide_loop, 0);
  EXPECT_EQ(p.group[0].block, 64u << 10);
  EXPECT_EQ(p.group[0].release_unit, 0) << "released when the walk has left the page's columns";
  const Plan tight = make_plan(s, machine(64 << 20));
  EXPECT_EQ(tight.group[0].block, 16u << 10) << "a thousand blocks in a quarter of the budget";
  const Plan none = make_plan(s, machine(1 << 20));
  EXPECT_EQ(none.group[0].wide_loop, -1);
  EXPECT_EQ(none.group[0].release_unit, 1);
}

TEST(Plan, BlocksFollowTheLoopThatGoesFurthestAlongTheColumns) {
  // Lines of 3 KiB in 96 planes, 256 bytes of a line at a time: beyond the line comes the next one.
  const Shape s = nest_of({192, 12, 96}, {array(kBase, {3072, 256, 192 * 3072})});
  const Plan p = make_plan(s, machine(48 << 20));
  EXPECT_EQ(p.group[0].wide_loop, 0);
  EXPECT_EQ(p.group[0].block, 64u << 10);
}

TEST(Plan, TheBlocksOfAllGroupsTogetherFit) {
  Shape s = nest_of({1000, 200}, {array(kBase, {4096, 8 << 20})});
  s.group[0].hi = 4096;
  EXPECT_EQ(make_plan(s, machine(64 << 20)).group[0].block, 64u << 10);
  while (s.groups < 8) {
    s.group[s.groups] = s.group[0];
    s.group[s.groups].base += uint64_t{s.groups} << 40;
    ++s.groups;
  }
  EXPECT_EQ(make_plan(s, machine(64 << 20)).group[7].block, 8u << 10);
}

TEST(Plan, OfTwoReferencesAFewPagesApartTheTrailingOneReleases) { // a[i] = a[i + 100000]
  Shape s = nest_of({40 << 20}, {array(kBase + 800000, {8}, 8), array(kBase, {8}, 8)});
  s.group[1].writes = true;
  const Plan keeps = make_plan(s, machine(16 << 20));
  EXPECT_TRUE(keeps.group[0].stored);
  EXPECT_FALSE(keeps.group[1].stored);
  EXPECT_FALSE(keeps.group[0].releases) << "what lies between them are 2 * 800,000 bytes, not a page for each element";
  EXPECT_TRUE(keeps.group[1].releases);
  EXPECT_TRUE(make_plan(s, machine(3 << 20)).group[0].releases) << "there it does not fit";
}

TEST(Plan, WhatIsStoredToInTheSameIterationIsFetchedForStores) { // parent[i] is read by a slice, and stored to if it changes
  Shape s = nest_of({40 << 20}, {array(kBase, {4}, 4), array(kBase, {4}, 4), array(2 * kBase, {4}, 4)});
  s.group[0].index = true;
  s.group[1].writes = true;
  const Plan plan = make_plan(s, machine(16 << 20));
  EXPECT_TRUE(plan.group[0].stored);
  EXPECT_FALSE(plan.group[2].stored);
  s.group[1].stride[0] = 8;
  EXPECT_FALSE(make_plan(s, machine(16 << 20)).group[0].stored);
}

TEST(Plan, WhatAColumnHasStoredToAnIterationBeforeIsFetchedForStores) { // v[j][i] = v[j+1][i], j goes down inside i
  const int64_t row = 13600;
  Shape s = nest_of({1700, 1700}, {array(kBase + 1700 * row, {8, -row}, 8), array(kBase + 1699 * row, {8, -row}, 8)});
  s.group[1].writes = true;
  s.ticked = 0;
  const Plan columns = make_plan(s, machine(16 << 20));
  EXPECT_TRUE(columns.group[0].stored) << "both are asked for in one step";
  s.ticked = 1;
  EXPECT_TRUE(make_plan(s, machine(16 << 20)).group[0].stored);
  Shape apart = s; // an iteration of the outer loop behind
  apart.ticked = 1;
  apart.group[0] = array(kBase, {row, 8}, 8);
  apart.group[1] = array(kBase + row, {row, 8}, 8);
  apart.group[1].writes = true;
  EXPECT_FALSE(make_plan(apart, machine(16 << 20)).group[0].stored) << "the store was steps ago";
  s.group[1].writes = false;
  EXPECT_FALSE(make_plan(s, machine(16 << 20)).group[0].stored);
}

TEST(Plan, OnlyTheTrailingOfThreeRowsReleases) {
  // a[i+1][j], a[i][j], a[i-1][j] with rows of 1 MiB (figure 4.2).
  const int64_t row = 1 << 20;
  const Shape s =
      nest_of({1000, 1 << 17}, {array(kBase + 2 * row, {row, 8}), array(kBase + row, {row, 8}), array(kBase, {row, 8})});
  const Plan keeps = make_plan(s, machine(64 << 20));
  EXPECT_FALSE(keeps.group[0].releases);
  EXPECT_FALSE(keeps.group[1].releases);
  EXPECT_TRUE(keeps.group[2].releases);
  const Plan cannot = make_plan(s, machine(1 << 20));
  EXPECT_TRUE(cannot.group[0].releases) << "three rows do not fit: each reference by itself";
}

TEST(Plan, NeighboursDownAColumnAreKeptOnce) {
  // a[i-1][j], a[i+1][j] and the same of b, i inside j: a page of each row of a and b is kept, 12 MiB each.
  const int64_t row = 24000, rows = 3072;
  const core::Addr other = kBase + (1u << 30);
  const auto column = [&](core::Addr base) { return array(base, {8, row}); };
  Shape s =
      nest_of({3000, uint64_t(rows)}, {column(kBase), column(kBase + 2 * row), column(other), column(other + 2 * row)}, false);
  const Plan p = make_plan(s, machine(30 << 20));
  EXPECT_EQ(p.localized, 0u);
  EXPECT_EQ(p.group[0].release_unit, 0) << "once the columns of its page are done";
  s.group[1].base = other + 2 * (1u << 30);
  EXPECT_EQ(make_plan(s, machine(30 << 20)).localized, 1u) << "of another array";
  s.group[1].base = kBase + uint64_t(2 * row + 2048);
  EXPECT_EQ(make_plan(s, machine(30 << 20)).localized, 1u) << "half of its pages are others";
  s.group[1].base = kBase + uint64_t(rows / 2 * row);
  EXPECT_EQ(make_plan(s, machine(30 << 20)).localized, 1u) << "half of its rows are others";
}

TEST(Plan, IndirectGroupsAreLeftAlone) {
  Shape s = nest_of({1 << 24}, {array(kBase, {8}), array(kBase + (1u << 30), {0})});
  s.group[1].indirect = true;
  const Plan p = make_plan(s, machine(1 << 20));
  EXPECT_FALSE(p.group[1].releases);
  EXPECT_EQ(p.group[1].step_bytes, 0u);
}

TEST(Plan, StepsOfScatteredReferencesAreShort) {
  const uint64_t budget = uint64_t{1} << 30;
  Conditions c = machine(budget);
  c.max_io = 1 << 20;
  Shape s = nest_of({1 << 24}, {array(kBase, {8}), array(kBase + (1u << 30), {0})});
  const uint64_t direct = make_plan(s, c).strip;
  s.group[1].indirect = true;
  EXPECT_EQ(make_plan(s, c).strip, direct) << "a sweep, or one that nobody serves";
  s.group[1].scattered = true;
  const Plan p = make_plan(s, c);
  EXPECT_LT(p.strip, direct);
  EXPECT_LE(p.strip * kPage, budget / 32) << "if each iteration is in a page of its own";
  EXPECT_GT(p.strip * kPage, budget / 40);
}

TEST(Plan, TicksOfElementsMakeAStepOfABlockWithASliceToo) {
  Conditions c = machine(uint64_t{1} << 30);
  Shape s = nest_of({1 << 24}, {array(kBase, {8}), array(kBase + (1u << 30), {0})});
  s.strips = false;
  const uint64_t direct = make_plan(s, c).strip;
  EXPECT_GT(direct, 64u);
  s.group[1].indirect = true;
  s.stages = 2;
  EXPECT_EQ(make_plan(s, c).strip, direct);
  s.sliced_bytes = 96; // rows: the slice's steps are the program's
  EXPECT_EQ(make_plan(s, c).strip, 1u);
  s.sliced_bytes = 0;
  c.fixed_distance = 4; // a user counts iterations
  EXPECT_EQ(make_plan(s, c).strip, 1u);
}

TEST(Plan, AbsurdNumbersAreHarmless) {
  const uint64_t huge = ~uint64_t{0};
  const Shape s = nest_of({huge, huge, huge}, {array(kBase, {INT64_MIN, INT64_MAX, 8}), array(0, {0, -1, 1}, 0)});
  for (uint64_t budget : {uint64_t{0}, uint64_t{1}, huge}) {
    const Plan p = make_plan(s, machine(budget));
    EXPECT_FALSE(p.fits && budget != huge);
    EXPECT_GE(p.strip, 64u);
  }
}

} // namespace
} // namespace pagecast::core::test
