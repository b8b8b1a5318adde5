// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Depth against devices of some parts, each of which answers one request at a time.
#include "speculate/tip/depth.h"

#include <gtest/gtest.h>
#include <queue>
#include <random>
#include <vector>

namespace pagecast::speculate::test {
namespace {

constexpr uint64_t kMillisecond = 1000000;

/// Asks a device as the prefetcher does. Returns how much of it was busy.
double busy_share(Depth &depth, unsigned parts, uint64_t latency, unsigned requests) {
  std::mt19937 random(1);
  std::vector<uint64_t> free_at(parts, 0);
  std::priority_queue<std::pair<uint64_t, uint64_t>, std::vector<std::pair<uint64_t, uint64_t>>, std::greater<>> running;
  uint64_t now = 0;
  for (unsigned asked = 0; asked < requests || !running.empty();) {
    if (asked < requests && running.size() < depth.depth()) {
      uint64_t &free = free_at[random() % parts];
      free = std::max(free, now) + latency;
      running.emplace(free, now);
      asked++;
      continue;
    }
    const auto [end, begin] = running.top();
    running.pop();
    now = end;
    depth.answered(end - begin);
  }
  return static_cast<double>(requests) * static_cast<double>(latency) / static_cast<double>(now * parts);
}

TEST(Depth, KeepsFourSlowDisksBusyWithoutAllItMayHave) {
  Depth depth;
  EXPECT_GT(busy_share(depth, 4, 15 * kMillisecond, 2000), 0.75);
  EXPECT_LT(depth.depth(), Depth::kMost);
  EXPECT_GE(depth.quickest(), 15 * kMillisecond);
}

TEST(Depth, OneDiskGetsAShortQueue) {
  Depth depth;
  EXPECT_GT(busy_share(depth, 1, 15 * kMillisecond, 1000), 0.95);
  EXPECT_LE(depth.depth(), 2 * Depth::kSlow + 1);
}

TEST(Depth, ManyPartsGetAll) {
  Depth depth;
  busy_share(depth, 64, 2 * kMillisecond, 4000);
  EXPECT_EQ(depth.depth(), Depth::kMost);
}

TEST(Depth, AFewThatFellTogetherWithOthersDoNotMislead) {
  Depth depth;
  for (int i = 0; i < 400; i++) depth.answered(i % 20 == 7 ? 100000 : 15 * kMillisecond);
  EXPECT_GT(depth.quickest(), 10 * kMillisecond);
  EXPECT_EQ(depth.depth(), Depth::kMost);
}

TEST(Depth, WhatWasInACacheSaysNothing) {
  Depth depth;
  for (int i = 0; i < 1000; i++) depth.answered(Depth::kShortest - 1);
  EXPECT_EQ(depth.quickest(), 0u);
  EXPECT_EQ(depth.depth(), Depth::kFirst);
}

TEST(Depth, DoubtfulHintsGetLittle) {
  Depth depth;
  depth.limit(2);
  busy_share(depth, 16, kMillisecond, 500);
  EXPECT_EQ(depth.depth(), 2u);
  depth.limit(1000);
  EXPECT_LE(depth.depth(), Depth::kMost);
}

} // namespace
} // namespace pagecast::speculate::test
