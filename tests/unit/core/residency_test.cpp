// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/residency.h"
#include "tests/unit/core/shapes.h"
#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

Extent pages(uint64_t first, uint64_t n) { return {kBase + first * kPage, kBase + (first + n) * kPage}; }

TEST(Residency, LayoutIsBitsOfBytes) {
  alignas(8) uint8_t bits[16] = {};
  ResidencyMap map;
  map.attach(bits, 12, 0, 128);
  map.set({9 * 4096, 11 * 4096});
  map.set({127 * 4096, 128 * 4096});
  EXPECT_EQ(bits[1], 0x06);
  EXPECT_EQ(bits[15], 0x80);
  EXPECT_EQ(map.origin(), bits);
}

TEST(Residency, OutsideReadsAsResident) {
  SmallMap m(64);
  EXPECT_TRUE(m.map.test(0));
  EXPECT_TRUE(m.map.test(~uint64_t{0}));
  EXPECT_FALSE(m.map.test(kBase));
  EXPECT_TRUE(m.map.next_absent({0, kPage * 100}, ~uint64_t{0}).empty());
  m.map.set({0, ~uint64_t{0}}); // clipped
  EXPECT_EQ(m.map.count({0, ~uint64_t{0}}), 128u);
  const Extent over = {kBase + 63 * kPage, kBase + 1000 * kPage};
  m.map.clear(over);
  EXPECT_EQ(m.map.next_absent(over, ~uint64_t{0}).size(), kPage);
}

TEST(Residency, PartOfAPageIsThePage) {
  SmallMap m(64);
  m.map.set({kBase + 5, kBase + 6});
  EXPECT_TRUE(m.map.test(kBase + 4095));
  EXPECT_FALSE(m.map.test(kBase + 4096));
  m.map.set({kBase + kPage, kBase + kPage});
  EXPECT_FALSE(m.map.test(kBase + kPage)) << "empty extents set nothing";
}

TEST(Residency, RunsAreMaximalAndLimited) {
  SmallMap m(256);
  m.map.set(pages(0, 100));
  m.map.set(pages(170, 1));
  Extent e = m.map.next_absent(pages(0, 200), ~uint64_t{0});
  EXPECT_EQ(e.begin, pages(100, 0).begin);
  EXPECT_EQ(e.size(), 70 * kPage);
  e = m.map.next_absent(pages(0, 200), 3 * kPage);
  EXPECT_EQ(e.size(), 3 * kPage);
  EXPECT_EQ(m.map.next_absent(pages(120, 1), 0).size(), kPage) << "at least one page";
}

TEST(Residency, AgreesWithANaiveMap) {
  constexpr uint64_t n = 700;
  SmallMap m(n / 2 / 64 * 64);
  const uint64_t half = n / 2 / 64 * 64, total = 2 * half;
  std::vector<bool> naive(total);
  std::mt19937_64 r(1);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t begin = r() % total, count = r() % (r() % 4 ? 9 : 200);
    const Extent e{kBase - half * kPage + begin * kPage, kBase - half * kPage + (begin + count) * kPage};
    const uint64_t end = std::min(begin + count, total);
    if (r() % 2) {
      m.map.set(e);
      std::fill(naive.begin() + long(begin), naive.begin() + long(end), true);
    } else {
      m.map.clear(e);
      std::fill(naive.begin() + long(begin), naive.begin() + long(end), false);
    }
    const uint64_t from = r() % total, to = from + r() % (total - from + 1), room = 1 + r() % 100;
    uint64_t first = from;
    while (first < to && naive[first]) ++first;
    uint64_t last = first;
    while (last < to && !naive[last] && last - first < room) ++last;
    const Extent within{kBase - half * kPage + from * kPage, kBase - half * kPage + to * kPage};
    const Extent got = m.map.next_absent(within, room * kPage);
    ASSERT_EQ(got.size(), (last - first) * kPage);
    if (first < to) { ASSERT_EQ(got.begin, kBase - half * kPage + first * kPage); }
    ASSERT_EQ(m.map.count(within), uint64_t(std::count(naive.begin() + long(from), naive.begin() + long(to), true)));
  }
}

} // namespace
} // namespace pagecast::core::test
