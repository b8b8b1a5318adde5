// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/teams.h"
#include "core/sharing/reference.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace pagecast::core::test {
namespace {

/// A phase: which blocks each member touches.
struct Phase {
  explicit Phase(std::vector<std::set<uint64_t>> touched, uint64_t blocks = 256) : words(block_set_words(blocks)) {
    for (const auto &blocks_of : touched) {
      sets.emplace_back(words);
      for (const uint64_t b : blocks_of) insert_block(sets.back().data(), b);
    }
    for (const auto &set : sets) rows.push_back(set.data());
  }
  double density() const { return touched_by(rows.data(), uint32_t(rows.size()), words).density(); }
  std::vector<uint32_t> clusters(double threshold = kSharingThreshold) const {
    const auto count = uint32_t(rows.size());
    std::vector<double> matrix(count * count);
    pair_densities(rows.data(), count, words, matrix.data());
    std::vector<uint32_t> out(count);
    const uint32_t n = make_clusters(matrix.data(), count, threshold, out.data());
    EXPECT_EQ(n, count ? *std::max_element(out.begin(), out.end()) + 1 : 0);
    return out;
  }
  uint64_t words;
  std::vector<std::vector<uint64_t>> sets;
  std::vector<const uint64_t *> rows;
};

std::set<uint64_t> range(uint64_t first, uint64_t end) {
  std::set<uint64_t> out;
  for (uint64_t b = first; b < end; ++b) out.insert(b);
  return out;
}

TEST(Density, TheExampleOfTheHeader) {
  const Phase phase({range(0, 10), range(1, 11)});
  EXPECT_DOUBLE_EQ(phase.density(), 9.0 / 11);
  EXPECT_EQ(phase.clusters(), (std::vector<uint32_t>{0, 0}));
  EXPECT_EQ(phase.clusters(0.83), (std::vector<uint32_t>{0, 1}));
}

TEST(Density, OfThreeItIsWhatAllTouchOverWhatAnyTouches) {
  EXPECT_DOUBLE_EQ(Phase({range(0, 100), range(10, 110), range(20, 120)}).density(), 80.0 / 120);
  EXPECT_EQ(Phase(std::vector<std::set<uint64_t>>(2)).density(), 0) << "nothing is touched";
  EXPECT_EQ(Phase({range(0, 4), {}}).density(), 0);
}

TEST(Density, BlocksOfASetComeInOrder) {
  const Phase phase({{0, 63, 64, 200}});
  std::vector<uint64_t> found;
  for (uint64_t b = 0; (b = next_block(phase.rows[0], phase.words, b)) < phase.words * 64; ++b) found.push_back(b);
  EXPECT_EQ(found, (std::vector<uint64_t>{0, 63, 64, 200}));
}

// Figure 10, nest 1: each processor has rows of its own.
TEST(Clusters, NothingIsSharedInTheFirstNestOfThePaper) {
  std::vector<std::set<uint64_t>> touched;
  for (uint64_t p = 0; p < 16; ++p) touched.push_back(range(p * 8, p * 8 + 8));
  std::vector<uint32_t> each(16);
  for (uint32_t p = 0; p < 16; ++p) each[p] = p;
  EXPECT_EQ(Phase(touched).clusters(), each);
}

// Nest 2: M[i / 32], of 64 iterations; four to a processor.
TEST(Clusters, TwoHalvesInTheSecondNestOfThePaper) {
  std::vector<std::set<uint64_t>> touched;
  for (uint64_t p = 0; p < 16; ++p) touched.push_back(range(4 * p / 32 * 40, 4 * p / 32 * 40 + 40));
  EXPECT_EQ(Phase(touched).clusters(), (std::vector<uint32_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
}

// Nest 3: R[log2(i / 4)]; figure 11 has helpers for the last two clusters alone.
TEST(Clusters, TwoTwoFourAndEightInTheThirdNestOfThePaper) {
  std::vector<std::set<uint64_t>> touched;
  for (unsigned p = 0; p < 16; ++p) {
    const uint64_t row = p > 1 ? 31 - unsigned(__builtin_clz(p)) : 0;
    touched.push_back(range(row * 40, row * 40 + 40));
  }
  const auto clusters = Phase(touched).clusters();
  EXPECT_EQ(clusters, (std::vector<uint32_t>{0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}));
  std::vector<uint32_t> with_helpers;
  for (uint32_t c = 0; c < 4; ++c)
    if (std::count(clusters.begin(), clusters.end(), c) >= kSmallestCluster) with_helpers.push_back(c);
  EXPECT_EQ(with_helpers, (std::vector<uint32_t>{2, 3}));
}

// Figure 4 (a), the first phase of HF: processors 0 and 2 share, and 1 and 3.
TEST(Clusters, MembersNeedNotBeNeighbours) {
  EXPECT_EQ(Phase({range(0, 50), range(100, 150), range(2, 52), range(102, 152)}).clusters(),
            (std::vector<uint32_t>{0, 1, 0, 1}));
}

// Neighbours share 9 of 11 blocks, but the first and the last share none: a chain is no cluster.
TEST(Clusters, LinkageIsComplete) {
  std::vector<std::set<uint64_t>> chain;
  for (uint64_t m = 0; m < 12; ++m) chain.push_back(range(m, m + 10));
  EXPECT_EQ(Phase(chain).clusters(), (std::vector<uint32_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
}

TEST(Clusters, AllPairsReachTheThresholdAndNoTwoClustersCouldBeOne) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const uint32_t count = random() % 20;
    std::vector<std::set<uint64_t>> touched(count);
    for (auto &set : touched) {
      const uint64_t first = random() % 6 * 2;
      set = range(first, first + 20 + random() % 6);
    }
    const Phase phase(touched);
    const auto clusters = phase.clusters();
    std::vector<double> density(count * count);
    pair_densities(phase.rows.data(), count, phase.words, density.data());
    const auto least = [&](uint32_t a, uint32_t b) {
      double out = 1;
      for (uint32_t x = 0; x < count; ++x)
        for (uint32_t y = 0; y < count; ++y)
          if (clusters[x] == a && clusters[y] == b) out = std::min(out, density[x * count + y]);
      return out;
    };
    const uint32_t n = count ? *std::max_element(clusters.begin(), clusters.end()) + 1 : 0;
    for (uint32_t a = 0; a < n; ++a)
      for (uint32_t b = 0; b < n; ++b) EXPECT_EQ(least(a, b) >= kSharingThreshold, a == b) << round;
  }
}

} // namespace
} // namespace pagecast::core::test
