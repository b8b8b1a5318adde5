// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/os.h"
#include "runtime/store/backing_store.h"
#include "runtime/store/staging.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace pagecast;

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
