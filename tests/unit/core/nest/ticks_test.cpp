// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/ticks.h"
#include "core/nest/cursor.h"
#include "core/nest/plan.h"
#include "tests/unit/core/shapes.h"
#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

TEST(Ticks, StepsEndWhereTheCursorsDo) {
  Shape s = nest_of({3, 118, 10}, {array(kBase, {80 * 118, 80, 8})}, false);
  s.ticked = 1;
  Ticks t;
  t.start(s, 50);
  Cursor c;
  c.start(s, 50);
  uint64_t ticks = 0;
  for (; !c.at_end(); c.next()) {
    EXPECT_EQ(t.ticks(c.position()), ticks);
    for (uint64_t i = 0; i < c.count(); ++i) EXPECT_EQ(t.steps(ticks + i), c.position()) << "not finished before its last tick";
    ticks += c.count();
  }
  EXPECT_EQ(ticks, 3u * 118);
  EXPECT_EQ(t.steps(ticks), c.steps());
  EXPECT_EQ(t.ticks(kUnbounded), kUnbounded) << "never is never";
}

TEST(Ticks, AreStepsWhereTheProgramCountsStrips) {
  Shape s = nest_of({3, 1000}, {array(kBase, {8000, 8})});
  Ticks t;
  t.start(s, 64);
  for (const uint64_t n : {uint64_t{0}, uint64_t{17}, kUnbounded}) {
    EXPECT_EQ(t.steps(n), n);
    EXPECT_EQ(t.ticks(n), n);
  }
}

TEST(Ticks, ManyTicksThatMoveByLittleMakeOneStep) {
  Shape s = nest_of({119, 119, 118, 3}, {array(kBase, {80 * 118 * 119, 80 * 118, 80, 8})}, false);
  s.ticked = 2;
  EXPECT_EQ(make_plan(s, machine(64 << 20)).strip, 118u);
  s.stages = 1;
  EXPECT_EQ(make_plan(s, machine(64 << 20)).strip, 1u) << "slices count as the program does";
  s.stages = 0;
  for (int64_t &stride : s.group[0].stride) stride *= 1000;
  EXPECT_EQ(make_plan(s, machine(64 << 20)).strip, 1u);
}

TEST(FoldShortLoops, RowsOfLessThanAPageAreFoldedIntoTheLoopAround) {
  Shape s = nest_of({1000000, 8}, {array(kBase, {64, 8}), array(2 * kBase, {8, 0})});
  EXPECT_EQ(fold_short_loops(s, 1, kPage), 1u);
  EXPECT_EQ(s.ticked, 0u);
  EXPECT_EQ(fold_short_loops(s, 1, kPage), 0u) << "there is no loop around it";
}

TEST(FoldShortLoops, EachIterationIsAStepWhereThereAreNoStrips) {
  Shape s = nest_of({100000, 4, 6, 5}, {array(kBase, {960, 240, 40, 8})}, false);
  s.ticked = 2;
  EXPECT_EQ(fold_short_loops(s, 6, kPage), 24u);
  EXPECT_EQ(s.ticked, 0u);
}

TEST(FoldShortLoops, OthersStay) {
  Shape row = nest_of({1000, 512}, {array(kBase, {4096, 8})});
  EXPECT_EQ(fold_short_loops(row, 1, kPage), 0u);
  EXPECT_EQ(row.ticked, 1u) << "a row is a page";
  Shape column = nest_of({1000, 8}, {array(kBase, {64, 8}), array(2 * kBase, {8, 80000})});
  EXPECT_EQ(fold_short_loops(column, 1, kPage), 0u) << "one group goes down a column";
  Shape empty = nest_of({1000, 0}, {array(kBase, {64, 8})});
  EXPECT_EQ(fold_short_loops(empty, 0, kPage), 0u);
  Shape endless = nest_of({~uint64_t{0} / 4, 8, 8}, {array(kBase, {512, 64, 8})}, false);
  EXPECT_EQ(fold_short_loops(endless, 8, kPage), 8u);
  EXPECT_EQ(endless.ticked, 1u) << "more steps than can be counted";
}

TEST(FoldShortLoops, WhatAStepTouchesIsInItsLeap) {
  int folded_shapes = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Shape given = random_shape(random);
    Shape s = given;
    const uint64_t strip = 1 + random() % 40, folded = fold_short_loops(s, divide_up(given.trips[given.ticked], strip), kPage);
    if (!folded) continue;
    ++folded_shapes;
    const auto steps = touched_by_step(given, strip);
    const uint64_t leap = 1 + random() % 7;
    const auto leaps = touched_by_step(s, leap);
    Ticks t;
    t.start(s.trips[s.ticked] * folded, leap * folded);
    std::vector<std::vector<std::set<uint64_t>>> joined(leaps.size(), std::vector<std::set<uint64_t>>(s.groups));
    for (uint64_t i = 0; i < steps.size(); ++i)
      for (unsigned g = 0; g < s.groups; ++g) joined.at(t.steps(i))[g].insert(steps[i][g].begin(), steps[i][g].end());
    ASSERT_EQ(joined, leaps);
    ASSERT_EQ(t.steps(steps.size()), leaps.size());
  }
  EXPECT_GT(folded_shapes, 100) << "the test has lost its subject";
}

} // namespace
} // namespace pagecast::core::test
