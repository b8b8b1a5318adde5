// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/kept_share.h"

#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

constexpr uint32_t kMemory = 8000; ///< pages

TEST(KeptShare, GrowsByWhatHadBeenKeptAndShrinksByWhatHadNot) {
  KeptShare share;
  EXPECT_EQ(share.pages(kMemory), kMemory / 2);
  for (int i = 0; i < 1000; ++i) share.missed(true, kMemory);
  EXPECT_NEAR(share.pages(kMemory), kMemory / 2 + 1000, 1);
  for (int i = 0; i < 3000; ++i) share.missed(false, kMemory);
  EXPECT_NEAR(share.pages(kMemory), kMemory / 2 - 2000, 1);
}

TEST(KeptShare, LeavesRoomForWhatComesAndMayBeNothing) {
  KeptShare share;
  for (uint32_t i = 0; i < 2 * kMemory; ++i) share.missed(true, kMemory);
  EXPECT_EQ(share.pages(kMemory), kMemory / 8 * 7);
  for (uint32_t i = 0; i < 2 * kMemory; ++i) share.missed(false, kMemory);
  EXPECT_EQ(share.pages(kMemory), 0u);
}

TEST(KeptShare, GoesWithMemory) {
  KeptShare share;
  EXPECT_EQ(share.pages(0), 0u);
  share.missed(true, 0); // nothing is in memory yet
  EXPECT_EQ(share.pages(80), 70u);
}

} // namespace
} // namespace pagecast::core::test
