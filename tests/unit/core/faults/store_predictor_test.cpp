// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/faults/store_predictor.h"

#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

/// Loads of pages one after the other, of which stores follow on those that `is_stored` says. Returns how many were mapped
/// writable.
template <typename Stored> uint32_t run(Updates &updates, uint32_t loads, Stored is_stored) {
  uint32_t writable = 0;
  for (uint32_t page = 0; page < loads; ++page) {
    const bool expected = updates.expected();
    updates.loaded(page, expected);
    writable += expected;
    if (!expected && is_stored(page)) updates.stored(page);
  }
  return writable;
}

TEST(Updates, StoresThatFollowLoadsAreExpected) {
  Updates updates;
  EXPECT_EQ(run(updates, 56, [](uint32_t) { return true; }), 0u);
  EXPECT_EQ(run(updates, 1600, [](uint32_t) { return true; }), 1500u) << "but for the probes";
}

TEST(Updates, LoadsAloneAreNot) {
  Updates updates;
  EXPECT_EQ(run(updates, 10000, [](uint32_t) { return false; }), 0u);
}

TEST(Updates, ThreeInFourAreNotEnough) {
  Updates updates;
  EXPECT_EQ(run(updates, 10000, [](uint32_t page) { return page % 4 != 0; }), 0u);
}

TEST(Updates, AChangeIsSeenByProbes) {
  Updates updates;
  run(updates, 2000, [](uint32_t) { return true; });
  const uint32_t wrong = run(updates, 10000, [](uint32_t) { return false; });
  EXPECT_GT(wrong, 0u);
  EXPECT_LE(wrong, 500u);
  EXPECT_GT(run(updates, 2000, [](uint32_t) { return true; }), 1700u) << "and back";
}

TEST(Updates, StoresThatComeLateAreNotSeen) {
  Updates updates;
  for (uint32_t page = 0; page < 1000; ++page) {
    ASSERT_FALSE(updates.expected());
    updates.loaded(page, false);
    if (page >= Updates::kLately) updates.stored(page - Updates::kLately);
  }
}

TEST(Updates, StoresToOtherPagesSayNothing) {
  Updates updates;
  for (uint32_t page = 0; page < 1000; ++page) {
    ASSERT_FALSE(updates.expected());
    updates.loaded(page, false);
    updates.stored(page + 5000);
  }
}

} // namespace
} // namespace pagecast::core::test
