// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/meeting_price.h"

#include <gtest/gtest.h>

namespace pagecast::core {
namespace {

constexpr uint64_t kMs = 1'000'000;

/// A team of eight whose intervals take 10 ms, in virtual time.
struct Team {
  MeetingPrice price{};
  uint64_t now = 0, given_up = 0;

  /// `waiting`: per cent of its members' time.
  void go(unsigned intervals, unsigned waiting) {
    for (unsigned i = 0; i < intervals; ++i) {
      now += 10 * kMs;
      if (price.pays(now)) given_up += price.went(1, 8 * 10 * kMs, 8 * 10 * kMs * waiting / 100, now);
    }
  }
};

TEST(MeetingPrice, WhoWaitsLittleGoesOn) {
  Team t;
  t.go(10000, 40);
  EXPECT_EQ(t.given_up, 0u);
}

TEST(MeetingPrice, WhoWaitsMostlyIsGivenUpAndTriedAgainSeldom) {
  Team t;
  t.go(31, 63);
  EXPECT_TRUE(t.price.pays(t.now));
  t.go(1, 63);
  EXPECT_FALSE(t.price.pays(t.now));
  t.go(199, 63);
  EXPECT_FALSE(t.price.pays(t.now));
  t.go(2, 63);
  EXPECT_TRUE(t.price.pays(t.now)) << "after two seconds";
  t.go(20000, 63);
  EXPECT_LE(t.given_up, 8u) << "in 200 seconds";
}

TEST(MeetingPrice, OneBadPeriodIsForgiven) {
  Team t;
  for (int i = 0; i < 100; ++i) t.go(16, 80), t.go(16, 10);
  EXPECT_EQ(t.given_up, 0u);
}

TEST(MeetingPrice, RestsAreShortAgainAfterATeamThatPaid) {
  Team t;
  t.go(3000, 63);
  const uint64_t before = t.given_up;
  while (!t.price.pays(t.now)) t.go(1, 0);
  t.go(100, 0);
  t.go(48, 63);
  EXPECT_EQ(t.given_up, before + 1);
  t.go(205, 63);
  EXPECT_TRUE(t.price.pays(t.now));
}

} // namespace
} // namespace pagecast::core
