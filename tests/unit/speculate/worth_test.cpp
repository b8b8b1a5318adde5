// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/watch/worth.h"

#include <gtest/gtest.h>

namespace pagecast::speculate::test {
namespace {

constexpr uint64_t kMegabyte = 1 << 20, kMillisecond = 1000000, kSecond = 1000 * kMillisecond;

TEST(Worth, TheFirstCopyComesWhenWaitsHaveCostTwiceItsPrice) {
  Worth worth;
  const uint64_t price = Worth::price(10 * kMegabyte);
  EXPECT_EQ(price, 1400000u);
  worth.waited(2 * price - 1);
  EXPECT_FALSE(worth.pays(0, price));
  worth.waited(1);
  EXPECT_TRUE(worth.pays(0, price));
}

TEST(Worth, LargeProgramsMustWaitForLong) {
  Worth worth;
  worth.waited(100 * kMillisecond);
  EXPECT_FALSE(worth.pays(0, Worth::price(1024 * kMegabyte)));
  worth.waited(150 * kMillisecond);
  EXPECT_TRUE(worth.pays(0, Worth::price(1024 * kMegabyte)));
}

TEST(Worth, ShortWaitsMustCostFiftyTimesThePrice) {
  Worth worth;
  const uint64_t price = Worth::price(10 * kMegabyte);
  worth.waited_briefly(50 * price - 1);
  EXPECT_FALSE(worth.pays_briefly(0, price));
  worth.waited_briefly(1);
  EXPECT_TRUE(worth.pays_briefly(0, price));
  EXPECT_FALSE(worth.pays(0, price)) << "they are not long ones";
  worth.made();
  EXPECT_EQ(worth.briefly(), 0u);
  worth.ended(0, 0, 1);
  worth.ended(0, 0, 1);
  worth.waited_briefly(50 * price);
  EXPECT_FALSE(worth.pays_briefly(kSecond, price));
  worth.waited_briefly(50 * price);
  EXPECT_TRUE(worth.pays_briefly(kSecond, price));
}

TEST(Worth, AProgramThatHardlyWaitsIsNotCopied) {
  Worth worth;
  const uint64_t price = Worth::price(0);
  worth.waited(100 * price);
  worth.waited_briefly(100 * price);
  worth.passed(90 * kMillisecond, false);
  worth.passed(12 * kMillisecond, true);
  EXPECT_FALSE(worth.pays(kSecond, price)) << "less than an eighth";
  worth.passed(2 * kMillisecond, true);
  EXPECT_TRUE(worth.pays(kSecond, price));
  EXPECT_FALSE(worth.pays_briefly(kSecond, price)) << "less than a quarter";
  worth.passed(20 * kMillisecond, true);
  EXPECT_TRUE(worth.pays_briefly(kSecond, price));
}

TEST(Worth, AFewLongWaitsAmongShortOnesCountAsShort) {
  Worth worth;
  const uint64_t price = Worth::price(0);
  worth.waited_briefly(11 * price);
  worth.waited(10 * price);
  EXPECT_FALSE(worth.pays(0, price));
  worth.waited_briefly(29 * price - 1);
  EXPECT_FALSE(worth.pays_briefly(0, price));
  worth.waited_briefly(1);
  EXPECT_TRUE(worth.pays_briefly(0, price));
  worth.waited(30 * price);
  EXPECT_TRUE(worth.pays(0, price)) << "now most of it was in long ones";
}

TEST(Worth, HowItOnceWaitedIsForgotten) {
  Worth worth;
  worth.waited(kSecond);
  for (int i = 0; i < 10000; i++) worth.passed(kMillisecond, false);
  EXPECT_FALSE(worth.pays(kSecond, kMillisecond));
  for (int i = 0; i < 100; i++) worth.passed(kMillisecond, true);
  EXPECT_TRUE(worth.pays(kSecond, kMillisecond)) << "a tenth of a second, after ten without a wait";
}

/// A program that only waits, and copies that are of no use: what they cost.
TEST(Worth, UselessCopiesCostLessThanTwoPercent) {
  Worth worth;
  const uint64_t price = Worth::price(50 * kMegabyte), hour = 3600 * kSecond;
  uint64_t now = 0, spent = 0, copies = 0;
  for (; now < hour; now += kMillisecond) {
    worth.waited(kMillisecond);
    if (!worth.pays(now, price)) continue;
    worth.made();
    spent += price;
    copies++;
    worth.ended(now, 1, 2);
  }
  EXPECT_GT(copies, 3u) << "it looks again, seldom";
  EXPECT_LT(copies, 40u);
  EXPECT_LT(static_cast<double>(spent), 0.02 * static_cast<double>(now));
}

/// Who is far from a copy need not be looked at closely.
TEST(Worth, WhatIsLackingToACopy) {
  Worth worth;
  const uint64_t price = Worth::price(0);
  EXPECT_EQ(worth.lacks(0), 2 * price);
  worth.waited(price);
  worth.waited_briefly(price / 2);
  EXPECT_EQ(worth.lacks(0), price / 2);
  worth.waited(price);
  EXPECT_EQ(worth.lacks(0), 0u);
  worth.made();
  worth.ended(0, 0, 1);
  EXPECT_GT(worth.lacks(Worth::kPause - 1), 1000 * kSecond) << "none is made";
  EXPECT_EQ(worth.lacks(Worth::kPause), 50 * price);
  worth.ended(0, 0, 1);
  worth.waited(price);
  EXPECT_EQ(worth.lacks(kSecond), 99 * price);
}

TEST(Worth, AUsefulCopyMakesTheNextCheap) {
  Worth worth;
  const uint64_t price = Worth::price(0);
  for (int i = 0; i < 3; i++) worth.ended(0, 0, 0);
  EXPECT_EQ(worth.useless(), 3u);
  worth.waited(10 * price);
  EXPECT_FALSE(worth.pays(kSecond, price));
  worth.ended(kSecond, 1000, 3);
  EXPECT_TRUE(worth.pays(kSecond, price));
}

TEST(Worth, MissesMakeManyHintsUseless) {
  Worth worth;
  worth.ended(0, 30, 2);
  EXPECT_EQ(worth.useless(), 1u);
  worth.ended(0, 36, 2);
  EXPECT_EQ(worth.useless(), 0u);
}

} // namespace
} // namespace pagecast::speculate::test
