// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice ahead of a program, in steps: each step has pages to be found, of which those that the slice did not run, or
// ran too late, are missed.
#include "core/slices/backoff.h"

#include <functional>
#include <gtest/gtest.h>
#include <set>

namespace pagecast::core::test {
namespace {

constexpr uint64_t kStepWork = 4000, kLead = 40;

struct Found {
  uint64_t absent = 0, untouched = 0;
};

class Slice {
public:
  explicit Slice(std::function<Found(uint64_t)> pages, uint64_t lead = kLead) : pages_(std::move(pages)), lead_(lead) {}

  /// The program does steps up to `end`, and the slice what it wants to do before each of them.
  void run_to(uint64_t end) {
    for (; program_ < end; ++program_) {
      if (at_ < program_) at_ = program_;
      while (at_ < program_ + lead_) run();
      if (done_.count(program_)) continue;
      const uint64_t lost = pages_(program_).absent;
      missed += lost;
      if (lost && tells_) at_ = backoff.missed(program_, at_);
    }
  }
  void restart() {
    program_ = at_ = 0;
    done_.clear();
    backoff.enter();
  }
  void tell_nothing() { tells_ = false; }

  Backoff backoff;
  uint64_t missed = 0, ran = 0, probes_until_full = 0;

private:
  void run() {
    ++ran;
    const Found found = done_.insert(at_).second ? pages_(at_) : Found{};
    const uint64_t next = backoff.ran(at_, kStepWork, found.absent, found.untouched, lead_);
    EXPECT_TRUE(next > at_ || !backoff.sampling()) << "it goes back only to run all";
    EXPECT_LE(next, at_ + Backoff::kMostGap);
    at_ = next < program_ ? program_ : next;
  }

  std::function<Found(uint64_t)> pages_;
  uint64_t lead_, program_ = 0, at_ = 0;
  bool tells_ = true;
  std::set<uint64_t> done_;
};

constexpr uint64_t kJudgedSteps = Backoff::kJudged / kStepWork + 1; // steps until the first judgement

TEST(Backoff, RunsEveryStepWhileItFindsPages) {
  Slice s([](uint64_t) { return Found{1, 0}; });
  s.run_to(10000);
  EXPECT_EQ(s.missed, 0u);
  EXPECT_EQ(s.ran, 10000u + kLead - 1);
  EXPECT_EQ(s.backoff.probes(), 0u);
  EXPECT_EQ(s.backoff.backed_off(), 0u);
}

TEST(Backoff, RunsFewStepsWhereAllIsResident) {
  Slice s([](uint64_t) { return Found{}; });
  s.run_to(100000);
  EXPECT_TRUE(s.backoff.sampling());
  EXPECT_EQ(s.backoff.gap(), kLead / 2);
  EXPECT_LT(s.ran, kJudgedSteps + 100000 / (kLead / 2) + 10);
  EXPECT_EQ(s.backoff.probes() + kJudgedSteps, s.ran);
  EXPECT_GT(s.backoff.backed_off(), 90000u);
}

TEST(Backoff, GapsDouble) {
  Backoff b;
  uint64_t step = 0;
  while (!b.sampling()) step = b.ran(step, kStepWork, 0, 0, 1000);
  EXPECT_EQ(b.gap(), 2u);
  for (const uint64_t gap : {4, 8, 16, 32, 64, 64, 64}) {
    const uint64_t next = b.ran(step, kStepWork, 0, 0, 1000);
    EXPECT_EQ(b.gap(), gap);
    EXPECT_EQ(next, step + gap);
    step = next;
  }
}

TEST(Backoff, AGapIsNotLongerThanHalfTheLead) {
  for (const uint64_t lead : {0, 1, 3, 4, 9, 30, 1000}) {
    Backoff b;
    for (uint64_t step = 0, n = 0; n < 1000; ++n) step = b.ran(step, kStepWork, 0, 0, lead);
    EXPECT_EQ(b.gap(), std::max<uint64_t>(2, std::min(lead / 2, Backoff::kMostGap))) << lead;
  }
}

TEST(Backoff, AfterAChangeNothingIsMissedThatAGapPassedOver) {
  for (uint64_t change = 5000; change < 5200; ++change) {
    Slice s([&](uint64_t step) { return Found{step < change ? 0u : 100u, 0}; });
    s.run_to(10000);
    EXPECT_FALSE(s.backoff.sampling());
    EXPECT_EQ(s.missed, 0u) << "the probe at the end of the gap comes before the program: change at " << change;
  }
}

TEST(Backoff, FewPagesAStepTakeSeveralProbesToConvince) {
  Slice s([](uint64_t step) { return Found{step < 5000 ? 0u : 1u, 0}; });
  s.tell_nothing();
  s.run_to(5000);
  const uint64_t before = s.backoff.probes();
  s.run_to(5000 + 20 * kLead);
  EXPECT_FALSE(s.backoff.sampling());
  EXPECT_LE(s.backoff.probes() - before, 2 * Backoff::kConvincing);
}

TEST(Backoff, OnePageNowAndThenIsNotWorthIt) {
  Slice s([](uint64_t step) { return Found{step % 200 == 7 ? 1u : 0u, 0}; }); // one for 800,000 operations
  s.run_to(100000);
  EXPECT_LT(s.ran, 20000u);
}

TEST(Backoff, UntouchedPagesCountForLess) {
  const auto every = [](uint64_t steps) { return [steps](uint64_t s) { return Found{0, s % steps == 0 ? 1u : 0u}; }; };
  Slice worth(every(Backoff::kWorth / Backoff::kZero / kStepWork / 2)), not_worth(every(Backoff::kWorth / kStepWork));
  worth.run_to(20000);
  not_worth.run_to(20000);
  EXPECT_EQ(worth.backoff.backed_off(), 0u);
  EXPECT_GT(not_worth.backoff.backed_off(), 10000u);
}

TEST(Backoff, WhatIsEvictedUnusedIsWorthNothing) {
  Backoff b;
  uint64_t step = 0;
  for (unsigned n = 0; n < 1000 && !b.sampling(); ++n) {
    b.wasted(100);
    step = b.ran(step, kStepWork, 100, 0, kLead);
  }
  EXPECT_TRUE(b.sampling());
  EXPECT_EQ(step, kJudgedSteps + 1);
}

TEST(Backoff, AFaultBringsTheNextProbeAtOnce) {
  Slice s([](uint64_t step) { return Found{step >= 5000 && step < 5300 ? 100u : 0u, 0}; }, 2); // hardly a lead
  s.run_to(6000);
  EXPECT_LE(s.missed, 400u) << "a few steps of three hundred";
  Backoff b;
  EXPECT_EQ(b.missed(10, 11), 11u) << "nothing is passed over";
  EXPECT_EQ(b.missed(10, 300), 300u) << "it runs all steps: it is that far";
}

TEST(Backoff, ShortExecutionsAddUp) {
  Slice s([](uint64_t) { return Found{}; });
  for (unsigned n = 0; n < 1000; ++n) {
    s.restart();
    s.run_to(50);
  }
  EXPECT_TRUE(s.backoff.sampling());
  EXPECT_LT(s.ran, 10000u) << "of 50,000";
}

} // namespace
} // namespace pagecast::core::test
