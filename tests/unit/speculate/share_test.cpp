// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/tip/share.h"

#include <gtest/gtest.h>

namespace pagecast::speculate::test {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;

TEST(Share, AQuarterAtFirstAndHalfAtMost) {
  Share share = Share::of(64 * kMegabyte);
  EXPECT_EQ(share.lead(), 16 * kMegabyte);
  for (int i = 0; i < 100; i++) share.passed(kMegabyte, 0, 64 * kMegabyte);
  EXPECT_EQ(share.lead(), 32 * kMegabyte);
}

TEST(Share, WhatIsDisplacedAndReadAgainHalvesIt) {
  Share share = Share::of(64 * kMegabyte);
  share.passed(16 * kMegabyte, kMegabyte, 64 * kMegabyte);
  EXPECT_EQ(share.lead(), 17 * kMegabyte) << "one in sixteen is borne";
  share.passed(16 * kMegabyte, kMegabyte + 4096, 64 * kMegabyte);
  EXPECT_EQ(share.lead(), 8 * kMegabyte);
  for (int i = 0; i < 10; i++) share.passed(kMegabyte, kMegabyte, 64 * kMegabyte);
  EXPECT_EQ(share.lead(), 4 * kMegabyte);
}

TEST(Share, FollowsTheRoomAndWaitsWhileNothingIsPrefetched) {
  Share share = Share::of(64 * kMegabyte);
  share.passed(0, 5 * kMegabyte, 8 * kMegabyte);
  EXPECT_EQ(share.lead(), 2 * kMegabyte);
  share.passed(0, 0, 0);
  EXPECT_EQ(share.lead(), Share::kLeastLead);
}

TEST(Share, TheMachineSaysWhatIsLeft) {
  EXPECT_GT(memory_left(), 0u);
  EXPECT_LE(memory_left(), uint64_t{1} << 50);
}

} // namespace
} // namespace pagecast::speculate::test
