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

} // namespace
} // namespace pagecast::core::test
