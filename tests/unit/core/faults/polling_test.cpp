// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/faults/polling.h"

#include <gtest/gtest.h>

using pagecast::core::Polling;

namespace {

constexpr uint64_t kUs = 1000, kMs = 1000 * kUs;

/// A thread that waits for one thing after the other, under virtual time.
struct Waiter {
  Polling polling;
  uint64_t now = kMs;
  unsigned running = 1, processors = 2;
  uint64_t looked = 0, in_vain = 0, slept = 0; ///< ns; ns; times

  /// What comes in so long. `lost`: of a look, the time in which others have the processor.
  void wait(Polling::What what, uint64_t comes, uint64_t lost = 0) {
    if (polling.wants_sample(now)) polling.sample(running, processors, now);
    const uint64_t patience = polling.patience(what, now);
    const bool found = patience && comes < patience;
    if (patience) {
      const uint64_t ns = found ? comes : patience;
      looked += ns;
      in_vain += found ? 0 : ns;
      polling.looked(ns, found, lost, now + ns);
    }
    slept += !found;
    polling.waited(what, comes);
    now += comes;
  }
  void wait_often(unsigned times, uint64_t comes) {
    for (unsigned i = 0; i < times; ++i) wait(Polling::kRead, comes);
  }
};

TEST(Polling, LooksForWhatComesSoon) {
  Waiter w;
  w.wait_often(1000, 50 * kUs);
  EXPECT_LE(w.slept, 1u); // nothing is known of the first one
  EXPECT_EQ(w.in_vain, 0u);
}

TEST(Polling, SleepsWhereWaitsAreLong) {
  Waiter w;
  w.wait_often(1000, 5 * kMs);
  EXPECT_EQ(w.slept, 1000u);
  EXPECT_LE(w.looked, Polling::kMost);
}

TEST(Polling, WaitsForReadsAndFaultsAreLearntApart) {
  Waiter w;
  for (unsigned i = 0; i < 1000; ++i) {
    w.wait(Polling::kRead, 50 * kUs);
    w.wait(Polling::kFault, 3 * kMs);
  }
  EXPECT_GE(w.slept, 999u);
  EXPECT_LE(w.slept, 1010u); // each fault, and next to no read
}

TEST(Polling, NeverLooksWithOneProcessor) {
  Waiter w;
  w.processors = 1;
  w.wait_often(1000, 50 * kUs);
  EXPECT_EQ(w.looked, 0u);
}

TEST(Polling, NeverLooksWhereNothingIsKnown) {
  Waiter w;
  w.running = 0;
  w.wait_often(1000, 50 * kUs);
  EXPECT_EQ(w.looked, 0u);
}

TEST(Polling, StopsWhenOthersWantTheProcessors) {
  Waiter w;
  w.wait_often(1000, 50 * kUs);
  w.running = 3; // two threads compute
  w.wait_often(1000, 50 * kUs);
  const uint64_t before = w.looked;
  w.wait_often(1000, 50 * kUs);
  EXPECT_EQ(w.looked, before);
  w.running = 1; // and end
  w.wait_often(2000, 50 * kUs);
  EXPECT_GT(w.looked, before + 1000 * 50 * kUs);
}

TEST(Polling, AThreadForAMomentDoesNotStopIt) {
  Waiter w;
  for (unsigned i = 0; i < 5000; ++i) {
    w.running = i / 40 % 8 == 7 ? 3 : 1; // in one sample of eight
    w.wait(Polling::kRead, 50 * kUs);
  }
  EXPECT_LE(w.slept, 1u);
}

TEST(Polling, LooksInVainCostLittle) {
  Waiter w; // nearly all waits are short, and the looks for the others end in vain
  unsigned i = 0;
  for (; w.now < 10'000 * kMs; ++i) w.wait(Polling::kRead, i % 3 ? 30 * kUs : 1000 * kUs);
  EXPECT_LE(w.in_vain, w.now / 20);
  EXPECT_GE(w.slept, i / 3);
}

TEST(Polling, GoesOnWhereMostPays) {
  Waiter w; // one in ten does not come in time
  for (unsigned i = 0; i < 10'000; ++i) w.wait(Polling::kRead, i % 10 ? 50 * kUs : 400 * kUs);
  EXPECT_LE(w.slept, 1'100u);
}

TEST(Polling, WhoLosesTheProcessorWhileLookingStops) {
  Waiter w;
  for (unsigned i = 0; i < 1000; ++i) w.wait(Polling::kRead, 50 * kUs, 30 * kUs);
  EXPECT_GE(w.slept, 900u);
}

} // namespace
