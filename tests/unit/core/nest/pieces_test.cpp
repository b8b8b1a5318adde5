// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/pieces.h"
#include "tests/unit/core/shapes.h"
#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

Pieces pieces_of(const Shape &s, unsigned group = 0) {
  Pieces p;
  p.set(s.group[group], s.group[group].base + uint64_t(s.group[group].lo), s.trips, 0, s.loops, kPage);
  return p;
}

std::set<uint64_t> pages_of(const Pieces &p) {
  std::set<uint64_t> pages;
  for (uint64_t i = 0; i < p.size(); ++i)
    for (Addr a = p.at(i).begin; a < p.at(i).end; a += kPage) pages.insert(a / kPage);
  return pages;
}

TEST(Pieces, ContiguousLoopsMakeOnePiece) {
  const Pieces p = pieces_of(nest_of({10, 1024}, {array(kBase, {8192, 8})}));
  EXPECT_EQ(p.size(), 1u);
  EXPECT_EQ(p.span(), 10u * 8192);
}

TEST(Pieces, AGapOfLessThanAPageIsNoGap) {
  EXPECT_EQ(pieces_of(nest_of({10, 512}, {array(kBase, {8000, 8})})).size(), 1u);
  EXPECT_EQ(pieces_of(nest_of({10, 512}, {array(kBase, {12000, 8})})).size(), 10u);
}

TEST(Pieces, NegativeStridesAreTheSamePages) {
  const Pieces up = pieces_of(nest_of({10, 512}, {array(kBase, {12000, 8})}));
  const Pieces down = pieces_of(nest_of({10, 512}, {array(kBase + 9 * 12000 + 511 * 8, {-12000, -8})}));
  EXPECT_EQ(pages_of(up), pages_of(down));
}

TEST(Pieces, WalksInTheSameStepsMerge) {
  const Pieces p = pieces_of(nest_of({10, 3}, {array(kBase, {100000, 100000})})); // a[i + k]
  EXPECT_EQ(p.size(), 12u);
}

TEST(Pieces, EmptyAndAbsurdOnesAreNone) {
  EXPECT_EQ(pieces_of(nest_of({0, 10}, {array(kBase, {4096, 8})})).size(), 0u);
  EXPECT_EQ(pieces_of(nest_of({uint64_t{1} << 63}, {array(kBase, {8})})).size(), 0u);
  EXPECT_EQ(pieces_of(nest_of({~uint64_t{0}, ~uint64_t{0}}, {array(kBase, {INT64_MIN, INT64_MAX})})).size(), 0u);
  EXPECT_EQ(pieces_of(nest_of({5}, {array(kBase, {8}, 0)})).size(), 0u);
  EXPECT_EQ(pieces_of(nest_of({1 << 20}, {array(kBase, {1 << 20})})).size(), kMaxPieces);
}

TEST(Pieces, AgreeWithBruteForce) {
  std::mt19937_64 r(2);
  for (int i = 0; i < 3000; ++i) {
    const Shape s = random_shape(r);
    std::set<uint64_t> expected;
    touch_all(s, s.group[0], 0, s.group[0].base + uint64_t(s.group[0].lo), &expected);
    const Pieces p = pieces_of(s);
    if (p.size() == kMaxPieces) continue;
    ASSERT_EQ(pages_of(p), expected) << "shape " << i;
    ASSERT_GE(p.footprint(), (expected.size() ? expected.size() - p.size() : 0) * kPage);
  }
}

TEST(Pieces, FirstOverlapIsTheFirst) {
  std::mt19937_64 r(3);
  for (int i = 0; i < 2000; ++i) {
    const Shape s = random_shape(r);
    const Pieces p = pieces_of(s);
    if (p.size() == 0 || p.size() == kMaxPieces) continue;
    const auto pages = pages_of(p);
    for (int j = 0; j < 20; ++j) {
      const uint64_t first = *pages.begin() + r() % (*pages.rbegin() - *pages.begin() + 3) - 1, n = 1 + r() % 20;
      const Extent got = p.first_overlap({first * kPage, (first + n) * kPage});
      const auto it = pages.lower_bound(first);
      const bool any = it != pages.end() && *it < first + n;
      ASSERT_EQ(!got.empty(), any) << "shape " << i;
      if (any) { ASSERT_EQ(std::max(got.begin / kPage, first), *it) << "shape " << i; }
    }
  }
}

TEST(Pieces, FirstOverlapBehindTheEndOfAnInnerWalk) {
  const Pieces p = pieces_of(nest_of({4, 3}, {array(kBase, {1 << 20, 16384})}));
  ASSERT_EQ(p.size(), 12u);
  EXPECT_EQ(p.first_overlap({kBase + 3 * 16384, kBase + (2 << 20)}).begin, kBase + (1 << 20));
  EXPECT_TRUE(p.first_overlap({kBase + 3 * 16384, kBase + (1 << 20)}).empty());
  EXPECT_TRUE(p.first_overlap({kBase + (3 << 20) + 3 * 16384, kBase + (9 << 20)}).empty());
}

TEST(Pieces, APieceThatEndsWhereTheRangeBeginsDoesNotOverlap) {
  const Pieces p = pieces_of(nest_of({4, 512}, {array(kBase, {1 << 20, 8})})); // whole pages
  EXPECT_EQ(p.first_overlap({kBase, kBase + kPage}).begin, kBase);
  EXPECT_TRUE(p.first_overlap({kBase + kPage, kBase + (1 << 20)}).empty());
  EXPECT_EQ(p.first_overlap({kBase + kPage, kBase + (2 << 20)}).begin, kBase + (1 << 20));
}

} // namespace
} // namespace pagecast::core::test
