// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/code_room.h"

#include <gtest/gtest.h>

namespace {

using namespace pagecast::core;

constexpr uint64_t kMs = 1000000, kMiB = 1 << 20, kSize = 96 * kMiB;

/// A program in a group of 96 MiB that is looked at every 100 ms.
struct World {
  CodeRoom room;
  CodeReads reads{.again = 1, .cache = 32 * kMiB, .by_faults = 1, .waits = 0, .maps_data = false, .stalled_ns = 0};
  uint64_t now_ns = 1;

  World() { room.update(reads, kSize, now_ns); }
  /// A look after so many pages were read again, and so many by the program's faults, each of which read 16.
  uint64_t look(uint64_t again, uint64_t by_faults, uint64_t stalled_ms = 0, uint64_t ms = 100) {
    reads.again += again;
    reads.by_faults += by_faults * 4096;
    reads.waits += (by_faults + 15) / 16;
    reads.stalled_ns += stalled_ms * kMs;
    return room.update(reads, kSize, now_ns += ms * kMs);
  }
};

TEST(CodeRoom, GrowsToAHalfWhileCodeComesBackAndTheProgramDoesNotWaitForData) {
  World w;
  unsigned looks = 0;
  for (; w.look(2000, 2000) < kSize / 2; ++looks) ASSERT_LT(looks, 20u);
  EXPECT_EQ(w.look(2000, 2000), kSize / 2);
  EXPECT_TRUE(w.room.comes_back());
  w.look(90, 90);
  EXPECT_FALSE(w.room.comes_back());
}

TEST(CodeRoom, StaysWithinAnEighthWhileTheProgramWaitsForData) {
  World w;
  for (unsigned i = 0; i < 50; ++i) EXPECT_LE(w.look(2000, 2000, 60), kSize / 8);
  EXPECT_EQ(w.look(2000, 2000, 60), kSize / 8);
}

TEST(CodeRoom, IsGivenBackDownToAnEighthWhenTheProgramWaitsForDataInstead) {
  World w;
  for (unsigned i = 0; i < 20; ++i) w.look(2000, 2000);
  EXPECT_EQ(w.look(2000, 2000, 60), kSize / 2) << "each of the two waits takes about half of the time";
  World other = w;
  for (unsigned i = 0; i < 8; ++i) w.look(2000, 2000, 90), other.look(0, 0, 90);
  EXPECT_EQ(w.look(2000, 2000, 90), kSize / 8);
  EXPECT_EQ(other.look(0, 0, 90), kSize / 8) << "code is not read any more";
}

TEST(CodeRoom, AFileThatIsReadOnceBringsNone) {
  World w;
  for (unsigned i = 0; i < 50; ++i) EXPECT_EQ(w.look(0, 20000), 0u);
}

TEST(CodeRoom, FilesThatReadCallsComeBackToBringNone) {
  World w;
  w.reads.cache = 60 * kMiB;
  for (unsigned i = 0; i < 50; ++i) EXPECT_EQ(w.look(20000, 20), 0u) << "a wait for code now and then";
}

TEST(CodeRoom, FilesThatOthersComeBackToBringNone) {
  World w;
  for (unsigned i = 0; i < 50; ++i) EXPECT_EQ(w.look(20000, 0), 0u);
}

TEST(CodeRoom, DataThatTheProgramMapsBringNone) {
  World w;
  w.reads.maps_data = true;
  for (unsigned i = 0; i < 50; ++i) EXPECT_EQ(w.look(2000, 2000), 0u);
  w.reads.cache = 8 * kMiB; // little: code, as long as the program waits for files
  EXPECT_GT(w.look(2000, 2000), 0u);
}

TEST(CodeRoom, WhereFaultsAreNotCountedOnlyLittleCacheIsTakenForCode) {
  World w;
  w.reads.by_faults = 0;
  w.room = CodeRoom();
  w.look(0, 0);
  const auto look = [&] {
    w.reads.again += 2000;
    ++w.reads.waits;
    return w.room.update(w.reads, kSize, w.now_ns += 100 * kMs);
  };
  EXPECT_EQ(look(), 0u);
  w.reads.cache = 8 * kMiB;
  EXPECT_GT(look(), 0u);
}

TEST(CodeRoom, GrowsByStepsThatCouldTellAndShrinksLater) {
  World w;
  EXPECT_EQ(w.look(90, 90), 0u) << "3.5 MiB a second";
  EXPECT_EQ(w.look(400, 400), kSize / 256);
  EXPECT_EQ(w.look(400, 400, 0, 10), kSize / 256) << "the last step may tell yet";
  EXPECT_EQ(w.look(400, 400, 0, 90), kSize / 128);
  EXPECT_EQ(w.look(400, 400), kSize / 64);
  EXPECT_EQ(w.look(400, 400), kSize / 32);
  EXPECT_EQ(w.look(0, 0, 0, 900), kSize / 32);
  EXPECT_LT(w.look(0, 0, 0, 1000), kSize / 32);
  for (unsigned i = 0; i < 3; ++i) w.look(0, 0, 0, 1000);
  EXPECT_EQ(w.look(0, 0, 0, 1000), 0u);
}

TEST(CodeRoom, StaysForLongerWhereItWasTakenBackTooSoon) {
  World w;
  for (uint64_t s = 1; s <= 16; s *= 2) {
    const uint64_t room = w.look(400, 400);
    EXPECT_GT(room, 0u);
    EXPECT_EQ(w.look(0, 0, 0, s * 1000 - 100), room) << s << " s";
    EXPECT_EQ(w.look(0, 0, 0, 2000), 0u) << s << " s";
  }
  const uint64_t room = w.look(400, 400);
  EXPECT_EQ(w.look(0, 0, 0, 15900), room);
  EXPECT_EQ(w.look(0, 0, 0, 2000), 0u) << "but no longer than 16 s";
}

} // namespace
