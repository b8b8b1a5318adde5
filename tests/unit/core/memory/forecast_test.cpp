// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/forecast.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>

namespace pagecast::core::test {
namespace {

constexpr uint64_t kMiB = 1 << 20;
using Next = Forecast::Next;

Extent array(unsigned number, uint64_t bytes = 10 * kMiB) {
  const Addr base = (uint64_t{1} << 40) + number * (uint64_t{1} << 30);
  return {base, base + bytes};
}

struct Program {
  std::unique_ptr<Forecast> forecast = std::make_unique<Forecast>();
  void nest(uint64_t key, std::initializer_list<unsigned> arrays) {
    Forecast::Use uses[Forecast::kUses];
    unsigned n = 0;
    for (unsigned a : arrays) uses[n++].range = array(a);
    forecast->begin(key, uses, n);
  }
  /// u and v are swept, then v and w, then x alone.
  void time_step() {
    nest(1, {0, 1});
    nest(2, {1, 2});
    nest(3, {3});
  }
};

TEST(Forecast, NothingIsKnownTheFirstTime) {
  Program p;
  p.time_step();
  EXPECT_EQ(p.forecast->next_use(array(3)).kind, Next::kUnknown);
}

TEST(Forecast, WhatFollowedFollows) {
  Program p;
  p.time_step();
  p.nest(1, {0, 1});
  const uint64_t now = p.forecast->now();
  EXPECT_EQ(now, 50 * kMiB);
  const Next v = p.forecast->next_use(array(1)), u = p.forecast->next_use(array(0));
  ASSERT_EQ(v.kind, Next::kLater);
  EXPECT_EQ(v.later.start, now + 20 * kMiB) << "the next nest";
  ASSERT_EQ(u.kind, Next::kLater);
  EXPECT_EQ(u.later.start, now + 50 * kMiB) << "the next time step";
  EXPECT_EQ(p.forecast->next_use(array(7)).kind, Next::kNever);
}

TEST(Forecast, PartsOfARangeAreDueOneAfterTheOther) {
  Next next;
  next.kind = Next::kLater;
  next.later.start = 1000;
  next.later.bytes = 100 * kMiB;
  next.later.use.range = array(0, 100 * kMiB);
  const Addr base = next.later.use.range.begin;
  EXPECT_EQ(next.due({base, base}), 1000u);
  EXPECT_EQ(next.due({base + 24 * kMiB, base + 26 * kMiB}), 1000 + 25 * kMiB);
  EXPECT_EQ(next.due({base + 100 * kMiB, base + 300 * kMiB}), 1000 + 100 * kMiB);
  next.later.use.backward = true;
  EXPECT_EQ(next.due({base + 24 * kMiB, base + 26 * kMiB}), 1000 + 75 * kMiB);
}

TEST(Forecast, TheLongestCommonPastDecides) {
  // One nest, called from two places: once x is next, once y.
  Program p;
  for (int i = 0; i < 2; ++i) {
    p.nest(1, {5});
    p.nest(9, {0});
    p.nest(2, {3, 0});
    p.nest(3, {6});
    p.nest(9, {0});
    p.nest(4, {4});
  }
  p.nest(1, {5});
  p.nest(9, {0});
  const uint64_t end = p.forecast->now() + 10 * kMiB;
  EXPECT_EQ(p.forecast->next_use(array(3)).later.start, end);
  EXPECT_GT(p.forecast->next_use(array(4)).later.start, end);
}

TEST(Forecast, TheLastOfManyRepetitionsIsKnown) {
  // Ten sweeps that differ in nothing but in what came before the first and what comes after the last.
  Program p;
  const auto phase = [&] {
    p.nest(1, {5});
    for (int i = 0; i < 10; ++i) p.nest(2, {0, 1});
  };
  phase();
  p.nest(3, {0});
  phase();
  EXPECT_EQ(p.forecast->next_use(array(1)).later.start, p.forecast->now() + (20 + 10 + 10) * kMiB) << "not in an eleventh";
  EXPECT_EQ(p.forecast->next_use(array(0)).later.start, p.forecast->now() + 20 * kMiB);
}

TEST(Forecast, OtherRangesAreAnotherVisit) {
  Program p;
  p.nest(1, {0});
  p.nest(2, {1});
  p.nest(1, {2});
  EXPECT_EQ(p.forecast->next_use(array(2)).kind, Next::kUnknown);
}

TEST(Forecast, AFewElementsMoreOrLessAreTheSameVisit) {
  Program p;
  p.nest(1, {0});
  p.nest(2, {1});
  Forecast::Use use{array(0)};
  use.range.begin += 24;
  use.range.end -= 8;
  p.forecast->begin(1, &use, 1);
  EXPECT_EQ(p.forecast->next_use(array(1)).kind, Next::kLater);
  use.range.end -= kMiB;
  p.forecast->begin(1, &use, 1);
  EXPECT_EQ(p.forecast->next_use(array(1)).kind, Next::kUnknown);
}

TEST(Forecast, WhatIsStoredForTheFirstTimeIsExpectedNext) {
  Program p;
  p.nest(1, {0, 1});
  const Next stored = p.forecast->next_use(array(1), true);
  EXPECT_EQ(p.forecast->next_use(array(0)).kind, Next::kUnknown);
  ASSERT_EQ(stored.kind, Next::kLater);
  EXPECT_EQ(stored.later.start, p.forecast->now() + 20 * kMiB);
  EXPECT_LT(stored.due({array(1).begin, array(1).begin}), stored.due({array(1).end, array(1).end}));
  p.nest(2, {2});
  p.nest(1, {0, 1});
  EXPECT_EQ(p.forecast->next_use(array(1), true).later.start, p.forecast->now() + 30 * kMiB) << "what followed is known now";
}

TEST(Forecast, WhatIsMadeFirstIsExpectedFirst) {
  Program p;
  p.nest(1, {0});
  EXPECT_EQ(p.forecast->next_use(array(0), true).later.start, 10 * kMiB);
  p.nest(2, {1, 2});
  EXPECT_EQ(p.forecast->next_use(array(1), true).later.start, 30 * kMiB + 10 * kMiB) << "u is wanted before v and w";
  p.nest(3, {3});
  EXPECT_EQ(p.forecast->next_use(array(3), true).later.start, 40 * kMiB + 30 * kMiB);
  p.nest(4, {3, 4});
  EXPECT_EQ(p.forecast->next_use(array(4), true).later.start, 60 * kMiB) << "made of other data: wanted next";
  p.nest(5, {5});
  EXPECT_EQ(p.forecast->next_use(array(5), true).later.start, 70 * kMiB) << "nothing was made right before it";
}

TEST(Forecast, VisitsToComeTakeNoMemory) {
  const auto memory = std::make_unique<uint64_t[]>(sizeof(Forecast) / sizeof(uint64_t) + 1);
  new (memory.get()) Forecast;
  EXPECT_EQ(std::count(memory.get(), memory.get() + sizeof(Forecast) / sizeof(uint64_t), 0), sizeof(Forecast) / sizeof(uint64_t));
}

TEST(Forecast, UsesThatOverlapAreCountedOnce) {
  Program p;
  Forecast::Use uses[3];
  uses[0].range = {kMiB, 3 * kMiB};
  uses[1].range = {4 * kMiB, 6 * kMiB};
  uses[2].range = {2 * kMiB, 5 * kMiB};
  p.forecast->begin(1, uses, 3);
  p.nest(2, {0});
  EXPECT_EQ(p.forecast->now(), 5 * kMiB);
}

/// Of what nest 1 makes, nest 2 loads the first array, loads and stores to the second, and overwrites the third.
struct Uses : testing::Test {
  Program p;
  void SetUp() override {
    for (int i = 0; i < 2; ++i) {
      p.nest(1, {0, 1, 2});
      const Forecast::Use uses[] = {
          {array(0), false, true, false}, {array(1), false, true, true}, {array(2), false, false, true}};
      p.forecast->begin(2, uses, 3);
    }
    p.nest(1, {0, 1, 2});
  }
  Next next(unsigned number) const { return p.forecast->next_use(array(number)); }
};

TEST_F(Uses, WhatIsLoadedAndStoredToStays) {
  const Extent middle = {array(1).begin + 5 * kMiB, array(1).begin + 5 * kMiB};
  EXPECT_EQ(next(1).rank(middle), next(1).due(middle));
  const Extent other = {array(0).begin + 5 * kMiB, array(0).begin + 5 * kMiB};
  EXPECT_EQ(next(0).due(other), next(1).due(middle));
  EXPECT_EQ(next(0).rank(other), next(0).due(other) + 15 * kMiB) << "half of the 30 MiB until then";
  const Extent overwritten = {array(2).begin + 5 * kMiB, array(2).begin + 5 * kMiB};
  EXPECT_EQ(next(2).rank(overwritten), next(2).due(overwritten) + 15 * kMiB);
}

TEST_F(Uses, TheTimeUntilThenCountsFromWhereTheVisitIs) {
  // Nest 2 is nest 1's next: a part at the end is due as long after its present use as one at the beginning.
  const Extent first = {array(0).begin, array(0).begin}, last = {array(0).end, array(0).end};
  EXPECT_EQ(next(0).rank(first) - next(0).due(first), next(0).rank(last) - next(0).due(last));
}

TEST_F(Uses, WhatIsOverwrittenIsDead) {
  EXPECT_FALSE(next(0).dead());
  EXPECT_FALSE(next(1).dead());
  EXPECT_TRUE(next(2).dead());
}

TEST(Forecast, UsesThatOverlapDoWhatOneOfThemDoes) {
  const Forecast::Use loads{array(0), false, true, false}, overwrites{array(0), false, false, true};
  for (const bool first : {false, true}) {
    Program p;
    const Forecast::Use uses[] = {first ? loads : overwrites, first ? overwrites : loads};
    for (int i = 0; i < 2; ++i) {
      p.nest(1, {0});
      p.forecast->begin(2, uses, 2);
    }
    p.nest(1, {0});
    const Next next = p.forecast->next_use(array(0));
    EXPECT_FALSE(next.dead());
    EXPECT_EQ(next.rank(array(0)), next.due(array(0))) << "loaded and stored to";
  }
}

class Sweep : public ::testing::Test {
protected:
  static constexpr uint64_t kSize = 256 * kMiB;
  std::unique_ptr<Forecast> forecast = std::make_unique<Forecast>();
  void SetUp() override {
    const Forecast::Use use{array(0, kSize), false, true, true};
    for (int i = 0; i < 3; ++i) forecast->begin(1, &use, 1);
  }
  /// Of bands of 1 MiB, those that are given up after all others of the sweep.
  std::vector<bool> staying(uint64_t memory) const {
    const Next next = forecast->next_use(array(0, kSize));
    std::vector<bool> stays;
    for (uint64_t at = array(0).begin; at < array(0).begin + kSize; at += kMiB)
      stays.push_back(next.rank({at, at + kMiB}, memory) < next.later.start + memory / 4 * 3);
    return stays;
  }
};

TEST_F(Sweep, WhatStaysIsSpreadOverIt) {
  const std::vector<bool> stays = staying(128 * kMiB);
  EXPECT_NEAR(std::count(stays.begin(), stays.end(), true), 96, 3) << "as much as would stay in one piece";
  for (size_t i = 0; i + 16 <= stays.size(); i += 16)
    EXPECT_NEAR(std::count(stays.begin() + long(i), stays.begin() + long(i) + 16, true), 6, 2) << "bands from " << i;
}

TEST_F(Sweep, WhatStaysInLittleMemoryStaysInMore) {
  const std::vector<bool> little = staying(100 * kMiB), more = staying(110 * kMiB);
  for (size_t i = 0; i < little.size(); ++i) EXPECT_LE(little[i], more[i]) << "band " << i;
}

TEST_F(Sweep, WhatFitsIsWantedInItsOrder) {
  const Next next = forecast->next_use(array(0, kSize));
  for (uint64_t at = array(0).begin; at < array(0).begin + kSize; at += kMiB)
    EXPECT_EQ(next.rank({at, at + kMiB}, kSize), next.due({at, at + kMiB}));
}

TEST_F(Sweep, AsOneOfManyItIsWantedInItsOrder) {
  const Forecast::Use uses[] = {{array(0, kSize)}, {array(1, kSize)}, {array(2, kSize)}};
  for (int i = 0; i < 3; ++i) forecast->begin(2, uses, 3);
  const Next next = forecast->next_use(array(0, kSize));
  ASSERT_EQ(next.kind, Next::kLater);
  for (uint64_t at = array(0).begin; at < array(0).begin + kSize; at += kMiB) {
    const uint64_t due = next.due({at, at + kMiB}), now = next.present.at({at, at + kMiB});
    EXPECT_EQ(next.rank({at, at + kMiB}, kSize), due + (due - now) / 2);
  }
}

TEST(Forecast, AnyHistoryIsBornePeacefully) {
  std::mt19937_64 r(1);
  Program p;
  for (int i = 0; i < 5000; ++i) {
    Forecast::Use uses[20];
    const unsigned n = unsigned(r() % 20);
    for (unsigned k = 0; k < n; ++k) uses[k] = {{r() % 64 * kMiB, r() % 64 * kMiB}, bool(r() % 2), bool(r() % 2), bool(r() % 2)};
    p.forecast->begin(r() % 5, uses, n);
    const Next next = p.forecast->next_use({r() % 64 * kMiB, r() % 64 * kMiB});
    if (next.kind == Next::kLater) {
      EXPECT_GE(next.due(next.later.use.range), next.later.start);
      EXPECT_LE(next.due(next.later.use.range), next.later.start + next.later.bytes);
      EXPECT_GE(next.rank(next.later.use.range), next.due(next.later.use.range));
      const uint64_t rank = next.rank(next.later.use.range, r() % 64 * kMiB);
      EXPECT_GE(rank, next.later.start);
    }
  }
}

} // namespace
} // namespace pagecast::core::test
