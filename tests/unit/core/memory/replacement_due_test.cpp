// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Released pages of which a next use is expected.
#include "core/memory/replacement.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

namespace pagecast::core::test {
namespace {

using Order = std::vector<uint32_t>;

struct Slots {
  explicit Slots(uint32_t n) : links(n) {
    order.attach(links.data(), n);
    for (uint32_t i = 0; i < n; ++i) order.insert_active(i);
  }
  Order pop(uint32_t max) {
    Order out(max);
    out.resize(order.pop_victims(out.data(), max));
    return out;
  }
  std::vector<Replacement::Link> links;
  Replacement order;
};

TEST(ReplacementDue, TheOneWantedLastGoesFirst) {
  Slots s(8);
  s.order.set_now(100);
  s.order.release_until(0, 105);
  s.order.release_until(1, 120);
  s.order.release_until(2, 101);
  s.order.release(3, 0);
  s.order.release(4, 1);
  s.order.release_until(5, 120);
  EXPECT_TRUE(s.order.is_valid());
  EXPECT_EQ(s.pop(8), (Order{3, 5, 1, 0, 2, 4, 6, 7}));
}

TEST(ReplacementDue, WhatDidNotComeInTimeGoesBeforeWhatIsYetToCome) {
  Slots s(4);
  s.order.set_now(100);
  s.order.release_until(0, 102);
  s.order.release_until(1, 140);
  s.order.set_now(103);
  EXPECT_EQ(s.pop(2), (Order{0, 1}));
}

TEST(ReplacementDue, TheDistantFutureIsAllOne) {
  Slots s(4);
  s.order.release_until(0, 1000);
  s.order.release_until(1, Replacement::kDues);
  s.order.release_until(2, Replacement::kDues - 2);
  EXPECT_EQ(s.pop(3), (Order{1, 0, 2}));
}

TEST(ReplacementDue, WhatCouldNotBeCleanedGoesBackToItsPlace) {
  Slots s(5);
  s.order.set_now(100);
  s.order.release_until(0, 120, true);
  s.order.release_until(1, 110, true);
  s.order.release_until(2, 105, false);
  uint32_t out[2];
  ASSERT_EQ(s.order.clean(out, 2), 2u);
  EXPECT_EQ(s.order.released_clean(), 3u);
  s.order.not_cleaned(1);
  s.order.not_cleaned(4); // active: nothing to go back to
  EXPECT_EQ(s.order.released_clean(), 2u);
  EXPECT_TRUE(s.order.is_valid());
  EXPECT_EQ(s.pop(4), (Order{0, 1, 2, 3}));
}

TEST(ReplacementDue, CleaningLeavesAloneWhatIsWantedSoon) {
  Slots s(6);
  s.order.release_until(0, 3, true);
  s.order.release_until(1, 9, true);
  s.order.release_until(2, 20, true);
  s.order.release(3, 0, true);
  uint32_t out[6];
  ASSERT_EQ(s.order.clean(out, 6, 8), 3u);
  EXPECT_EQ((Order{out[0], out[1], out[2]}), (Order{3, 2, 1}));
  EXPECT_EQ(s.order.released_clean(), 3u);
  EXPECT_TRUE(s.order.is_valid());
  EXPECT_EQ(s.order.clean(out, 6), 1u);
}

TEST(ReplacementDue, StaysValidUnderAnything) {
  Slots s(64);
  std::mt19937_64 r(3);
  uint64_t now = 0;
  for (int i = 0; i < 50000; ++i) {
    const auto slot = uint32_t(r() % 64);
    switch (r() % 8) {
    case 0: s.order.set_now(now += r() % 4); break;
    case 1: s.order.touch(slot); break;
    case 2: s.order.release(slot, unsigned(r() % 9), r() % 2); break;
    case 3: s.pop(uint32_t(r() % 3)); break;
    case 4: {
      uint32_t out[4];
      s.order.clean(out, 4, now + r() % 60);
      break;
    }
    case 5: s.order.new_generation(); break;
    default: s.order.release_until(slot, now + r() % 100, r() % 2);
    }
    if (i % 16 == 0) { ASSERT_TRUE(s.order.is_valid()); }
  }
}

} // namespace
} // namespace pagecast::core::test
