// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that are entered often, under counts: which entries are let in.
#include "core/nest/entry_backoff.h"

#include <gtest/gtest.h>

using namespace pagecast::core;

namespace {

/// A nest, kept as the runtime keeps it: in bits.
struct Site {
  /// An entry, and how it ends if it is let in.
  bool enter(bool early) {
    EntryBackoff backoff(bits);
    const bool in = backoff.enters(missed);
    if (in && early) backoff.left_early(missed);
    if (in && !early) backoff.went_on();
    bits = backoff.bits();
    EXPECT_EQ(bits >> EntryBackoff::kBits, 0u);
    return in;
  }
  /// So many, each of which would miss `misses` pages in `per` entries without hints. Returns how many are let in.
  uint64_t enter(uint64_t entries, bool early, uint64_t misses = 0, uint64_t per = 1) {
    uint64_t in = 0;
    for (uint64_t i = 0; i < entries; ++i) {
      if (enter(early)) ++in;
      else if (i % per == 0) missed += misses;
    }
    return in;
  }
  uint32_t gap() const { return EntryBackoff(bits).gap(); }

  uint64_t bits = 0, missed = 0;
};

constexpr uint64_t kMany = 2'000'000;

} // namespace

TEST(EntryBackoff, NestsThatGoOnAreAlwaysLetIn) {
  Site s;
  EXPECT_EQ(s.enter(kMany, false), kMany);
  EXPECT_EQ(s.bits, 0u);
}

TEST(EntryBackoff, NestsThatAreLeftEarlyAreLetInSeldom) {
  Site s;
  EXPECT_EQ(s.enter(EntryBackoff::kEnough, true), EntryBackoff::kEnough);
  EXPECT_EQ(s.enter(EntryBackoff::kFirstGap, true), 0u);
  EXPECT_TRUE(s.enter(true)) << "a probe";
  EXPECT_EQ(s.gap(), 2 * EntryBackoff::kFirstGap);
  const uint64_t in = s.enter(kMany, true);
  EXPECT_EQ(s.gap(), EntryBackoff::kMostGap);
  EXPECT_GE(in, kMany / (EntryBackoff::kMostGap + 1));
  EXPECT_LE(in, kMany / (EntryBackoff::kMostGap + 1) + 4);
}

TEST(EntryBackoff, OneThatGoesOnNowAndThenIsLetIn) {
  Site s;
  for (unsigned i = 0; i < 1000; ++i) {
    EXPECT_EQ(s.enter(EntryBackoff::kEnough - 1, true), EntryBackoff::kEnough - 1);
    EXPECT_TRUE(s.enter(false));
  }
}

TEST(EntryBackoff, AProbeThatGoesOnLetsAllIn) {
  Site s;
  s.enter(EntryBackoff::kEnough + 100'000, true);
  while (!s.enter(false)) {}
  EXPECT_EQ(s.gap(), 0u);
  EXPECT_EQ(s.enter(kMany, false), kMany);
}

TEST(EntryBackoff, ThatItWasWrongIsRemembered) {
  Site s;
  for (uint32_t enough = EntryBackoff::kEnough; enough <= EntryBackoff::kEnough << EntryBackoff::kMostPatience; enough *= 2) {
    EXPECT_EQ(s.enter(enough - 1, true), enough - 1);
    EXPECT_EQ(s.gap(), 0u);
    EXPECT_TRUE(s.enter(true));
    EXPECT_EQ(s.gap(), EntryBackoff::kFirstGap);
    while (!s.enter(false)) {}
  }
  EXPECT_EQ(s.enter((EntryBackoff::kEnough << EntryBackoff::kMostPatience) - 1, true),
            (EntryBackoff::kEnough << EntryBackoff::kMostPatience) - 1);
}

TEST(EntryBackoff, SearchesThatMissPagesWithoutHintsAreLetIn) {
  Site s;
  const uint64_t in = s.enter(kMany, true, 1, 2); // a page in two entries
  EXPECT_GE(in, kMany * 9 / 10);
}

TEST(EntryBackoff, AFewPagesMissedAreNoReason) {
  Site s;
  const uint64_t in = s.enter(kMany, true, 1, 64);
  EXPECT_LE(in, kMany / EntryBackoff::kMostGap + 70);
}

TEST(EntryBackoff, TheCountOfMissedPagesMayBeOfAnySize) {
  Site s;
  s.missed = ~uint64_t{0} - 100;
  EXPECT_LE(s.enter(kMany, true, 1, 64), kMany / EntryBackoff::kMostGap + 70);
}

TEST(EntryBackoff, AProbeThatTellsNothingIsFollowedByAnotherGap) {
  EntryBackoff e;
  for (uint32_t i = 0; i < EntryBackoff::kEnough; ++i) e.left_early(0);
  uint64_t in = 0;
  for (uint32_t i = 0; i < 10 * (EntryBackoff::kFirstGap + 1); ++i) in += e.enters(0); // not in regions, or resident
  EXPECT_EQ(in, 10u);
  EXPECT_EQ(e.gap(), EntryBackoff::kFirstGap);
}

TEST(EntryBackoff, AWordThatIsNewLetsAllIn) { EXPECT_TRUE(EntryBackoff(0).enters(12345) && !EntryBackoff(0).passes_over()); }
