// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/distance.h"
#include "tests/unit/core/shapes.h"
#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

struct Pace {
  explicit Pace(Conditions c) : conditions(c) {
    plan.step_bytes = 64 << 10;
    plan.batch_steps = 1;
    distance.start(plan, conditions, 0);
  }
  void steps(uint64_t n, uint64_t each_ns, uint64_t lates_per_step = 0) {
    for (uint64_t i = 0; i < n; ++i) {
      for (uint64_t l = 0; l < lates_per_step; ++l) distance.late();
      distance.observe(++step, now += each_ns);
    }
  }
  Plan plan;
  Conditions conditions;
  Distance distance;
  uint64_t step = 0, now = 0;
};

Conditions with(uint64_t latency_ns, uint64_t queue_bytes) {
  Conditions c = machine(uint64_t{1} << 30);
  c.latency_ns = latency_ns;
  c.queue_bytes = queue_bytes;
  return c;
}

TEST(Distance, HidesTheLatency) {
  Pace r(with(1000000, 0));
  r.steps(20, 30000);
  EXPECT_EQ(r.distance.steps(), 34u) << "1 ms over 30 us";
}

TEST(Distance, StaysAShareOfABudgetThatMoves) {
  Pace r(with(100000000, 0));
  r.steps(20, 10000);
  const uint64_t before = r.distance.steps();
  r.distance.budget(uint64_t{16} << 20);
  EXPECT_LE((r.distance.steps() + r.distance.batch()) * r.plan.step_bytes, uint64_t{4} << 20);
  EXPECT_LT(r.distance.steps(), before);
  r.distance.budget(uint64_t{1} << 30);
  EXPECT_EQ(r.distance.steps(), before);
}

TEST(Distance, KeepsTheQueueBusyBeforeAnythingIsMeasured) {
  Pace r(with(0, 1 << 20));
  EXPECT_EQ(r.distance.steps(), 16u);
}

TEST(Distance, LatencyUnderLoadDoesNotRaiseItForEver) {
  Pace r(with(100000, 1 << 20));
  for (int i = 0; i < 100; ++i) {
    r.steps(10, 10000);
    r.distance.measured(r.distance.steps() * 10000 + 100000); // the queue that we build is what we measure
  }
  EXPECT_LE(r.distance.steps(), 64u);
}

TEST(Distance, LatesDoubleIt) {
  Pace r(with(100000, 0));
  r.steps(10, 10000);
  const uint64_t before = r.distance.steps();
  r.steps(before + 10, 10000, 1);
  EXPECT_GE(r.distance.steps(), 2 * before);
}

TEST(Distance, DoublingsThatDoNotHelpAreTakenBack) {
  Pace r(with(0, 1 << 20));
  r.steps(20, 10000);
  r.steps(5000, 10000, 1); // bandwidth-bound: late whatever we do
  EXPECT_EQ(r.distance.steps(), 16u);
}

TEST(Distance, NeverMoreThanAQuarterOfTheBudget) {
  Conditions c = with(1000000000, 0);
  c.budget = 16 << 20;
  Pace r(c);
  r.steps(100, 1000, 3);
  EXPECT_LE((r.distance.steps() + r.distance.batch()) * r.plan.step_bytes, c.budget / 4);
  EXPECT_GE(r.distance.steps(), 1u);
}

TEST(Distance, UnusedPagesLowerIt) {
  Pace r(with(1000000, 0));
  r.steps(200, 10000);
  const uint64_t before = r.distance.steps();
  r.distance.unused(before * 16);
  r.steps(before + 1, 10000);
  EXPECT_EQ(r.distance.steps(), before / 2);
}

TEST(Distance, AQuietTimeTakesDoublingsBack) {
  Pace r(with(100000, 0));
  r.steps(10, 10000);
  const uint64_t before = r.distance.steps();
  r.steps(before + 10, 10000, 1);
  ASSERT_GE(r.distance.steps(), 2 * before);
  r.steps(5000, 10000);
  EXPECT_EQ(r.distance.steps(), before);
}

TEST(Distance, NoGrowthAtTheExpenseOfPagesThatNobodyReleased) {
  Pace r(with(100000, 0));
  r.steps(10, 10000);
  const uint64_t before = r.distance.steps();
  for (int i = 0; i < 50; ++i) {
    r.distance.crowded(1000);
    r.steps(10, 10000, 1);
  }
  EXPECT_LE(r.distance.steps(), before);
  EXPECT_GE(r.distance.steps(), before / 4);
}

TEST(Distance, OneSlowAnswerIsNotTheLatency) {
  Pace r(with(100000, 0));
  r.steps(20, 10000);
  const uint64_t before = r.distance.steps();
  r.distance.measured(6000000);
  r.steps(1, 10000);
  EXPECT_LE(r.distance.steps(), 2 * before);
}

TEST(Distance, FixedIsFixed) {
  Conditions c = with(1000000, 1 << 20);
  c.fixed_distance = 7;
  Pace r(c);
  r.steps(100, 1000, 2);
  EXPECT_EQ(r.distance.steps(), 7u);
}

TEST(Distance, AClockThatStandsStillOrRunsBack) {
  Pace r(with(1000000, 0));
  r.distance.observe(5, 0);
  r.distance.observe(3, 100);
  r.distance.observe(~uint64_t{0}, 1);
  EXPECT_GE(r.distance.steps(), 1u);
}

} // namespace
} // namespace pagecast::core::test
