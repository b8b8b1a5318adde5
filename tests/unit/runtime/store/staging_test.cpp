// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/os.h"
#include "runtime/store/backing_store.h"
#include "runtime/store/staging.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace pagecast;

/// Of 4 MiB, in large pages where the kernel has them, 32 pages stay; later all is there again, at once or beside a run in use.
TEST(Staging, GivesBackWhatItDoesNotNeed) {
  for (const bool in_use : {false, true}) {
    Staging staging;
    ASSERT_TRUE(staging.start(1024 * os::page_size()));
    const auto base = reinterpret_cast<uint64_t>(staging.base());
    const auto there = [&] { return os::bytes_in_memory(base, staging.whole_bytes()) / os::page_size(); };
    EXPECT_EQ(there(), 1024u);
    staging.resize(32);
    EXPECT_EQ(there(), 0u);
    EXPECT_EQ(staging.bytes(), 32 * os::page_size());
    uint32_t first = 0;
    ASSERT_EQ(staging.take(32, &first), 32u);
    memset(staging.address(first), 7, 32 * os::page_size());
    EXPECT_EQ(there(), 32u);
    EXPECT_FALSE(staging.lacked());
    EXPECT_EQ(staging.take(1, &first), 0u);
    EXPECT_TRUE(staging.lacked());
    if (!in_use) staging.give(0, 32);
    staging.resize(1024);
    EXPECT_EQ(there(), 1024u);
    EXPECT_EQ(staging.free_pages(), in_use ? 992u : 1024u);
    EXPECT_EQ(*staging.address(31), in_use ? 7 : 0);
    ASSERT_EQ(staging.take(900, &first), 900u);
    EXPECT_GE(first, in_use ? 32u : 0u);
  }
}

TEST(Staging, RunsNeverOverlapAndAllComesBack) {
  static Staging staging;
  ASSERT_TRUE(staging.start(512 * os::page_size()));
  struct Run {
    uint32_t first, pages;
  };
  std::vector<Run> held;
  std::vector<bool> used(512);
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    if (random() % 2 || held.empty()) {
      uint32_t first = 0;
      const uint32_t want = 1 + random() % 128;
      const uint32_t got = staging.take(want, &first);
      ASSERT_LE(got, want);
      ASSERT_LE(first + got, 512u);
      if (staging.free_pages() == 0 && got == 0) {
        ASSERT_EQ(std::count(used.begin(), used.end(), false), 0);
        continue;
      }
      ASSERT_GT(got, 0u);
      for (uint32_t p = first; p < first + got; ++p) {
        ASSERT_FALSE(used[p]);
        used[p] = true;
      }
      held.push_back({first, got});
    } else {
      const size_t k = random() % held.size();
      const Run r = held[k];
      held[k] = held.back();
      held.pop_back();
      staging.give(r.first, r.pages);
      for (uint32_t p = r.first; p < r.first + r.pages; ++p) used[p] = false;
    }
  }
  for (const Run &r : held) staging.give(r.first, r.pages);
  uint32_t first;
  EXPECT_EQ(staging.free_pages(), 512u);
  uint32_t taken = 0;
  while (const uint32_t n = staging.take(512, &first)) taken += n;
  EXPECT_EQ(taken, 512u);
  EXPECT_EQ(staging.take(1, &first), 0u);
}

TEST(Staging, IsASmallPartOfTheBudget) {
  constexpr uint64_t kMiB = 1 << 20;
  EXPECT_EQ(BackingStore::staging_bytes_for(16 * kMiB), kMiB / 2);
  EXPECT_EQ(BackingStore::staging_bytes_for(64 * kMiB), kMiB);
  EXPECT_EQ(BackingStore::staging_bytes_for(255 * kMiB), os::kLargePage) << "a large page is worth more than half of one";
  EXPECT_EQ(BackingStore::staging_bytes_for(1023 * kMiB), 8 * kMiB);
  EXPECT_EQ(BackingStore::staging_bytes_for(65536 * kMiB), 16 * kMiB);
}
