// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/far_investment.h"

#include <gtest/gtest.h>

namespace pagecast::core {
namespace {

constexpr uint64_t kMs = 1'000'000;

/// A nest whose intervals take so long with hints and without, in virtual time.
struct Nest {
  uint64_t with_ns, without_ns;
  FarInvestment investment{};
  uint64_t asked = 0, ns = 0;

  void go(unsigned intervals) {
    for (unsigned i = 0; i < intervals; ++i) {
      const uint64_t took = investment.asks() ? with_ns : without_ns;
      asked += investment.asks();
      ns += took;
      investment.went(1, took);
    }
  }
};

TEST(FarInvestment, HintsThatPayGoOnAndTrialsBecomeRare) {
  Nest n{8 * kMs, 10 * kMs};
  n.go(10000);
  EXPECT_EQ(n.investment.stops(), 0u);
  EXPECT_LE(n.investment.trials(), 5u);
  EXPECT_GE(n.asked, 9900u);
}

TEST(FarInvestment, HintsThatDoHarmStopAndAreTriedAgainSeldom) {
  Nest n{20 * kMs, 10 * kMs};
  n.go(300);
  EXPECT_EQ(n.investment.stops(), 1u) << "after the second trial";
  EXPECT_FALSE(n.investment.asks());
  n.go(20000);
  EXPECT_LE(n.asked, 500u);
  EXPECT_LE(n.ns, 20300 * 10 * kMs * 103 / 100) << "never worse than without by more than a few per cent";
}

TEST(FarInvestment, HintsThatGainNothingStop) {
  Nest n{10 * kMs, 10 * kMs};
  n.go(5000);
  EXPECT_GE(n.investment.stops(), 1u);
  EXPECT_LE(n.asked, 1000u);
}

TEST(FarInvestment, OneBadPeriodStopsNothing) {
  Nest n{20 * kMs, 10 * kMs};
  while (!n.investment.trials()) n.go(1);
  n.with_ns = 5 * kMs;
  n.go(1000);
  EXPECT_EQ(n.investment.stops(), 0u);
}

TEST(FarInvestment, HintsThatPayLaterComeBack) {
  Nest n{20 * kMs, 10 * kMs};
  n.go(400);
  ASSERT_FALSE(n.investment.asks());
  n.with_ns = 5 * kMs;
  n.go(600);
  EXPECT_TRUE(n.investment.asks());
  const uint64_t before = n.asked;
  n.go(1000);
  EXPECT_GE(n.asked - before, 900u);
}

TEST(FarInvestment, PeriodsAreOfSomeLength) {
  Nest n{kMs / 100, kMs / 200};
  n.go(1000);
  EXPECT_EQ(n.investment.trials(), 0u) << "ten milliseconds, all together";
}

} // namespace
} // namespace pagecast::core
