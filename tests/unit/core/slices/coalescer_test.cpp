// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/slices/coalescer.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace pagecast::core {
namespace {

constexpr uint64_t kPage = 4096, kEnough = 64 * kPage;

Extent pages(uint64_t first, uint64_t count) { return {first * kPage, (first + count) * kPage}; }

class LotsTest : public testing::Test {
protected:
  LotsTest() { coalescer.start(kEnough); }

  /// True: `out` is to be asked for.
  bool add(uint64_t first, uint64_t count, uint64_t since = 0, bool write = false, unsigned group = 0) {
    return coalescer.add({pages(first, count), since, group, write}, &out);
  }
  std::vector<Extent> taken(uint64_t by) {
    std::vector<Extent> all;
    coalescer.take(by, [&](const Coalescer::Request &request) { return all.push_back(request.extent), true; });
    return all;
  }
  static void expect_same(const std::vector<Extent> &a, const std::vector<Extent> &b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].begin / kPage, b[i].begin / kPage);
      EXPECT_EQ(a[i].end / kPage, b[i].end / kPage);
    }
  }

  Coalescer coalescer;
  Coalescer::Request out;
};

TEST_F(LotsTest, LinesFillTheGapsBetweenTheirFirstBlocks) {
  for (uint64_t line = 0; line < 10; ++line) EXPECT_FALSE(add(100 + 3 * line, 1));
  for (uint64_t line = 0; line < 10; ++line) EXPECT_FALSE(add(100 + 3 * line, 3));
  expect_same(taken(0), {pages(100, 30)});
  EXPECT_TRUE(coalescer.empty());
}

TEST_F(LotsTest, WhatIsLargeEnoughIsAskedForAtOnce) {
  EXPECT_FALSE(add(0, 40));
  EXPECT_FALSE(add(500, 1));
  EXPECT_TRUE(add(40, 24));
  EXPECT_EQ(out.extent.end, 64 * kPage);
  expect_same(taken(0), {pages(500, 1)});
}

TEST_F(LotsTest, APieceThatClosesAGapJoinsBothSides) {
  add(10, 2, 5);
  add(14, 2, 3);
  add(12, 2, 9);
  EXPECT_EQ(coalescer.oldest(), 3u);
  expect_same(taken(3), {pages(10, 6)});
}

TEST_F(LotsTest, OnlyWhatIsDueIsTaken) {
  add(10, 1, 5);
  add(20, 1, 3);
  add(30, 1, 4);
  EXPECT_EQ(coalescer.oldest(), 3u);
  expect_same(taken(2), {});
  expect_same(taken(4), {pages(20, 1), pages(30, 1)});
  expect_same(taken(~0ull), {pages(10, 1)});
  EXPECT_EQ(coalescer.oldest(), ~0ull);
}

TEST_F(LotsTest, ReadsAndWritesStayApart) {
  add(10, 2, 0, false);
  add(12, 2, 0, true);
  add(14, 2, 0, false);
  expect_same(taken(0), {pages(10, 2), pages(12, 2), pages(14, 2)});
}

TEST_F(LotsTest, BelongsToItsLargestPart) {
  add(10, 2, 0, false, 7);
  add(12, 9, 0, false, 8);
  add(9, 1, 0, false, 9);
  coalescer.take(0, [](const Coalescer::Request &request) {
    EXPECT_EQ(request.group, 8u);
    return true;
  });
}

TEST_F(LotsTest, TheOldestMakesRoom) {
  for (uint64_t i = 0; i < Coalescer::kMost; ++i) EXPECT_FALSE(add(10 * i, 1, i == 77 ? 1 : 2));
  EXPECT_TRUE(add(100000, 1, 2));
  EXPECT_EQ(out.extent.begin, 770 * kPage);
  EXPECT_EQ(taken(2).size(), Coalescer::kMost);
}

TEST_F(LotsTest, WhoWantsNoMoreForgetsTheRest) {
  for (uint64_t i = 0; i < 5; ++i) add(10 * i, 1, i);
  unsigned asked = 0;
  EXPECT_FALSE(coalescer.take(3, [&](const Coalescer::Request &) { return ++asked < 2; }));
  EXPECT_EQ(asked, 2u);
  expect_same(taken(~0ull), {pages(40, 1)});
}

/// Every page that was added comes out, and with the kind that it was added with; no others do.
TEST_F(LotsTest, NothingIsLostOrMadeUp) {
  std::mt19937_64 random(1);
  std::map<uint64_t, unsigned> in, got; // page: 1 read, 2 written
  const auto note = [](std::map<uint64_t, unsigned> &to, const Extent &e, bool write) {
    for (uint64_t p = e.begin / kPage; p < e.end / kPage; ++p) to[p] |= write ? 2 : 1;
  };
  uint64_t joined = 0;
  for (unsigned n = 0; n < 20000; ++n) {
    const uint64_t first = random() % 20000, count = 1 + random() % 8;
    const bool write = random() & 1;
    note(in, pages(first, count), write);
    if (add(first, count, n, write)) note(got, out.extent, out.write), joined += out.extent.size() > 8 * kPage;
    if (random() % 600 == 0)
      coalescer.take(n - random() % 100,
                     [&](const Coalescer::Request &request) { return note(got, request.extent, request.write), true; });
  }
  coalescer.take(~0ull, [&](const Coalescer::Request &request) { return note(got, request.extent, request.write), true; });
  EXPECT_EQ(in, got);
  EXPECT_GT(joined, 50u);
}

} // namespace
} // namespace pagecast::core
