// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/waits.h"

#include <gtest/gtest.h>
#include <vector>

using namespace pagecast;

TEST(WaitingFaults, ThoseThatAreServedGoAndTheOthersKeepTheirOrder) {
  static WaitingFaults waiting;
  for (uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(waiting.add(i << 12, i % 2, 3));
  EXPECT_FALSE(waiting.retry([](uint64_t, bool, uint8_t) { return false; }));
  EXPECT_TRUE(waiting.retry([](uint64_t, bool write, uint8_t) { return write; }));
  EXPECT_EQ(waiting.count(), 3u);
  std::vector<uint64_t> left;
  waiting.retry([&](uint64_t address, bool write, uint8_t owner) {
    EXPECT_FALSE(write);
    EXPECT_EQ(owner, 3);
    left.push_back(address >> 12);
    return true;
  });
  EXPECT_EQ(left, (std::vector<uint64_t>{0, 2, 4}));
  EXPECT_EQ(waiting.count(), 0u);
}

TEST(WaitingFaults, WhatFindsNoPlaceIsSaid) {
  static WaitingFaults waiting;
  unsigned n = 0;
  while (waiting.add(n, false, 0) && n < 100000) ++n;
  EXPECT_EQ(waiting.count(), n);
  EXPECT_LT(n, 100000u);
}

TEST(Stalls, AreSummedByKindOverThePagesThatHaveCome) {
  static Stalls stalls;
  StallTimes times;
  stalls.begin(10, StallKind::kNotPrefetched, 100);
  stalls.begin(11, StallKind::kLate, 150);
  stalls.begin(11, StallKind::kLate, 160);
  stalls.begin(14, StallKind::kRoom, 170);
  stalls.end(11, 3, 200, times);
  EXPECT_EQ(times[StallKind::kLate], 50u + 40u);
  stalls.end(11, 3, 300, times);
  EXPECT_EQ(times.sum(), 90u);
  stalls.end(0, 100, 200, times);
  EXPECT_EQ(times[StallKind::kNotPrefetched], 100u);
  EXPECT_EQ(times[StallKind::kRoom], 30u);
  EXPECT_FALSE(stalls.any());
}

TEST(Stalls, WhoFoundNoRoomWaitsForAReadOnceThereIsSome) {
  static Stalls stalls;
  StallTimes times;
  stalls.begin(5, StallKind::kRoom, 100);
  stalls.begin(6, StallKind::kRoom, 100);
  stalls.turn_into(5, StallKind::kNotPrefetched, 130, times);
  EXPECT_EQ(stalls.kind_of(5, StallKind::kLate), StallKind::kNotPrefetched);
  EXPECT_EQ(stalls.kind_of(7, StallKind::kLate), StallKind::kLate);
  stalls.end(5, 2, 150, times);
  EXPECT_EQ(times[StallKind::kRoom], 30u + 50u);
  EXPECT_EQ(times[StallKind::kNotPrefetched], 20u);
  EXPECT_EQ(times.sum(), 100u);
}

TEST(Stalls, ThatGoOnAreCountedSoFar) {
  static Stalls stalls;
  StallTimes times;
  stalls.begin(5, StallKind::kRoom, 100);
  stalls.count(150, times);
  EXPECT_EQ(times[StallKind::kRoom], 50u);
  stalls.begin(6, StallKind::kLate, 170);
  stalls.count(160, times); // its turn began before that
  EXPECT_EQ(times.sum(), 60u);
  stalls.end(5, 2, 200, times);
  EXPECT_EQ(times[StallKind::kRoom], 100u);
  EXPECT_EQ(times[StallKind::kLate], 30u);
}
