// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/hint_ring.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace pagecast;

TEST(HintRing, FullRefusesAndOrderIsKept) {
  static HintRing<16> ring;
  ring.start();
  EXPECT_EQ(ring.front(), nullptr);
  for (uint32_t i = 0; i < 16; ++i) EXPECT_TRUE(ring.push({i, 1, Hint::kFetch, 0, 0, 0, 0}));
  EXPECT_FALSE(ring.push({99, 1, Hint::kFetch, 0, 0, 0, 0}));
  EXPECT_EQ(ring.size(), 16u);
  for (uint32_t i = 0; i < 16; ++i) {
    ASSERT_NE(ring.front(), nullptr);
    EXPECT_EQ(ring.front()->address, i);
    ring.pop();
    EXPECT_EQ(ring.size(), 15 - i);
  }
  EXPECT_EQ(ring.front(), nullptr);
}

TEST(HintRing, BeginsAnewAfterUse) {
  static HintRing<16> ring;
  ring.start();
  for (uint32_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(ring.push({i, 1, Hint::kFetch, 0, 0, 0, 0}));
    if (i < 30) ring.pop(); // the rest is still in it
  }
  ring.start();
  EXPECT_EQ(ring.front(), nullptr);
  EXPECT_EQ(ring.size(), 0u);
  for (uint32_t i = 0; i < 16; ++i) EXPECT_TRUE(ring.push({100 + i, 1, Hint::kFetch, 0, 0, 0, 0}));
  ASSERT_NE(ring.front(), nullptr);
  EXPECT_EQ(ring.front()->address, 100u);
}

TEST(HintRing, KeepsToFewCellsWhereFewAreAskedFor) {
  static HintRing<4096> ring;
  ring.start(8);
  for (uint32_t i = 0; i < 100; ++i) {
    for (uint32_t j = 0; j < 8; ++j) ASSERT_TRUE(ring.push({i + j, 1, Hint::kFetch, 0, 0, 0, 0}));
    ASSERT_FALSE(ring.push({99, 1, Hint::kFetch, 0, 0, 0, 0}));
    for (uint32_t j = 0; j < 8; ++j) {
      ASSERT_NE(ring.front(), nullptr);
      ASSERT_EQ(ring.front()->address, i + j);
      ring.pop();
    }
  }
  const auto *bytes = reinterpret_cast<const char *>(&ring);
  for (size_t i = 1024; i < sizeof ring; ++i) ASSERT_EQ(bytes[i], 0) << "at " << i;
}

TEST(HintRing, NothingIsLostBetweenThreads) {
  static HintRing<64> ring;
  ring.start();
  constexpr unsigned kThreads = 4, kEach = 20000;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([t] {
      for (unsigned i = 0; i < kEach;)
        if (ring.push({uint64_t{t} << 32 | i, 1, Hint::kFetch, 0, 0, 0, 0})) ++i;
        else std::this_thread::yield();
    });
  unsigned next[kThreads] = {}, total = 0;
  while (total < kThreads * kEach) {
    const Hint *h = ring.front();
    if (!h) {
      std::this_thread::yield();
      continue;
    }
    const auto t = static_cast<unsigned>(h->address >> 32);
    ASSERT_EQ(static_cast<unsigned>(h->address), next[t]++);
    ring.pop();
    ++total;
  }
  for (auto &t : threads) t.join();
}

TEST(HintRing, TakesNoMemoryBeforeItIsUsed) {
  static HintRing<4096> ring;
  ring.start();
  const auto *bytes = reinterpret_cast<const char *>(&ring);
  for (size_t i = 0; i < sizeof ring; ++i) ASSERT_EQ(bytes[i], 0) << "at " << i;
}
