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
    EarlyExits exits(bits);
    const bool in = exits.enters(missed);
    if (in && early) exits.left_early(missed);
    if (in && !early) exits.went_on();
    bits = exits.bits();
    EXPECT_EQ(bits >> EarlyExits::kBits, 0u);
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
  uint32_t gap() const { return EarlyExits(bits).gap(); }

  uint64_t bits = 0, missed = 0;
};

constexpr uint64_t kMany = 2'000'000;

} // namespace

TEST(EarlyExits, NestsThatGoOnAreAlwaysLetIn) {
  Site s;
  EXPECT_EQ(s.enter(kMany, false), kMany);
  EXPECT_EQ(s.bits, 0u);
}

TEST(EarlyExits, NestsThatAreLeftEarlyAreLetInSeldom) {
  Site s;
  EXPECT_EQ(s.enter(EarlyExits::kEnough, true), EarlyExits::kEnough);
  EXPECT_EQ(s.enter(EarlyExits::kFirstGap, true), 0u);
  EXPECT_TRUE(s.enter(true)) << "a probe";
  EXPECT_EQ(s.gap(), 2 * EarlyExits::kFirstGap);
  const uint64_t in = s.enter(kMany, true);
  EXPECT_EQ(s.gap(), EarlyExits::kMostGap);
  EXPECT_GE(in, kMany / (EarlyExits::kMostGap + 1));
  EXPECT_LE(in, kMany / (EarlyExits::kMostGap + 1) + 4);
}

TEST(EarlyExits, OneThatGoesOnNowAndThenIsLetIn) {
  Site s;
  for (unsigned i = 0; i < 1000; ++i) {
    EXPECT_EQ(s.enter(EarlyExits::kEnough - 1, true), EarlyExits::kEnough - 1);
    EXPECT_TRUE(s.enter(false));
  }
}

TEST(EarlyExits, AProbeThatGoesOnLetsAllIn) {
  Site s;
  s.enter(EarlyExits::kEnough + 100'000, true);
  while (!s.enter(false)) {}
  EXPECT_EQ(s.gap(), 0u);
  EXPECT_EQ(s.enter(kMany, false), kMany);
}

TEST(EarlyExits, ThatItWasWrongIsRemembered) {
  Site s;
  for (uint32_t enough = EarlyExits::kEnough; enough <= EarlyExits::kEnough << EarlyExits::kMostPatience; enough *= 2) {
    EXPECT_EQ(s.enter(enough - 1, true), enough - 1);
    EXPECT_EQ(s.gap(), 0u);
    EXPECT_TRUE(s.enter(true));
    EXPECT_EQ(s.gap(), EarlyExits::kFirstGap);
    while (!s.enter(false)) {}
  }
  EXPECT_EQ(s.enter((EarlyExits::kEnough << EarlyExits::kMostPatience) - 1, true),
            (EarlyExits::kEnough << EarlyExits::kMostPatience) - 1);
}

TEST(EarlyExits, SearchesThatMissPagesWithoutHintsAreLetIn) {
  Site s;
  const uint64_t in = s.enter(kMany, true, 1, 2); // a page in two entries
  EXPECT_GE(in, kMany * 9 / 10);
}

TEST(EarlyExits, AFewPagesMissedAreNoReason) {
  Site s;
  const uint64_t in = s.enter(kMany, true, 1, 64);
  EXPECT_LE(in, kMany / EarlyExits::kMostGap + 70);
}

TEST(EarlyExits, TheCountOfMissedPagesMayBeOfAnySize) {
  Site s;
  s.missed = ~uint64_t{0} - 100;
  EXPECT_LE(s.enter(kMany, true, 1, 64), kMany / EarlyExits::kMostGap + 70);
}

TEST(EarlyExits, AProbeThatTellsNothingIsFollowedByAnotherGap) {
  EarlyExits e;
  for (uint32_t i = 0; i < EarlyExits::kEnough; ++i) e.left_early(0);
  uint64_t in = 0;
  for (uint32_t i = 0; i < 10 * (EarlyExits::kFirstGap + 1); ++i) in += e.enters(0); // not in regions, or resident
  EXPECT_EQ(in, 10u);
  EXPECT_EQ(e.gap(), EarlyExits::kFirstGap);
}

TEST(EarlyExits, AWordThatIsNewLetsAllIn) { EXPECT_TRUE(EarlyExits(0).enters(12345) && !EarlyExits(0).passes_over()); }
