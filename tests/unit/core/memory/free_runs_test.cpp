// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/free_runs.h"
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace pagecast::core::test {
namespace {

struct Table {
  explicit Table(uint32_t granules) : words(FreeRuns::bytes(granules) / 4 + 1) { runs.start(words.data(), granules); }
  std::vector<uint32_t> words;
  FreeRuns runs;
};

TEST(FreeRuns, WhatIsTakenInTurnLiesInTurn) {
  Table t(1000);
  ASSERT_TRUE(t.runs.add(100));
  EXPECT_EQ(t.runs.take(10), 0u);
  EXPECT_EQ(t.runs.take(20), 10u);
  EXPECT_EQ(t.runs.take(71), FreeRuns::kNone);
  ASSERT_TRUE(t.runs.add(50));
  EXPECT_EQ(t.runs.take(71), 30u) << "what is added joins what was free before it";
  EXPECT_EQ(t.runs.length(10), 20u);
  EXPECT_EQ(t.runs.untouched(), 101u);
}

TEST(FreeRuns, TheShortestThatSufficesIsTaken) {
  Table t(1000);
  t.runs.add(1000);
  const uint32_t a = t.runs.take(8), b = t.runs.take(1), c = t.runs.take(5), d = t.runs.take(1);
  t.runs.give(a);
  t.runs.give(c);
  EXPECT_EQ(t.runs.take(4), c);
  EXPECT_EQ(t.runs.take(7), a);
  EXPECT_TRUE(t.runs.is_valid());
  t.runs.give(b);
  t.runs.give(d);
  EXPECT_TRUE(t.runs.is_valid());
}

TEST(FreeRuns, NeighboursThatAreFreeBecomeOne) {
  Table t(30);
  t.runs.add(30);
  const uint32_t a = t.runs.take(10), b = t.runs.take(10), c = t.runs.take(10);
  t.runs.give(a);
  t.runs.give(c);
  EXPECT_EQ(t.runs.take(11), FreeRuns::kNone);
  t.runs.give(b);
  EXPECT_EQ(t.runs.take(30), 0u);
}

TEST(FreeRuns, LongOnesAreTakenWholeUnlessUntouched) {
  Table t(10000);
  t.runs.add(10000);
  uint32_t first[5], n = 0;
  for (uint32_t &f : first) f = t.runs.take(1000);
  EXPECT_EQ(t.runs.take_long(&n), FreeRuns::kNone) << "the rest was never used";
  t.runs.give(first[1]);
  EXPECT_EQ(t.runs.take_long(&n), FreeRuns::kNone) << "not longer than a request";
  t.runs.give(first[2]);
  EXPECT_EQ(t.runs.take_long(&n), first[1]);
  EXPECT_EQ(n, 2000u);
  EXPECT_EQ(t.runs.take_long(&n), FreeRuns::kNone) << "taken";
  EXPECT_EQ(t.runs.untouched(), 5000u);
  t.runs.give(first[1]);
  EXPECT_TRUE(t.runs.is_valid());
  t.runs.give(first[4]);
  EXPECT_EQ(t.runs.take_long(&n), first[4]);
  EXPECT_EQ(n, 6000u) << "and what follows";
}

TEST(FreeRuns, NothingBeyondTheTables) {
  Table t(10);
  EXPECT_FALSE(t.runs.add(11));
  EXPECT_TRUE(t.runs.add(10));
  EXPECT_FALSE(t.runs.add(1));
  EXPECT_EQ(t.runs.take(0), FreeRuns::kNone);
  EXPECT_EQ(t.runs.take(FreeRuns::kLongest + 1), FreeRuns::kNone);
}

/// Against a map of what is taken: no two runs overlap, contents of lengths are right, and in the end all is one again.
TEST(FreeRuns, AgreesWithAMap) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    constexpr uint32_t kMost = 20000;
    Table t(kMost);
    std::map<uint32_t, uint32_t> taken;
    const auto free_for = [&](uint32_t first, uint32_t n, uint32_t but) {
      const auto next = taken.lower_bound(first);
      if (next != taken.end() && next->first != but && next->first < first + n) return false;
      if (next == taken.begin()) return true;
      const auto before = std::prev(next);
      return before->first == but || before->first + before->second <= first;
    };
    for (int i = 0; i < 5000; ++i) {
      const uint32_t n = 1 + static_cast<uint32_t>(random() % (random() % 4 ? 20 : FreeRuns::kLongest));
      const auto some = taken.empty() ? taken.end() : std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      switch (random() % 8) {
      case 0: t.runs.add(n); break;
      case 1:
      case 2:
      case 3:
        if (const uint32_t at = t.runs.take(n); at != FreeRuns::kNone) {
          ASSERT_LE(at + n, t.runs.end());
          ASSERT_TRUE(free_for(at, n, FreeRuns::kNone));
          taken[at] = n;
        }
        break;
      case 4:
        if (some == taken.end()) break;
        if (t.runs.resize(some->first, n)) {
          ASSERT_LE(some->first + n, t.runs.end());
          const auto next = std::next(some);
          ASSERT_TRUE(next == taken.end() || some->first + n <= next->first);
          some->second = n;
        }
        ASSERT_EQ(t.runs.length(some->first), some->second);
        break;
      default:
        if (some == taken.end()) break;
        ASSERT_EQ(t.runs.length(some->first), some->second);
        t.runs.give(some->first);
        taken.erase(some);
      }
      if (i % 50 == 0) { ASSERT_TRUE(t.runs.is_valid()) << "seed " << seed << ", operation " << i; }
    }
    for (const auto &[first, n] : taken) t.runs.give(first);
    ASSERT_TRUE(t.runs.is_valid());
    for (uint32_t left = t.runs.end(); left;) {
      const uint32_t n = left < FreeRuns::kLongest ? left : FreeRuns::kLongest;
      ASSERT_NE(t.runs.take(n), FreeRuns::kNone) << "all that is free is one run";
      left -= n;
    }
  }
}

} // namespace
} // namespace pagecast::core::test
