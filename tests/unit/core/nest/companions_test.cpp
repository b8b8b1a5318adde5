// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/companions.h"

#include <gtest/gtest.h>

#include <vector>

namespace pagecast::core::test {
namespace {

constexpr uint64_t kNear = 1ull << 30, kFar = 2ull << 30, kNearSlope = 3ull << 30, kFarSlope = 4ull << 30, kBytes = 2400;
const char kFirst = 0, kSecond = 0; // nests, by their addresses

Row row(uint64_t array, uint64_t number, bool write = false) {
  return {{array + number * kBytes, array + (number + 1) * kBytes}, write};
}

/// Records of two rows, over which two nests go: the first over `near` and `far`, the second over their slopes besides.
struct Records {
  std::vector<Row> first(uint64_t a, uint64_t b) { return {row(kNear, a), row(kFar, b)}; }
  void turn(uint64_t a, uint64_t b) {
    const std::vector<Row> rows = first(a, b);
    const std::vector<Row> others = {row(kNear, a, true), row(kFar, b, true), row(kNearSlope, a, true), row(kFarSlope, b, true)};
    companions.followed(rows.data(), 2, &kSecond, others.data(), 4);
  }
  std::vector<uint64_t> asked(uint64_t a, uint64_t b) {
    std::vector<uint64_t> begins;
    const std::vector<Row> rows = first(a, b);
    companions.for_each(rows.data(), 2, [&](const Row &r) {
      EXPECT_TRUE(r.write);
      EXPECT_EQ(r.extent.size(), kBytes);
      begins.push_back(r.extent.begin);
    });
    std::sort(begins.begin(), begins.end());
    return begins;
  }
  Companions companions;
};

TEST(Companions, RowsAtAConstantDistanceAreForeseenAfterSomeTimes) {
  Records records;
  for (uint64_t t = 0; t < Companions::kSure; ++t) {
    EXPECT_TRUE(records.asked(7, 9).empty()) << "after " << t;
    records.turn(t * 5 % 11, t * 7 % 13);
  }
  EXPECT_EQ(records.asked(100, 30),
            (std::vector<uint64_t>{kNear + 100 * kBytes, kFar + 30 * kBytes, kNearSlope + 100 * kBytes, kFarSlope + 30 * kBytes}))
      << "its own rows for stores, and neither far's from near nor near's from far, whose distances change";
}

TEST(Companions, OneDistanceThatFailsIsForgottenAndTheOthersStay) {
  Records records;
  for (uint64_t t = 0; t < 10; ++t) records.turn(t * 5 % 11, t * 7 % 13);
  const std::vector<Row> rows = records.first(1, 2), others = {row(kNearSlope, 5, true), row(kFarSlope, 2, true)};
  records.companions.followed(rows.data(), 2, &kSecond, others.data(), 2);
  EXPECT_EQ(records.asked(100, 30), (std::vector<uint64_t>{kFarSlope + 30 * kBytes}));
}

TEST(Companions, RowsThatTheNextNestOnlyReadsAreNotAskedForTwice) {
  Companions companions;
  for (uint64_t t = 0; t < 10; ++t) {
    const Row own[] = {row(kNear, t * 5 % 11), row(kFar, t * 7 % 13, true)},
              next[] = {row(kNear, t * 5 % 11), row(kFar, t * 7 % 13)};
    companions.followed(own, 2, &kSecond, next, 2);
  }
  const Row own[] = {row(kNear, 3), row(kFar, 5, true)};
  companions.for_each(own, 2, [](const Row &) { ADD_FAILURE(); });
}

TEST(Companions, AnotherNestSaysNothingOfTheOnesBefore) {
  Records records;
  for (uint64_t t = 0; t < 10; ++t) records.turn(t * 5 % 11, t * 7 % 13);
  const std::vector<Row> rows = records.first(1, 2), others = {row(kFarSlope, 77)};
  records.companions.followed(rows.data(), 2, &kFirst, others.data(), 1);
  EXPECT_EQ(records.asked(100, 30).size(), 4u);
}

TEST(Companions, RowsInNoOrderAreNotForeseen) {
  Records records;
  uint64_t random = 1;
  for (uint64_t t = 0; t < 1000; ++t) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const Row own = row(kNear, random >> 40), other = row(kFar, random >> 20 & 0xffff);
    records.companions.followed(&own, 1, &kSecond, &other, 1);
    EXPECT_TRUE(records.asked(1, 2).empty());
  }
}

} // namespace
} // namespace pagecast::core::test
