// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/files/hint_log.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace pagecast::core;

namespace {

constexpr uint64_t kPage = 4096, kPages = 1 << 16;

struct Log {
  explicit Log(uint64_t kept, uint64_t most_kept, uint64_t capacity = 4096)
      : bits(ResidencyMap::bytes(kPages)), entries(capacity) {
    map.attach(bits.data(), 12, 0, kPages);
    log.attach(entries.data(), capacity, 12, kept, most_kept);
  }
  void hint(uint64_t page, uint32_t pages = 1, bool bounded = false) { log.add({page * kPage, pages, 0, 0, 0, bounded}, map); }
  bool marked(uint64_t page) const { return map.test(page * kPage); }

  alignas(8) std::vector<uint8_t> bits;
  std::vector<Hinted> entries;
  ResidencyMap map;
  HintLog log;
};

TEST(HintLog, MarksWhatItNotesAndForgetsTheOldest) {
  Log l(HintLog::kLeastKept, HintLog::kLeastKept);
  for (uint64_t p = 0; p < HintLog::kLeastKept; ++p) l.hint(p);
  EXPECT_TRUE(l.marked(0));
  EXPECT_EQ(l.log.held_pages(), HintLog::kLeastKept);
  l.hint(5000, 3);
  EXPECT_FALSE(l.marked(0) || l.marked(1) || l.marked(2));
  EXPECT_TRUE(l.marked(3) && l.marked(5000) && l.marked(5002));
  EXPECT_EQ(l.log.held_pages(), HintLog::kLeastKept);
}

TEST(HintLog, AFullLogForgetsToo) {
  Log l(60000, 60000, 16);
  for (uint64_t p = 0; p < 17; ++p) l.hint(p);
  EXPECT_FALSE(l.marked(0));
  EXPECT_TRUE(l.marked(1));
  EXPECT_EQ(l.log.held_pages(), 16u);
}

TEST(HintLog, AHintLargerThanAllThatIsKeptIsTaken) {
  Log l(0, 0);
  l.hint(1);
  l.hint(100, 2000);
  EXPECT_FALSE(l.marked(1));
  EXPECT_TRUE(l.marked(100) && l.marked(2099));
  l.hint(9);
  EXPECT_FALSE(l.marked(100) || l.marked(2099));
}

TEST(HintLog, OnlyBoundedHintsAreAhead) {
  Log l(60000, 60000);
  l.hint(1);
  EXPECT_EQ(l.log.ahead_hints(), 0u);
  l.hint(2, 4, true);
  l.hint(10);
  l.hint(11, 1, true);
  EXPECT_EQ(l.log.ahead_pages(), 5u);
  EXPECT_EQ(l.log.ahead(0).address, 2 * kPage);
  EXPECT_EQ(l.log.ahead(2).address, 11 * kPage);
  l.log.pass(1);
  EXPECT_EQ(l.log.ahead_pages(), 1u);
  l.log.pass(100);
  EXPECT_EQ(l.log.ahead_pages(), 0u);
  EXPECT_EQ(l.log.ahead_hints(), 0u);
  EXPECT_TRUE(l.marked(2)) << "passed is not forgotten";
}

TEST(HintLog, WhatIsForgottenIsNotAheadAnyMore) {
  Log l(60000, 60000, 16);
  for (uint64_t p = 0; p < 40; ++p) l.hint(p, 1, true);
  EXPECT_EQ(l.log.ahead_pages(), 16u);
  EXPECT_EQ(l.log.ahead(0).address, 24 * kPage);
}

/// Against a plain model of memory that holds the last `real` pages: the log's idea of it comes near.
TEST(HintLog, KeptFollowsTheMemoryThatThereIs) {
  for (const uint64_t real : {4000u, 20000u}) {
    Log l(10000, 40000, 1 << 16);
    std::vector<uint64_t> when(kPages, 0);
    std::mt19937_64 random(7);
    uint64_t now = real + 1;
    for (unsigned i = 0; i < 1000000; ++i, ++now) {
      const uint64_t page = random() % kPages;
      if (!l.marked(page)) l.hint(page);
      when[page] = now;
      if (Addr old; l.log.sample(&old)) l.log.sampled(now - when[old / kPage] < real);
    }
    EXPECT_GT(l.log.kept(), real / 2);
    EXPECT_LT(l.log.kept(), real + real / 4);
  }
}

} // namespace
