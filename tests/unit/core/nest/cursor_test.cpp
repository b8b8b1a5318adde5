// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/cursor.h"
#include "tests/unit/core/shapes.h"
#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

TEST(Cursor, TheLastStripOfAnExecutionIsShorter) {
  const Shape s = nest_of({3, 150}, {array(kBase, {1200, 8})});
  Cursor c;
  c.start(s, 64);
  EXPECT_EQ(c.steps(), 9u);
  uint64_t iterations = 0;
  for (; !c.at_end(); c.next()) {
    EXPECT_EQ(c.index(0), c.position() / 3);
    EXPECT_EQ(c.first(), c.position() % 3 * 64);
    EXPECT_EQ(c.count(), c.position() % 3 == 2 ? 22u : 64u);
    iterations += c.count();
  }
  EXPECT_EQ(iterations, 450u);
  c.next();
  EXPECT_EQ(c.position(), 9u) << "the end is the end";
}

TEST(Cursor, SeekAgreesWithNext) {
  std::mt19937_64 r(4);
  for (int i = 0; i < 200; ++i) {
    const Shape s = random_shape(r);
    Cursor walker, jumper;
    walker.start(s, 64);
    jumper.start(s, 64);
    for (; !walker.at_end(); walker.next()) {
      jumper.seek(walker.position());
      for (unsigned k = 0; k <= s.ticked; ++k) ASSERT_EQ(walker.index(k), jumper.index(k));
    }
  }
}

TEST(Cursor, ZeroTripsAreZeroSteps) {
  for (unsigned zero = 0; zero < 3; ++zero) {
    Shape s = nest_of({4, 5, 6}, {array(kBase, {0, 0, 8})});
    s.trips[zero] = 0;
    Cursor c;
    c.start(s, 64);
    EXPECT_EQ(c.steps(), 0u);
    EXPECT_TRUE(c.at_end());
    c.seek(7);
    EXPECT_EQ(c.position(), 0u);
  }
}

TEST(Cursor, HugeTripsSaturate) {
  const Shape s = nest_of({uint64_t{1} << 63, uint64_t{1} << 63}, {array(kBase, {1 << 20, 8})});
  Cursor c;
  c.start(s, 64);
  EXPECT_EQ(c.steps(), ~uint64_t{0});
  c.seek((uint64_t{1} << 57) + 3);
  EXPECT_EQ(c.index(0), 1u);
  EXPECT_EQ(c.first(), 3u * 64);
}

TEST(Cursor, AColumnWalkIsOneExtentPerRow) {
  const Shape s = nest_of({10, 128}, {array(kBase, {8, 1 << 20})});
  Cursor c;
  c.start(s, 64);
  std::vector<Extent> extents;
  c.for_each_extent(s.group[0], kPage, [&](Extent e) { extents.push_back(e); });
  ASSERT_EQ(extents.size(), 64u);
  EXPECT_EQ(extents[63].begin, kBase + (63u << 20));
  EXPECT_EQ(extents[63].size(), kPage);
}

TEST(Cursor, WideningStopsAtTheEdgeOfTheArray) {
  const Shape s = nest_of({1536, 128}, {array(kBase + 3 * kPage, {8, 1 << 20})}); // three pages of each row
  Cursor c;
  c.start(s, 64);
  const Extent wide = c.widened(s.group[0], {kBase + 3 * kPage, kBase + 4 * kPage}, 0, 16 * kPage, kPage);
  EXPECT_EQ(wide.begin, kBase + 3 * kPage) << "nothing of the row lies before";
  EXPECT_LE(wide.end, kBase + 6 * kPage);
  EXPECT_GE(wide.size(), 2 * kPage);
}

TEST(Cursor, WideningLeavesWhatLiesBehindAlone) {
  const Extent e{kBase + 5 * kPage, kBase + 6 * kPage};
  for (const int64_t stride : {4096, -4096}) {
    const Shape s = nest_of({64, 128}, {array(kBase, {stride, 1 << 20})});
    Cursor c;
    c.start(s, 64);
    const Extent wide = c.widened(s.group[0], e, 0, 16 * kPage, kPage);
    EXPECT_EQ(wide.begin, stride > 0 ? e.begin : kBase);
    EXPECT_EQ(wide.end, stride > 0 ? kBase + 16 * kPage : e.end);
  }
}

} // namespace
} // namespace pagecast::core::test
