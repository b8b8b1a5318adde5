// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/guards.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace pagecast;

TEST(Guards, HoldsWhatWasAddedAndNotRemoved) {
  static GuardTable table;
  EXPECT_FALSE(table.holds(0));
  table.remove(0, ~0ull); // of nothing
  table.add(0x1000, 0x3000);
  EXPECT_FALSE(table.holds(0xfff));
  EXPECT_TRUE(table.holds(0x1000));
  EXPECT_TRUE(table.holds(0x2fff));
  EXPECT_FALSE(table.holds(0x3000));
  table.remove(0x1800, 0x2000); // in the middle
  EXPECT_EQ(table.ranges(), 2u);
  EXPECT_TRUE(table.holds(0x17ff));
  EXPECT_FALSE(table.holds(0x1800));
  EXPECT_TRUE(table.holds(0x2000));
  EXPECT_FALSE(table.overlaps(0x1800, 0x2000));
  EXPECT_TRUE(table.overlaps(0x1800, 0x2001));
  table.add(0x2000, 0x2000); // empty
  table.remove(0x1000, 0x1000);
  EXPECT_EQ(table.ranges(), 2u);
}

TEST(Guards, NeighboursBecomeOne) {
  static GuardTable table;
  table.add(0x3000, 0x4000);
  table.add(0x1000, 0x2000);
  table.add(0x2000, 0x3000);
  EXPECT_EQ(table.ranges(), 1u);
  table.add(0x6000, 0x7000);
  table.add(0x0, 0x8000); // covers all
  EXPECT_EQ(table.ranges(), 1u);
  table.remove(0x0, 0x8000);
  EXPECT_EQ(table.ranges(), 0u);
}

TEST(Guards, AgreesWithABitPerPage) {
  static GuardTable table;
  constexpr unsigned kPages = 512;
  std::vector<bool> model(kPages);
  std::mt19937 random(7);
  for (unsigned i = 0; i < 20000; ++i) {
    const unsigned first = random() % kPages, n = random() % 24, end = std::min(first + n, kPages);
    const bool add = random() % 2;
    if (add) table.add(first * 4096ull, end * 4096ull);
    else table.remove(first * 4096ull, end * 4096ull);
    std::fill(model.begin() + first, model.begin() + end, add);
    unsigned ranges = 0;
    for (unsigned p = 0; p < kPages; ++p) {
      ASSERT_EQ(table.holds(p * 4096ull + 17), model[p]) << "operation " << i << ", page " << p;
      ranges += model[p] && (p == 0 || !model[p - 1]);
    }
    ASSERT_EQ(table.ranges(), ranges);
  }
}

TEST(Guards, HoldsEverythingOnceRangesAreMissing) {
  static GuardTable table;
  for (uint64_t i = 0; i < 70000; ++i) table.add(i * 0x2000, i * 0x2000 + 0x1000);
  EXPECT_TRUE(table.holds(0x1000));
}
