// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A nest in virtual time: each of its steps takes so long with the slice and so long without, and the slice costs so much.
#include "core/slices/slice_investment.h"

#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

constexpr uint64_t kUs = 1000, kMs = SliceInvestment::kMs;

struct Nest {
  uint64_t with = 20 * kUs, without = 100 * kUs, cost = 10 * kUs; ///< of a step
  uint64_t ahead = 50;                                            ///< steps that the slice has run when it is switched off
  bool may_begin = true;
  uint64_t asks = 8; ///< for pages, a step

  /// Goes on for so many steps, a look at each of them.
  void run(uint64_t steps) {
    for (; steps > 0; --steps) {
      const bool on = investment.runs();
      if (on) {
        investment.spent(cost);
        investment.asked(asks, 0);
        covered = ahead;
        ++steps_with;
      } else if (covered > 0) {
        --covered;
      }
      const uint64_t ns = on || covered > 0 ? with : without;
      now += ns;
      investment.went({1, 10, ns, covered > 0, may_begin}, now);
    }
  }
  void run_for(uint64_t ns) {
    for (const uint64_t end = now + ns; now < end;) run(1);
  }

  SliceInvestment investment = {};
  uint64_t now = 1, covered = 0, steps_with = 0; ///< of the run
};

TEST(SliceInvestment, OneThatPaysGoesOnAndIsTriedSeldom) {
  Nest nest{.without = 200 * kUs};
  nest.run_for(10000 * kMs);
  EXPECT_EQ(nest.investment.switched_off(), 0u);
  EXPECT_GE(nest.investment.trials(), 3u);
  EXPECT_LE(nest.investment.trials(), 5u);
  EXPECT_TRUE(nest.investment.runs());
  EXPECT_EQ(nest.investment.saved(), static_cast<int64_t>(20 * kUs * nest.steps_with)) << "twice as slow without, at least";
}

TEST(SliceInvestment, WhatItSavesIsKnownWhereBothWereMeasuredToTheEnd) {
  Nest nest{.with = 60 * kUs};
  nest.run_for(10000 * kMs);
  EXPECT_EQ(nest.investment.switched_off(), 0u);
  const auto expected = static_cast<double>(40 * kUs * nest.steps_with);
  EXPECT_NEAR(static_cast<double>(nest.investment.saved()), expected, 0.02 * expected);
}

TEST(SliceInvestment, ATrialOfOneThatPaysCostsLittle) {
  Nest nest{.with = 10 * kUs, .without = 1000 * kUs, .cost = 4 * kUs};
  nest.run_for(10000 * kMs);
  EXPECT_EQ(nest.investment.switched_off(), 0u);
  EXPECT_GT(nest.steps_with * nest.with, 9900 * kMs) << "a hundredth of the time went into trials";
}

TEST(SliceInvestment, OneWithoutWhichNothingGoesOnPays) {
  Nest nest{.with = 10 * kUs, .without = 200 * kMs};
  nest.run_for(3000 * kMs);
  EXPECT_EQ(nest.investment.switched_off(), 0u);
  EXPECT_EQ(nest.investment.saved(), static_cast<int64_t>(10 * kUs * nest.steps_with))
      << "at least: by how much was not waited for";
}

TEST(SliceInvestment, AChanceDoesNotDecideForLong) {
  Nest nest{.with = 100 * kUs, .without = 1000 * kUs, .cost = 90 * kUs};
  while (nest.investment.trials() == 0) nest.run(1);
  nest.without = 100 * kUs; // the disk had stood still
  while (!nest.investment.is_off() && nest.now < 10000 * kMs) nest.run(1);
  EXPECT_LT(nest.investment.cost(), 400 * kMs);
}

TEST(SliceInvestment, OneThatCostsMoreIsSwitchedOffWithin300MsOfItsTime) {
  Nest nest{.with = 100 * kUs, .without = 100 * kUs, .cost = 90 * kUs};
  while (!nest.investment.is_off() && nest.now < 10000 * kMs) nest.run(1);
  EXPECT_TRUE(nest.investment.is_off());
  EXPECT_EQ(nest.investment.switched_off(), 1u);
  EXPECT_LT(nest.investment.cost(), 150 * kMs);
  EXPECT_LE(nest.investment.saved(), 0);
}

TEST(SliceInvestment, OneThatIsSlowerSaysHowMuchItHasCost) {
  Nest nest{.with = 200 * kUs, .without = 100 * kUs, .cost = 150 * kUs};
  while (!nest.investment.is_off() && nest.now < 10000 * kMs) nest.run(1);
  EXPECT_NEAR(static_cast<double>(nest.investment.saved()), -100.0 * kUs * static_cast<double>(nest.steps_with),
              2.0 * static_cast<double>(kMs));
}

TEST(SliceInvestment, OneThatAsksForNextToNothingIsSwitchedOffWithoutATrial) {
  Nest nest{.with = 20 * kUs, .without = 200 * kUs, .cost = 18 * kUs, .asks = 0};
  nest.run_for(80 * kMs);
  EXPECT_TRUE(nest.investment.is_off()) << "it cannot be why the nest is faster";
  EXPECT_EQ(nest.investment.trials(), 0u);
  EXPECT_LE(nest.investment.cost(), SliceInvestment::kLook + 18 * kUs);
  Nest seldom{.with = 100 * kUs, .without = 100 * kUs, .cost = 90 * kUs, .asks = 0};
  seldom.run_for(3200 * kMs);
  EXPECT_EQ(seldom.investment.switched_off(), 6u) << "rests of 100, 200, 400, 800, and 1600 ms";
  EXPECT_LE(seldom.investment.cost(), 6 * (SliceInvestment::kLook + 90 * kUs));
}

TEST(SliceInvestment, OneThatAsksForNothingComesBackWhenTheNestBecomesSlow) {
  Nest nest{.with = 20 * kUs, .without = 20 * kUs, .cost = 18 * kUs, .asks = 0};
  nest.run_for(4000 * kMs);
  const uint64_t before = nest.investment.switched_off();
  ASSERT_TRUE(nest.investment.is_off());
  nest.without = 200 * kUs; // it comes to what is not in memory
  nest.asks = 8;
  nest.run_for(300 * kMs);
  EXPECT_TRUE(nest.investment.runs());
  EXPECT_EQ(nest.investment.switched_off(), before);
}

TEST(SliceInvestment, ASmallGainAtAHighCostIsNotWorthIt) {
  Nest small{.with = 90 * kUs, .without = 100 * kUs, .cost = 80 * kUs},
      enough{.with = 70 * kUs, .without = 100 * kUs, .cost = 80 * kUs};
  small.run_for(2000 * kMs);
  enough.run_for(2000 * kMs);
  EXPECT_GE(small.investment.switched_off(), 1u);
  EXPECT_EQ(enough.investment.switched_off(), 0u);
}

TEST(SliceInvestment, PagesThatNothingElseForeseesSpeakForIt) {
  Nest many{.with = 100 * kUs, .without = 100 * kUs, .cost = 30 * kUs},
      slower{.with = 140 * kUs, .without = 100 * kUs, .cost = 30 * kUs};
  for (Nest *nest : {&many, &slower})
    for (unsigned i = 0; i < 10000; ++i) {
      if (nest->investment.runs()) nest->investment.asked(1, 1); // 80 us of waiting
      nest->run(1);
    }
  EXPECT_EQ(many.investment.switched_off(), 0u) << "the windows had few waits in them";
  EXPECT_GE(slower.investment.switched_off(), 1u) << "what it brings pushes out what is in use";
}

TEST(SliceInvestment, PagesThatNothingElseForeseesPutTheFirstTrialOff) {
  Nest streams{.with = 100 * kUs, .without = 100 * kUs, .cost = 30 * kUs}, single = streams;
  for (Nest *nest : {&streams, &single}) {
    while (nest->investment.cost() < 150 * kMs) {
      if (nest->investment.runs()) nest->investment.asked(4, nest == &single ? 4 : 0); // 80 us of waiting each
      nest->run(1);
    }
  }
  EXPECT_GE(streams.investment.trials(), 1u) << "a stream of faults might bring the same";
  EXPECT_EQ(single.investment.trials(), 0u);
}

TEST(SliceInvestment, WhatIsSlowForMsAfterItStoppedDoesNotSpeakForIt) {
  Nest nest{.with = 100 * kUs, .without = 50 * kUs, .cost = 90 * kUs};
  const uint64_t least = 250 * kMs;
  for (uint64_t rested = 0; !nest.investment.is_off() && nest.now < 2000 * kMs;) {
    rested = nest.investment.runs() || nest.covered ? 0 : rested + nest.without;
    nest.without = (rested < 15 * kMs ? 500 : 50) * kUs; // streams of faults are found
    nest.run(1);
  }
  EXPECT_TRUE(nest.investment.is_off());
  EXPECT_LT(nest.investment.cost(), least);
}

TEST(SliceInvestment, APeriodThatIsSlowAfterItStoppedDoesNotSpeakForIt) {
  Nest nest{.with = 40 * kUs, .without = 40 * kUs, .cost = 20 * kUs};
  uint64_t stopped = 0;
  while (nest.investment.switched_off() == 0 && nest.now < 3000 * kMs) {
    stopped = nest.investment.runs() || nest.covered ? nest.now : stopped;
    nest.without = nest.now - stopped < 40 * kMs ? 100 * kUs : 30 * kUs;
    nest.run(1);
  }
  EXPECT_EQ(nest.investment.switched_off(), 1u);
  EXPECT_LT(nest.investment.cost(), 300 * kMs);
}

TEST(SliceInvestment, OneBadTrialIsMadeOnceMore) {
  Nest nest{.with = 60 * kUs, .without = 60 * kUs, .cost = 50 * kUs};
  while (nest.investment.trials() == 0) nest.run(1);
  nest.without = 600 * kUs; // there was nothing to wait for then
  nest.run_for(500 * kMs);
  EXPECT_EQ(nest.investment.switched_off(), 0u);
}

TEST(SliceInvestment, ItIsTriedAgainMoreAndMoreSeldom) {
  Nest nest{.with = 100 * kUs, .without = 100 * kUs, .cost = 90 * kUs};
  nest.run_for(2000 * kMs);
  const uint64_t early = nest.investment.switched_off();
  nest.run_for(38000 * kMs);
  EXPECT_EQ(early, 2u);
  EXPECT_EQ(nest.investment.switched_off(), 6u) << "rests of 1, 2, 4, 8, and 16 s";
  EXPECT_LT(nest.investment.cost(), 500 * kMs);
}

TEST(SliceInvestment, ItComesBackWhenTheNestBecomesSlow) {
  Nest nest{.with = 100 * kUs, .without = 100 * kUs, .cost = 90 * kUs};
  nest.run_for(5000 * kMs);
  ASSERT_TRUE(nest.investment.is_off());
  nest.without = 1000 * kUs;
  nest.run_for(200 * kMs);
  EXPECT_TRUE(nest.investment.runs()) << "long before its rest is over";
  nest.run_for(1000 * kMs);
  EXPECT_TRUE(nest.investment.runs());
}

TEST(SliceInvestment, WhatHasBeenAskedForIsNoMeasureOfTheNestWithout) {
  Nest nest{.ahead = 2000}; // 40 ms of steps
  nest.run_for(3000 * kMs);
  EXPECT_EQ(nest.investment.switched_off(), 0u);
}

TEST(SliceInvestment, LongStepsAreCountedLonger) {
  Nest nest{.with = 5 * kMs, .without = 6 * kMs, .cost = 1 * kMs, .asks = 100};
  nest.run_for(20000 * kMs);
  EXPECT_EQ(nest.investment.switched_off(), 0u) << "16 steps, not 16 ms";
}

TEST(SliceInvestment, OneThatMustBeginWithItsNestWaitsForThat) {
  Nest nest{.with = 100 * kUs, .without = 100 * kUs, .cost = 90 * kUs};
  nest.may_begin = false;
  nest.run_for(5000 * kMs);
  EXPECT_EQ(nest.investment.switched_off(), 1u);
  nest.may_begin = true;
  nest.run_for(200 * kMs);
  EXPECT_EQ(nest.investment.switched_off(), 2u);
}

} // namespace
} // namespace pagecast::core::test
