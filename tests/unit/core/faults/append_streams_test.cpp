// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region of zero pages, and a program that stores to it: which pages are filled, for how many faults.
#include "core/faults/append_streams.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace pagecast::core::test {
namespace {

constexpr uint32_t kMemory = 57000;

class Region {
public:
  explicit Region(uint32_t pages, uint32_t memory = kMemory) : memory_(memory), filled_(pages), stored_(pages) {}

  /// `looks_ahead`: somebody sees each store and fills in time.
  void store(uint32_t page, bool looks_ahead = false) {
    if (!filled_[page]) {
      ++faults;
      uint32_t before = 0;
      while (before < AppendStreams::kMostForFault && before < page && filled_[page - 1 - before]) ++before;
      append_streams.fault(before);
      fill(page, AppendStreams::run_for_fault(before, memory_));
    }
    unused -= !stored_[page];
    stored_[page] = true;
    const uint32_t ahead = looks_ahead ? append_streams.ahead(memory_) : 0;
    if (ahead == 0 || page + ahead >= filled_.size() || filled_[page + ahead]) return;
    uint32_t tail = page + ahead;
    while (!filled_[tail - 1]) --tail;
    fill(tail, append_streams.run(memory_));
  }
  AppendStreams append_streams;
  uint64_t faults = 0, pages = 0, unused = 0, most_unused = 0;

private:
  void fill(uint32_t page, uint32_t run) {
    ASSERT_GE(run, 1u);
    if (page == 0 || !filled_[page - 1]) append_streams.began();
    for (uint32_t i = page; i < page + run && i < filled_.size() && !filled_[i]; ++i) {
      filled_[i] = true;
      ++pages;
      ++unused;
    }
    most_unused = std::max(most_unused, unused);
  }
  uint32_t memory_;
  std::vector<bool> filled_, stored_;
};

/// So many buckets side by side, each stored to in order, which of them next at random.
Region buckets(uint32_t count, uint32_t pages, bool looks_ahead, uint32_t memory = kMemory) {
  Region region(count * pages, memory);
  std::vector<uint32_t> next(count);
  std::mt19937 random(1);
  for (uint64_t left = uint64_t{count} * pages; left;) {
    const uint32_t b = random() % count;
    if (next[b] == pages) continue;
    region.store(b * pages + next[b]++, looks_ahead);
    --left;
  }
  return region;
}

TEST(AppendStreams, BucketsTakeFewFaultsWhereSomebodyLooksAhead) {
  const Region region = buckets(1024, 128, true);
  EXPECT_TRUE(region.append_streams.grows());
  EXPECT_LT(region.faults, 1024 * 5 / 2);
  EXPECT_EQ(region.pages, 1024u * 128);
  EXPECT_LT(region.most_unused, kMemory * 5 / 16) << "runs and what is left of the last ones";
}

TEST(AppendStreams, BucketsTakeAFaultForEachRun) {
  const Region region = buckets(1024, 128, false);
  EXPECT_LT(region.faults, 1024 * 14);
  EXPECT_LT(region.most_unused, kMemory / 2);
}

TEST(AppendStreams, MoreBucketsGetShorterRuns) {
  for (const uint32_t count : {2048u, 8192u}) {
    const Region region = buckets(count, 64, true);
    EXPECT_LT(region.most_unused, kMemory * 5 / 16) << count;
    EXPECT_LT(region.faults, count * 3) << count;
  }
}

TEST(AppendStreams, LittleMemoryIsNotFilledWithZeros) {
  const Region region = buckets(1024, 32, true, 4096);
  EXPECT_LT(region.most_unused, 4096u / 2);
}

TEST(AppendStreams, ScatteredStoresFillTheirPagesAlone) {
  constexpr uint32_t kPages = 1 << 17;
  Region region(kPages);
  std::mt19937 random(1);
  for (uint32_t i = 0; i < kPages / 8; ++i) {
    region.store(random() % kPages, true);
    ASSERT_FALSE(region.append_streams.grows());
  }
  EXPECT_LT(region.pages, region.faults * 5 / 4);
}

TEST(AppendStreams, ColumnsFillTheirPagesAlone) {
  constexpr uint32_t kRow = 16, kRows = 4096;
  Region region(kRow * kRows);
  for (uint32_t i = 0; i < kRows; ++i) region.store(i * kRow + 3, true);
  EXPECT_EQ(region.faults, kRows);
  EXPECT_EQ(region.pages, kRows);
}

TEST(AppendStreams, ARegionThatStopsGrowingIsSeenTo) {
  Region region = buckets(256, 64, false);
  EXPECT_TRUE(region.append_streams.grows());
  EXPECT_GT(region.append_streams.ahead(kMemory), 0u);
  for (unsigned i = 0; i < 32; ++i) region.append_streams.fault(false);
  EXPECT_FALSE(region.append_streams.grows());
  EXPECT_EQ(region.append_streams.ahead(kMemory), 0u);
}

TEST(AppendStreams, IsInDoubtUntilFaultsHaveSpoken) {
  AppendStreams random, growing;
  EXPECT_TRUE(random.in_doubt(kMemory));
  EXPECT_FALSE(random.in_doubt(8)) << "too little to try";
  for (uint32_t i = 0; i < kMemory / AppendStreams::kDoubtShare; ++i) {
    EXPECT_TRUE(random.in_doubt(kMemory)) << i;
    random.fault(i % 2);
  }
  EXPECT_FALSE(random.in_doubt(kMemory));
  for (int i = 0; i < 64; ++i) growing.fault(true);
  EXPECT_TRUE(growing.grows());
  EXPECT_FALSE(growing.in_doubt(kMemory));
}

} // namespace
} // namespace pagecast::core::test
