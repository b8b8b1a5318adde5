// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages over several stores, in proportion to their rates, and where a store refuses; and the option that names them.
#include "runtime/store/stripes.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>

using namespace pagecast;

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kBoth = 3;

/// One request of `bytes` that took so long.
void moved(Stripes &s, unsigned store, uint64_t bytes, uint64_t ns) {
  s.began(store, 1);
  s.ended(store, bytes, 1 + ns);
}

std::unique_ptr<Stripes> over(unsigned stores) {
  auto s = std::make_unique<Stripes>();
  EXPECT_EQ(s->start(stores), 0);
  return s;
}

} // namespace

TEST(Stripes, AreEqualWhileNoRateIsKnown) {
  auto s = over(3);
  for (uint32_t i = 0; i < 300; ++i) s->choose(i * Stripes::kPages, Stripes::kPages, 7);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(s->stripes(i), 100u);
}

TEST(Stripes, FollowMeasuredRates) {
  auto s = over(2);
  moved(*s, 0, 10 << 20, 100 * kMs);
  EXPECT_GT(s->rate(0), 0u);
  moved(*s, 1, 30 << 20, 100 * kMs);
  for (uint32_t i = 0; i < 400; ++i) s->choose(i * Stripes::kPages, Stripes::kPages, kBoth);
  EXPECT_NEAR(static_cast<double>(s->stripes(0)), 100, 2);
  EXPECT_NEAR(static_cast<double>(s->stripes(1)), 300, 2);
}

TEST(Stripes, TimeWithoutRequestsDoesNotCount) {
  auto s = over(2);
  for (uint64_t i = 0; i < 10; ++i) {
    s->began(0, i * 1000 * kMs);
    s->ended(0, 1 << 20, i * 1000 * kMs + 10 * kMs);
  }
  EXPECT_NEAR(static_cast<double>(s->rate(0)), 100 << 20, 1 << 20);
}

TEST(Stripes, StayWhereTheyAreUntilTheyAreWrittenAsAWhole) {
  auto s = over(2);
  for (uint32_t i = 0; i < 400; ++i) s->choose(i * Stripes::kPages, Stripes::kPages, kBoth);
  moved(*s, 0, 10 << 20, 100 * kMs);
  moved(*s, 1, 30 << 20, 100 * kMs);
  const unsigned first = s->choose(0, 1, kBoth);
  for (uint32_t i = 0; i < 400; ++i) s->choose(i * Stripes::kPages + 5, 1, kBoth);
  EXPECT_EQ(s->stripes(0), 200u) << "a part of a stripe does not move";
  EXPECT_EQ(s->choose(7, 3, kBoth), first);
  for (uint32_t i = 0; i < 400; ++i) s->choose(i * Stripes::kPages, Stripes::kPages, kBoth);
  EXPECT_LT(s->stripes(0), 120u);
}

TEST(Stripes, GoElsewhereWhileAStoreRefuses) {
  auto s = over(2);
  EXPECT_EQ(s->choose(0, 1, 1), 0u);
  EXPECT_EQ(s->choose(0, 1, 2), 1u) << "also those that were there";
  EXPECT_EQ(s->choose(0, 1, kBoth), 1u);
  EXPECT_EQ(s->stripes(0), 0u);
}

TEST(StoreList, IsSplitAtCommas) {
  StoreList l;
  ASSERT_TRUE(l.read(nullptr));
  EXPECT_EQ(l.count(), 1u);
  EXPECT_EQ(l[0], nullptr);
  ASSERT_TRUE(l.read("/a,/b,,/c"));
  ASSERT_EQ(l.count(), 3u);
  EXPECT_STREQ(l[0], "/a");
  EXPECT_STREQ(l[2], "/c");
  l.drop(1);
  EXPECT_STREQ(l[1], "/c");
  EXPECT_FALSE(l.read(","));
  EXPECT_FALSE(l.read("/1,/2,/3,/4,/5,/6,/7,/8,/9"));
  EXPECT_FALSE(l.read(std::string(5000, 'x').c_str()));
}
