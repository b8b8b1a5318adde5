// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/reference.h"
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace pagecast::core::test {
namespace {

using Blocks = std::set<uint64_t>;

/// The blocks of one interval, of a data set of so many blocks.
Blocks touched(const std::vector<Reference> &references, uint64_t k, uint64_t count, uint64_t block, uint64_t blocks = 4096) {
  std::vector<uint64_t> set(block_set_words(blocks));
  for (const Reference &r : references) insert_touched(r, interval_of(r, k, count), block, set.data(), set.size());
  Blocks out;
  for (uint64_t b = 0; (b = next_block(set.data(), set.size(), b)) < set.size() * 64; ++b) out.insert(b);
  return out;
}

Blocks range(uint64_t first, uint64_t end) {
  Blocks out;
  for (uint64_t b = first; b < end; ++b) out.insert(b);
  return out;
}

TEST(Reference, TheExampleOfTheHeader) {
  const Reference rows{0, 128 << 10, 1, {100}, {128 << 10}};
  EXPECT_EQ(touched({rows}, 2, 10, kStorageBlock), range(40, 60));
}

TEST(Reference, AnIntervalOfAClusterIsTheUnionOverItsMembers) {
  const Reference shared{0, 100, 1, {10}, {100}}, also = shared, own{5000, 100, 1, {10}, {100}};
  EXPECT_EQ(touched({shared, also}, 0, 2, 100), range(0, 5)) << "each block once";
  EXPECT_EQ(touched({shared, also, own}, 1, 2, 100), (Blocks{5, 6, 7, 8, 9, 55, 56, 57, 58, 59}));
}

TEST(Reference, LoopsThatHaveFewIterationsAreSharedOutWithThoseInside) {
  const Reference r{0, 10, 3, {1, 4, 10}, {7, 100, 10}};
  EXPECT_EQ(shared_iterations(r), 40u);
  EXPECT_EQ(touched({r}, 3, 4, 100), (Blocks{3}));
  EXPECT_EQ(touched({{250, 10, 1, {1}, {0}}}, 3, 4, 100), (Blocks{2})) << "nothing to share out";
  const Reference slabs{0, 8, 3, {7, 1000, 512}, {10'000 * 4096, 4096, 8}};
  EXPECT_EQ(shared_loops(slabs), 2u);
  EXPECT_EQ(shared_iterations(slabs), 7000u);
  EXPECT_EQ(touched({slabs}, 0, 14, 4096, 70'000), range(0, 500));
  EXPECT_EQ(touched({slabs}, 3, 14, 4096, 70'000), range(10'500, 11'000));
  Blocks expected;
  for (uint64_t b = 20'800; b < 21'000; ++b) expected.insert(b);
  for (uint64_t b = 30'000; b < 31'000; ++b) expected.insert(b);
  for (uint64_t b = 40'000; b < 40'200; ++b) expected.insert(b);
  EXPECT_EQ(touched({slabs}, 2, 5, 4096, 70'000), expected) << "the end of a slab, a whole one, and the beginning of the next";
  const Reference endless{0, 8, 2, {3, ~0ull}, {1 << 20, 8}};
  EXPECT_EQ(shared_loops(endless), 1u) << "their product cannot be counted";
}

TEST(Reference, WhatIsOutsideOfTheDataSetIsNobodys) {
  EXPECT_EQ(touched({{-150, 100, 1, {4}, {100}}}, 0, 1, 100, 64), (Blocks{0, 1, 2}));
  EXPECT_EQ(touched({{6300, 100, 1, {4}, {100}}}, 0, 1, 100, 64), (Blocks{63}));
  EXPECT_EQ(touched({{INT64_MAX - 50, 100, 2, {~0ull, ~0ull}, {INT64_MAX, 5}}}, 0, 1, 64, 64), Blocks());
  EXPECT_EQ(touched({{0, 100, 2, {3, 0}, {100, 100}}}, 0, 1, 100), Blocks()) << "a loop that does not run";
}

/// What the definition says, an iteration at a time.
Blocks by_definition(const Reference &r, Iterations shared, uint64_t block, uint64_t blocks) {
  Blocks out;
  uint64_t inner = 1, all = 1;
  for (uint32_t k = 0; k < r.loops; ++k) (k < shared_loops(r) ? all : inner) *= r.trips[k];
  for (uint64_t i = shared.begin * inner; i < shared.end * inner; ++i) {
    int64_t first = r.first;
    uint64_t left = i;
    for (uint32_t k = r.loops; k-- > 0; left /= r.trips[k]) first += r.stride[k] * int64_t(left % r.trips[k]);
    for (int64_t at = first; at < first + int64_t(r.span); ++at)
      if (at >= 0 && uint64_t(at) / block < blocks) out.insert(uint64_t(at) / block);
  }
  EXPECT_LE(shared.end, all);
  return out;
}

TEST(Reference, IsWhatTheDefinitionSays) {
  std::mt19937 random(32);
  const auto below = [&](int n) { return int(random() % unsigned(n)); };
  uint64_t apart = 0;
  for (int round = 0; round < 400; ++round) {
    Reference r;
    r.first = below(3000) - 200;
    r.span = uint64_t(1 + below(40));
    r.loops = uint32_t(1 + below(3));
    for (uint32_t k = 0; k < r.loops; ++k) {
      r.trips[k] = uint64_t(1 + below(7));
      r.stride[k] = below(5) ? below(900) - 300 : 0;
    }
    const uint64_t count = uint64_t(1 + below(5));
    for (uint64_t k = 0; k < count; ++k) {
      const Blocks expected = by_definition(r, interval_of(r, k, count), 64, 128);
      EXPECT_EQ(touched({r}, k, count, 64, 128), expected);
      apart += !expected.empty() && *expected.rbegin() - *expected.begin() >= expected.size();
    }
  }
  EXPECT_GT(apart, 100u) << "of pieces that lie apart";
}

} // namespace
} // namespace pagecast::core::test
