// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/tip/kept.h"

#include <gtest/gtest.h>

namespace pagecast::speculate::test {
namespace {

constexpr uint64_t kMillisecond = 1000000;

TEST(Kept, OnceThereIsEnough) {
  Kept kept;
  EXPECT_FALSE(kept.is_known());
  EXPECT_FALSE(kept.is_in_vain());
  kept.saw(false);
  kept.saw(false);
  EXPECT_FALSE(kept.is_known()) << "a thread that did not run for a moment";
  kept.saw(true);
  EXPECT_TRUE(kept.is_known());
  for (int i = 0; i < 10; i++) kept.saw(false);
  EXPECT_FALSE(kept.is_in_vain());
}

TEST(Kept, ThreeTimesNotThereIsInVain) {
  Kept kept;
  for (unsigned i = 0; i < Kept::kTries; i++) kept.saw(false);
  EXPECT_TRUE(kept.is_in_vain());
  kept.saw(true);
  EXPECT_TRUE(kept.is_in_vain()) << "what happens to be there later says nothing of what was fetched";
}

TEST(Kept, TwoClearTriesAreEnough) {
  Kept kept;
  kept.saw(false, true);
  EXPECT_FALSE(kept.is_known());
  kept.saw(false, true);
  EXPECT_TRUE(kept.is_in_vain());
  EXPECT_TRUE(Kept::is_clearly_not(10 * kMillisecond, 6 * kMillisecond));
  EXPECT_FALSE(Kept::is_clearly_not(10 * kMillisecond, 3 * kMillisecond));
  EXPECT_FALSE(Kept::is_clearly_not(kMillisecond / 2, kMillisecond / 2)) << "too little to tell";
}

TEST(Kept, WhatComesAsSlowlyAgainWasNotInMemory) {
  EXPECT_FALSE(Kept::is_from_memory(2 * kMillisecond, 2 * kMillisecond));
  EXPECT_FALSE(Kept::is_from_memory(20 * kMillisecond, 3 * kMillisecond));
  EXPECT_TRUE(Kept::is_from_memory(20 * kMillisecond, kMillisecond)) << "it did not run for a moment";
  EXPECT_TRUE(Kept::is_from_memory(kMillisecond / 5, kMillisecond / 5)) << "both were";
}

} // namespace
} // namespace pagecast::speculate::test
