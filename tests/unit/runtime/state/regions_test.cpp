// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/regions.h"

#include <gtest/gtest.h>

using namespace pagecast;

namespace {
PagedRegion make(uint64_t base, uint64_t bytes, uint32_t slot) {
  PagedRegion r;
  r.base = base;
  r.bytes = bytes;
  r.first_slot = slot;
  return r;
}
} // namespace

TEST(Regions, FindsByAddress) {
  static PagedRegions table;
  ASSERT_TRUE(table.start());
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t k = i * 7919 % 1000; // out of order
    ASSERT_TRUE(table.insert(make(0x100000 * (k + 1), 0x80000, static_cast<uint32_t>(k * 256))));
  }
  for (uint64_t k = 0; k < 1000; ++k) {
    PagedRegion *r = table.find(0x100000 * (k + 1) + 0x7ffff);
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(r->first_slot, k * 256);
    EXPECT_EQ(table.find(0x100000 * (k + 1) + 0x80000), nullptr);
    EXPECT_EQ(table.look_up(0x100000 * (k + 1)).bytes, 0x80000u);
  }
  EXPECT_EQ(table.look_up(0).bytes, 0u);
}

TEST(Regions, CutLeavesBothEndsWithTheirSlots) {
  static PagedRegions table;
  ASSERT_TRUE(table.start());
  ASSERT_TRUE(table.insert(make(0x100000, 0x100000, 256)));
  ASSERT_TRUE(table.insert(make(0x300000, 0x100000, 512)));
  table.cut(0x140000, 0x150000, 12);
  ASSERT_EQ(table.count(), 3u);
  EXPECT_EQ(table.find(0x140000), nullptr);
  EXPECT_EQ(table.find(0x13ffff)->bytes, 0x40000u);
  EXPECT_EQ(table.find(0x150000)->first_slot, 256u + 0x50);
  table.cut(0x0, 0x380000, 12); // the rest of the first, half of the second
  ASSERT_EQ(table.count(), 1u);
  EXPECT_EQ(table[0].base, 0x380000u);
  EXPECT_EQ(table[0].first_slot, 512u + 0x80);
}

TEST(Regions, GrowUpwards) {
  static PagedRegions table;
  ASSERT_TRUE(table.start());
  ASSERT_TRUE(table.insert(make(0x100000, 0x100000, 256)));
  table.grow(*table.find(0x100000), 0x80000);
  ASSERT_EQ(table.count(), 1u);
  EXPECT_EQ(table.look_up(0x27ffff).base, 0x100000u);
  EXPECT_EQ(table.look_up(0x280000).bytes, 0u);
}
