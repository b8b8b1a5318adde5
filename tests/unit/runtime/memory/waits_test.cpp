// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/waits.h"

#include <gtest/gtest.h>
#include <vector>

using namespace pagecast;

TEST(WaitingFaults, ThoseThatAreServedGoAndTheOthersKeepTheirOrder) {
  static WaitingFaults waiting;
  for (uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(waiting.add(i << 12, i % 2));
  EXPECT_FALSE(waiting.retry([](uint64_t, bool) { return false; }));
  EXPECT_TRUE(waiting.retry([](uint64_t, bool write) { return write; }));
  EXPECT_EQ(waiting.count(), 3u);
  std::vector<uint64_t> left;
  waiting.retry([&](uint64_t address, bool write) {
    EXPECT_FALSE(write);
    left.push_back(address >> 12);
    return true;
  });
  EXPECT_EQ(left, (std::vector<uint64_t>{0, 2, 4}));
  EXPECT_EQ(waiting.count(), 0u);
}

TEST(WaitingFaults, WhatFindsNoPlaceIsSaid) {
  static WaitingFaults waiting;
  unsigned n = 0;
  while (waiting.add(n, false) && n < 100000) ++n;
  EXPECT_EQ(waiting.count(), n);
  EXPECT_LT(n, 100000u);
}

TEST(Stalls, AreSummedOverThePagesThatHaveCome) {
  static Stalls stalls;
  stalls.begin(10, 100);
  stalls.begin(11, 150);
  stalls.begin(11, 160);
  stalls.begin(14, 170);
  EXPECT_EQ(stalls.end(11, 3, 200), 50u + 40u);
  EXPECT_EQ(stalls.end(11, 3, 300), 0u);
  EXPECT_EQ(stalls.end(0, 100, 200), 100u + 30u);
  EXPECT_FALSE(stalls.any());
}
