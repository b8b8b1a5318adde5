// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include "cache.h"
#include <random>

namespace pagecast::core::test {
namespace {

using Found = StorageCache::Found;
constexpr StoragePolicy kBoth[] = {StoragePolicy::kAging, StoragePolicy::kTwoQueues};

TEST(StorageCache, TheExampleOfTheHeader) {
  Cache c(StoragePolicy::kAging, 2);
  EXPECT_EQ(c.reference(1, 0), Found::kFetch);
  EXPECT_EQ(c.reference(2, 0), Found::kFetch);
  EXPECT_EQ(c.prefetch(3, 1), Found::kFetch) << "block 1 goes";
  EXPECT_EQ(c.reference(1, 0), Found::kFetch);
  EXPECT_EQ(c.cache.counts(1).harmful_inter, 1u);
  EXPECT_EQ(c.cache.counts(1).harmful_intra, 0u);
  EXPECT_EQ(c.cache.counts(0).misses, 3u);
}

TEST(StorageCache, APrefetchThatIsReferencedFirstIsUseful) {
  Cache c(StoragePolicy::kAging, 2);
  c.reference(1, 0);
  c.reference(2, 0);
  c.prefetch(3, 1);
  EXPECT_EQ(c.reference(3, 1), Found::kHere);
  EXPECT_EQ(c.reference(1, 0), Found::kFetch);
  EXPECT_EQ(c.cache.counts(1).harmful_inter + c.cache.counts(1).harmful_intra, 0u);
}

TEST(StorageCache, OnesOwnBlockIsIntra) { // figure 1 (b)
  Cache c(StoragePolicy::kAging, 2);
  c.reference(1, 1);
  c.reference(2, 1);
  c.prefetch(3, 1);
  c.reference(1, 0);
  EXPECT_EQ(c.cache.counts(1).harmful_intra, 1u) << "who brought the block counts, not who wants it back";
  EXPECT_EQ(c.cache.counts(1).harmful_inter, 0u);
}

TEST(StorageCache, AnUnusedPrefetchIsHarmfulOnceAndOnlyIfItDisplaced) {
  Cache c(StoragePolicy::kAging, 2);
  c.prefetch(1, 0); // displaces nothing
  c.reference(2, 0);
  c.prefetch(3, 1); // displaces 1, which was never referenced
  EXPECT_EQ(c.cache.counts(0).unused, 1u);
  EXPECT_EQ(c.cache.counts(0).harmful_intra + c.cache.counts(0).harmful_inter, 0u);
  c.reference(1, 0); // displaces 2: the prefetch of 3 was harmful
  c.reference(4, 0); // displaces 3: unused, too
  EXPECT_EQ(c.cache.counts(1).unused, 1u);
  EXPECT_EQ(c.cache.counts(1).harmful_inter, 1u);
}

TEST(StorageCache, ClientsWhosePrefetchesDoHarmAreRefused) {
  for (const bool refuses : {false, true}) {
    Cache c(StoragePolicy::kAging, 2, 4, ~0u, refuses);
    for (uint64_t i = 0; i < 300; ++i) {
      c.reference(1, 0);
      c.reference(2, 0);
      c.prefetch(1000 + i, 1); // nobody wants it
      c.prefetch(2, 2);        // what is there costs nothing
    }
    EXPECT_EQ(c.cache.counts(1).refused, refuses ? 300 - c.cache.counts(1).prefetches : 0);
    EXPECT_EQ(c.cache.counts(1).prefetches, refuses ? PrefetchCredit::kFirst : 300u);
    EXPECT_EQ(c.cache.counts(2).refused, 0u);
  }
}

TEST(StorageCache, WhatIsLeftAtTheEndWasUnused) {
  Cache c(StoragePolicy::kAging, 2);
  c.reference(1, 0);
  c.prefetch(2, 0);
  c.prefetch(3, 0); // displaces 1
  EXPECT_EQ(c.cache.counts(0).unused, 0u);
  EXPECT_EQ(c.cache.final_counts(0).unused, 2u);
  EXPECT_EQ(c.cache.final_counts(0).harmful_intra, 1u);
  EXPECT_EQ(c.cache.final_counts(1).unused, 0u);
}

TEST(StorageCache, DuplicatesAndWhatFindsNoRoom) {
  Cache c(StoragePolicy::kAging, 3, 2, 1);
  EXPECT_EQ(c.cache.prefetch(1, 0).found, Found::kFetch);
  EXPECT_EQ(c.cache.prefetch(1, 1).found, Found::kComing);
  EXPECT_EQ(c.cache.prefetch(2, 1).found, Found::kFull) << "one at a time";
  EXPECT_EQ(c.cache.counts(1).duplicate, 1u);
  EXPECT_EQ(c.cache.counts(1).dropped, 1u);
  const auto place = c.cache.reference(1, 1);
  EXPECT_EQ(place.found, Found::kComing);
  EXPECT_EQ(c.cache.counts(1).late, 1u);
  c.cache.arrived(place.frame);
  EXPECT_EQ(c.cache.prefetch(1, 0).found, Found::kHere);
  EXPECT_EQ(c.cache.prefetch(2, 1).found, Found::kFetch);
}

TEST(StorageCache, WhatIsPinnedOrComingStays) {
  for (const StoragePolicy policy : kBoth) {
    Cache c(policy, 2);
    const auto pinned = c.cache.reference(1, 0);
    c.cache.arrived(pinned.frame);
    const auto coming = c.cache.prefetch(2, 0);
    EXPECT_EQ(c.cache.reference(3, 0).found, Found::kFull);
    EXPECT_EQ(c.cache.prefetch(3, 0).found, Found::kFull);
    c.cache.unpin(pinned.frame);
    EXPECT_EQ(c.reference(3), Found::kFetch);
    EXPECT_TRUE(c.cache.is_coming(coming.frame));
    EXPECT_TRUE(c.cache.is_valid());
  }
}

TEST(StorageCache, AFailedReadIsSeenByAllWhoWaitAndThenForgotten) {
  Cache c(StoragePolicy::kAging, 2);
  const auto first = c.cache.reference(1, 0), second = c.cache.reference(1, 1);
  EXPECT_EQ(second.found, Found::kComing);
  c.cache.failed(first.frame);
  EXPECT_TRUE(c.cache.has_failed(second.frame));
  EXPECT_EQ(c.cache.reference(1, 0).found, Found::kFetch) << "it is tried again";
  c.cache.unpin(first.frame);
  EXPECT_TRUE(c.cache.has_failed(second.frame));
  c.cache.unpin(second.frame);
  EXPECT_TRUE(c.cache.is_valid());
  EXPECT_EQ(c.cache.used(), 1u);
  const auto alone = c.cache.prefetch(7, 0);
  c.cache.failed(alone.frame);
  EXPECT_EQ(c.cache.used(), 1u) << "no one waits for it";
  EXPECT_TRUE(c.cache.is_valid());
}

TEST(FrameOrder, WhatWasUsedInPeriodsBeforeOutlivesWhatWasNot) {
  Cache c(StoragePolicy::kAging, 8); // a period is eight blocks that come in
  for (const uint64_t b : {50, 51, 52, 53, 0, 1, 2, 3}) c.reference(b);
  for (uint64_t period = 1; period < 5; ++period) {
    c.reference(100 * period);
    for (uint64_t b = 0; b < 4; ++b) EXPECT_EQ(c.reference(b), Found::kHere) << period;
    for (uint64_t b = 1; b < 8; ++b) c.reference(100 * period + b); // LRU alone would give up 0 to 3 for them
  }
  for (uint64_t b = 1000; b < 1100; ++b) c.reference(b);
  for (uint64_t b = 0; b < 4; ++b) EXPECT_FALSE(c.has(b)) << "it ages";
}

TEST(FrameOrder, ASweepPassesThroughTheQueue) {
  Cache two(StoragePolicy::kTwoQueues, 16), aging(StoragePolicy::kAging, 16);
  for (Cache *c : {&two, &aging}) {
    for (uint64_t b = 0; b < 24; ++b) c->reference(b);
    for (uint64_t b = 0; b < 8; ++b) c->reference(b);
    for (uint64_t b = 1000; b < 2000; ++b) c->reference(b);
  }
  unsigned kept = 0;
  for (uint64_t b = 0; b < 8; ++b) {
    kept += two.has(b);
    EXPECT_FALSE(aging.has(b));
  }
  EXPECT_EQ(kept, 8u) << "they were wanted again while their names were remembered";
}

} // namespace
} // namespace pagecast::core::test
