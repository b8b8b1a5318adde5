// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/small_blocks.h"

#include <gtest/gtest.h>
#include <thread>

namespace pagecast {
namespace {

constexpr uint64_t kMiB = 1u << 20;

TEST(SmallBlocks, AreNotWatchedBeforeTheFirstLook) {
  SmallBlocks blocks;
  EXPECT_FALSE(blocks.note(1024 * kMiB));
  blocks.wait_for_room([] { FAIL() << "nothing to wait for"; });
  EXPECT_FALSE(blocks.posted());
}

TEST(SmallBlocks, ALookIsDueBeforeTheRoomIsUsedUp) {
  SmallBlocks blocks;
  blocks.looked(0, 4 * kMiB, false);
  EXPECT_FALSE(blocks.note(kMiB / 2));
  EXPECT_FALSE(blocks.posted());
  EXPECT_TRUE(blocks.note(kMiB));
  EXPECT_TRUE(blocks.posted());
  blocks.wait_for_room([] { FAIL() << "there is room"; });
}

TEST(SmallBlocks, WhatIsGivenBackMakesNoLookDue) {
  SmallBlocks blocks;
  blocks.looked(0, 4 * kMiB, false);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(blocks.note(kMiB / 2));
    blocks.note_freed(kMiB / 2);
  }
  blocks.note_freed(8 * kMiB); // what was there before the first look
  EXPECT_TRUE(blocks.note(2 * kMiB));
  const uint64_t seen = blocks.begin_look();
  blocks.note_freed(2 * kMiB); // while the pager looks
  blocks.looked(seen, 4 * kMiB, false);
  EXPECT_FALSE(blocks.posted());
}

TEST(SmallBlocks, WhatWasAskedForLastIsStillToComeAfterALook) {
  SmallBlocks blocks;
  blocks.looked(0, 4 * kMiB, false);
  blocks.note(3 * kMiB);
  const uint64_t seen = blocks.begin_look();
  EXPECT_EQ(seen, 3 * kMiB - SmallBlocks::kLot);
  blocks.note(kMiB); // while the pager looks
  blocks.looked(seen, kMiB, false);
  EXPECT_TRUE(blocks.posted());
}

TEST(SmallBlocks, WhoExceedsTheRoomWaitsForThePagerToMakeMore) {
  SmallBlocks blocks;
  blocks.looked(0, kMiB, false);
  blocks.note(2 * kMiB);
  std::atomic<unsigned> woken{0};
  std::atomic<bool> went_on{false};
  std::thread program([&] {
    blocks.wait_for_room([&] { woken.fetch_add(1); });
    went_on = true;
  });
  while (!blocks.waited_for() || !woken) std::this_thread::yield();
  blocks.looked(0, kMiB, true); // it looked, and gives pages back: not enough yet
  const unsigned before = woken;
  while (woken < before + 2) std::this_thread::yield();
  EXPECT_FALSE(went_on);
  blocks.looked(blocks.begin_look(), kMiB, false);
  program.join();
  EXPECT_FALSE(blocks.waited_for());
}

TEST(SmallBlocks, WhoExceedsTheRoomGoesOnWhereThereIsNothingToGiveBack) {
  SmallBlocks blocks;
  blocks.looked(0, 0, false);
  blocks.note(2 * kMiB);
  std::thread program([&] { blocks.wait_for_room([] {}); });
  while (!blocks.waited_for()) std::this_thread::yield();
  while (blocks.waited_for()) blocks.looked(0, 0, false); // as full as before
  program.join();
}

} // namespace
} // namespace pagecast
