// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/faults/store_predictor.h"

#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

/// Loads of pages one after the other, of which stores follow on those that `is_stored` says. Returns how many were mapped
/// writable.
template <typename Stored> uint32_t run(StorePredictor &predictor, uint32_t loads, Stored is_stored) {
  uint32_t writable = 0;
  for (uint32_t page = 0; page < loads; ++page) {
    const bool expected = predictor.expected();
    predictor.loaded(page, expected);
    writable += expected;
    if (!expected && is_stored(page)) predictor.stored(page);
  }
  return writable;
}

TEST(StorePredictor, StoresThatFollowLoadsAreExpected) {
  StorePredictor predictor;
  EXPECT_EQ(run(predictor, 56, [](uint32_t) { return true; }), 0u);
  EXPECT_EQ(run(predictor, 1600, [](uint32_t) { return true; }), 1500u) << "but for the probes";
}

TEST(StorePredictor, LoadsAloneAreNot) {
  StorePredictor predictor;
  EXPECT_EQ(run(predictor, 10000, [](uint32_t) { return false; }), 0u);
}

TEST(StorePredictor, ThreeInFourAreNotEnough) {
  StorePredictor predictor;
  EXPECT_EQ(run(predictor, 10000, [](uint32_t page) { return page % 4 != 0; }), 0u);
}

TEST(StorePredictor, AChangeIsSeenByProbes) {
  StorePredictor predictor;
  run(predictor, 2000, [](uint32_t) { return true; });
  const uint32_t wrong = run(predictor, 10000, [](uint32_t) { return false; });
  EXPECT_GT(wrong, 0u);
  EXPECT_LE(wrong, 500u);
  EXPECT_GT(run(predictor, 2000, [](uint32_t) { return true; }), 1700u) << "and back";
}

TEST(StorePredictor, StoresThatComeLateAreNotSeen) {
  StorePredictor predictor;
  for (uint32_t page = 0; page < 1000; ++page) {
    ASSERT_FALSE(predictor.expected());
    predictor.loaded(page, false);
    if (page >= StorePredictor::kLately) predictor.stored(page - StorePredictor::kLately);
  }
}

TEST(StorePredictor, StoresToOtherPagesSayNothing) {
  StorePredictor predictor;
  for (uint32_t page = 0; page < 1000; ++page) {
    ASSERT_FALSE(predictor.expected());
    predictor.loaded(page, false);
    predictor.stored(page + 5000);
  }
}

} // namespace
} // namespace pagecast::core::test
