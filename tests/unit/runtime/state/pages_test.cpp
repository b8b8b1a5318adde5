// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/os.h"
#include "runtime/state/pages.h"

#include <gtest/gtest.h>

using namespace pagecast;

TEST(PageTable, SlotsFollowAddressesAndAreReused) {
  static PageTable pages;
  ASSERT_TRUE(pages.start());
  const uint64_t page = os::page_size();
  const uint64_t a = 0x10000000, b = 0x90000000;
  const uint32_t first = pages.allocate(a, 1000);
  const uint32_t second = pages.allocate(b, 1);
  ASSERT_NE(first, kNoSlot);
  EXPECT_GE(second, first + 1000);
  EXPECT_EQ(pages.address(first + 999), a + 999 * page);
  EXPECT_EQ(pages.address(second), b);
  pages.use(first + 5, 1);
  pages[first + 5].state = PageState::kDirty;
  const uint32_t high = pages.high_water();
  pages.free(first, 1000, true);
  const uint32_t again = pages.allocate(b, 700);
  EXPECT_EQ(again, first);
  EXPECT_EQ(pages.high_water(), high);
  EXPECT_EQ(pages[again + 5].state, PageState::kZero);
  EXPECT_EQ(pages.address(again + 699), b + 699 * page);
}

TEST(PageTable, TheBeginningOfARangeIsNotReusedWithWhatFollowsIt) {
  static PageTable pages;
  ASSERT_TRUE(pages.start());
  const uint32_t first = pages.allocate(0x10000000, 1000);
  pages.free(first, 40, false); // the rest of its grain is still in use
  EXPECT_GE(pages.allocate(0x90000000, 10), first + 1000);
  pages.free(first + 40, 960, true);
  EXPECT_EQ(pages.allocate(0xa0000000, 700), first + kGrainPages);
}

TEST(PageTable, RegionsThatShareAChunkAreZeroWhenTheyAreNew) {
  static PageTable pages;
  ASSERT_TRUE(pages.start());
  const uint32_t one = pages.allocate(0x10000000, 10), other = pages.allocate(0x20000000, kGrainPages + 1);
  EXPECT_EQ(other, one + kGrainPages);
  EXPECT_EQ(pages.address(other + kGrainPages), 0x20000000 + kGrainPages * os::page_size());
  pages.use(one, 1);
  pages[one].state = PageState::kDirty;
  pages.use(other, 2);
  pages[other + 1].state = PageState::kAbsent;
  EXPECT_EQ(pages.slots_used(), kChunkPages);
  pages.free(other, kGrainPages + 1, true);
  EXPECT_EQ(pages.allocate(0x30000000, 2 * kGrainPages), other);
  EXPECT_EQ(pages[other + 1].state, PageState::kZero);
  EXPECT_EQ(pages[one].state, PageState::kDirty);
}

TEST(PageTable, RefusesMoreThanThereIs) {
  static PageTable pages;
  ASSERT_TRUE(pages.start());
  EXPECT_EQ(pages.allocate(0x1000, uint64_t{1} << 40), kNoSlot);
}

TEST(PageTable, KnowsWhatIsInUse) {
  PageTable table;
  ASSERT_TRUE(table.start());
  const uint64_t pages = 300 * uint64_t{kChunkPages};
  const uint32_t first = table.allocate(1ull << 30, pages), end = static_cast<uint32_t>(first + pages);
  EXPECT_EQ(table.next_used(first, end), end);
  table.use(first + 70 * kChunkPages + 9, 1);
  table.use(first + 200 * kChunkPages - 1, 2); // on either side of a border
  EXPECT_EQ(table.slots_used(), 3u * kChunkPages);
  EXPECT_EQ(table.next_used(first, end), first + 70 * kChunkPages);
  EXPECT_EQ(table.next_used(first + 71 * kChunkPages, end), first + 199 * kChunkPages);
  EXPECT_EQ(table.next_used(first + 201 * kChunkPages, end), end);
  EXPECT_EQ(table.next_used(first, first + 70 * kChunkPages), first + 70 * kChunkPages);
}
