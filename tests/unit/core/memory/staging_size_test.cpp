// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/staging_size.h"

#include <gtest/gtest.h>

using pagecast::core::StagingSize;

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kWhole = 256;

struct Use {
  StagingSize size;
  uint64_t now = kMs;
  unsigned changes = 0;
  Use() { size.start(kWhole); }
  void go_on(unsigned ms, uint32_t most, bool lacked = false) {
    for (unsigned i = 0; i < ms; ++i, now += kMs) {
      const uint32_t before = size.wanted();
      size.look(most, lacked, now);
      changes += size.wanted() != before;
    }
  }
  /// Much of it is used for a while each time, and next to none in between.
  void go_on_in_bursts(unsigned times, unsigned calm_ms, unsigned burst_ms) {
    for (unsigned i = 0; i < times; ++i) {
      go_on(calm_ms, 2);
      go_on(burst_ms, 200);
    }
  }
};

TEST(StagingSize, OfFewReadsAtATimeItIsSmall) {
  Use u;
  u.go_on(1000, 3);
  EXPECT_EQ(u.size.wanted(), StagingSize::kLeast);
  EXPECT_EQ(u.changes, 1u);
}

TEST(StagingSize, HasRoomForTwiceWhatWasInUse) {
  Use u;
  u.go_on(1000, 50);
  EXPECT_EQ(u.size.wanted(), 128u);
}

TEST(StagingSize, StaysWholeWhereItIsUsed) {
  Use u;
  u.go_on_in_bursts(20, 100, 1);
  EXPECT_EQ(u.changes, 0u);
}

TEST(StagingSize, DoublesAtOnceWhereMoreIsWanted) {
  Use u;
  u.go_on(1000, 3);
  u.go_on(1, 24);
  EXPECT_EQ(u.size.wanted(), 2 * StagingSize::kLeast);
  u.go_on(1, 10, true);
  EXPECT_EQ(u.size.wanted(), 4 * StagingSize::kLeast);
  u.go_on(3, 200);
  EXPECT_EQ(u.size.wanted(), kWhole);
}

/// Bursts between which it is hardly used: it is not built up and taken apart for each of them.
TEST(StagingSize, ChangesSeldomWhereBurstsComeAgain) {
  Use u;
  u.go_on_in_bursts(100, 400, 5);
  EXPECT_LE(u.changes, 20u);
}

} // namespace
