// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/replacement.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <list>
#include <random>
#include <vector>

namespace pagecast::core::test {
namespace {

struct Slots {
  explicit Slots(uint32_t n) : links(n) { order.attach(links.data(), n); }
  std::vector<uint32_t> pop(uint32_t max, bool released_only = false) {
    std::vector<uint32_t> out(max);
    out.resize(order.pop_victims(out.data(), max, released_only));
    return out;
  }
  std::vector<Replacement::Link> links;
  Replacement order;
};

using Order = std::vector<uint32_t>;

TEST(Replacement, ActivePagesGoOldestFirst) {
  Slots s(8);
  for (uint32_t i : {3u, 1u, 2u}) s.order.insert_active(i);
  s.order.touch(3);
  EXPECT_EQ(s.pop(8), (Order{1, 2, 3}));
  EXPECT_EQ(s.order.victim(), Replacement::kNone);
}

TEST(Replacement, AgingPagesGoBeforeActiveOnesUnlessTouched) {
  Slots s(8);
  for (uint32_t i = 0; i < 5; ++i) s.order.insert_active(i);
  uint32_t aged[3];
  ASSERT_EQ(s.order.age(aged, 3), 3u);
  EXPECT_EQ((Order{aged[0], aged[1], aged[2]}), (Order{0, 1, 2}));
  s.order.touch(1);
  s.order.release(4, 0);
  EXPECT_TRUE(s.order.is_aging(0));
  EXPECT_EQ(s.pop(8), (Order{4, 0, 2, 3, 1}));
}

TEST(Replacement, KeptPagesGoAfterActiveOnesAndTheFirstBecomeActiveWhereTheyAreTooMany) {
  Slots s(8);
  for (uint32_t i = 0; i < 6; ++i) s.order.insert_active(i);
  s.order.insert_active(6, 1); // a newcomer
  for (uint32_t i : {0u, 3u, 1u}) s.order.keep(i, 2);
  EXPECT_EQ(s.order.kept(), 2u);
  uint32_t aged[8];
  EXPECT_EQ(s.order.age(aged, 8), 4u) << "2, 4, 5 and 0, which is kept no more";
  EXPECT_EQ(aged[3], 0u);
  s.order.start_walk();
  for (uint32_t i : {2u, 4u, 5u, 0u, 3u, 1u, 6u}) EXPECT_EQ(s.order.walk(), i);
  s.order.touch(3); // it is active again
  EXPECT_TRUE(s.order.is_valid());
  EXPECT_EQ(s.pop(8), (Order{2, 4, 5, 0, 3, 1, 6}));
}

TEST(Replacement, NewcomersThatCameAgainAreKeptAfterwards) {
  Slots s(8);
  for (uint32_t i = 0; i < 5; ++i) s.order.insert_active(i, 2, i == 1 || i == 4);
  EXPECT_EQ(s.order.active(), 2u);
  EXPECT_EQ(s.order.kept(), 1u);
  uint32_t gone[2];
  ASSERT_EQ(s.order.pop_newcomers(gone, 2, 0), 2u) << "the last ones are newcomers like others";
  EXPECT_EQ(s.pop(8), (Order{0, 2, 1}));
  s.order.insert_active(1);
  EXPECT_EQ(s.order.kept(), 0u);
  EXPECT_TRUE(s.order.is_valid());
}

TEST(Replacement, NewcomersGoLastOrByThemselves) {
  Slots s(8);
  for (uint32_t i = 0; i < 5; ++i) s.order.insert_active(i, 3);
  EXPECT_EQ(s.order.active(), 2u);
  s.order.touch(2); // it is none any more
  uint32_t gone[4];
  ASSERT_EQ(s.order.pop_newcomers(gone, 4, 1), 1u) << "one is left";
  EXPECT_EQ(gone[0], 3u);
  s.order.insert_active(5, 3);
  s.order.settle_newcomers(1);
  EXPECT_EQ(s.order.newcomers(), 1u);
  s.order.start_walk();
  for (uint32_t i : {0u, 1u, 2u, 4u, 5u}) EXPECT_EQ(s.order.walk(), i);
  EXPECT_EQ(s.order.walk(), Replacement::kNone);
  EXPECT_TRUE(s.order.is_valid());
  EXPECT_EQ(s.pop(8), (Order{0, 1, 2, 4, 5}));
}

TEST(Replacement, WhatIsPassedOverComesUpWhenAllOthersHave) {
  Slots s(8);
  for (uint32_t i = 0; i < 5; ++i) s.order.insert_active(i, 2);
  s.order.keep(2, 8);
  Order seen;
  for (unsigned n = 0; n < 10; ++n) { // none of them can go
    uint32_t slot = 0;
    ASSERT_EQ(s.order.pop_victims(&slot, 1), 1u);
    seen.push_back(slot);
    s.order.go_last(slot);
  }
  EXPECT_EQ(seen, (Order{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
  EXPECT_TRUE(s.order.is_valid());
}

TEST(Replacement, ReleasedPagesGoFirstLowestPriorityAndMostRecentFirst) {
  Slots s(8);
  for (uint32_t i = 0; i < 8; ++i) s.order.insert_active(i);
  s.order.release(0, 3);
  s.order.release(1, 1);
  s.order.release(2, 1);
  s.order.release(3, 0);
  s.order.release(4, 200);
  EXPECT_EQ(s.order.released(7), 1u) << "greater priorities count as the greatest";
  EXPECT_EQ(s.pop(8), (Order{3, 2, 1, 0, 4, 5, 6, 7}));
}

TEST(Replacement, WhatIsPutBackIsDirtyAndGoesNext) {
  Slots s(8);
  for (uint32_t i = 0; i < 4; ++i) s.order.insert_active(i);
  for (uint32_t i = 0; i < 3; ++i) s.order.release(i, 1, true);
  EXPECT_EQ(s.pop(1), (Order{2}));
  s.order.put_back(2);
  EXPECT_EQ(s.order.released_clean(), 0u) << "giving it up costs a write";
  EXPECT_EQ(s.order.victim(), 2u);
  s.order.release(3, 0);
  EXPECT_EQ(s.order.victim(), 3u) << "what is clean goes first";
  uint32_t dirty[8];
  ASSERT_EQ(s.order.clean(dirty, 8), 3u);
  EXPECT_EQ((Order{dirty[0], dirty[1], dirty[2]}), (Order{2, 1, 0})) << "it can be written ahead";
  EXPECT_TRUE(s.order.is_valid());
}

TEST(Replacement, CleanPagesOfAGenerationGoBeforeDirtyOnes) {
  Slots s(8);
  for (uint32_t i = 0; i < 6; ++i) s.order.insert_active(i);
  s.order.release(0, 1, true);
  s.order.release(1, 1, false);
  s.order.release(2, 1, true);
  s.order.release(3, 1, false);
  s.order.new_generation();
  s.order.release(4, 1, false);
  s.order.release(5, 0, true);
  EXPECT_EQ(s.pop(8), (Order{5, 3, 1, 2, 0, 4}));
  EXPECT_TRUE(s.order.is_valid());
}

TEST(Replacement, CleaningTakesTheNextDirtyVictimsAndMakesThemClean) {
  Slots s(8);
  for (uint32_t i = 0; i < 6; ++i) s.order.insert_active(i);
  s.order.release(0, 1, true);
  s.order.release(1, 0, true);
  s.order.release(2, 0, false);
  s.order.release(3, 0, true);
  EXPECT_EQ(s.order.released_clean(), 1u);
  uint32_t out[8];
  ASSERT_EQ(s.order.clean(out, 2), 2u);
  EXPECT_EQ((Order{out[0], out[1]}), (Order{3, 1}));
  EXPECT_EQ(s.order.released_clean(), 3u);
  EXPECT_EQ(s.order.clean(out, 8), 1u);
  EXPECT_EQ(s.order.clean(out, 8), 0u);
  EXPECT_TRUE(s.order.is_valid());
  EXPECT_EQ(s.pop(8), (Order{1, 3, 2, 0, 4, 5}));
  EXPECT_EQ(s.order.released_clean(), 0u);
}

TEST(Replacement, TheOldestGenerationGoesFirst) {
  Slots s(8);
  for (uint32_t i = 0; i < 6; ++i) s.order.insert_active(i);
  s.order.release(0, 1);
  s.order.release(1, 1);
  s.order.new_generation();
  s.order.release(2, 1);
  s.order.release(3, 1);
  EXPECT_EQ(s.pop(8, true), (Order{1, 0, 3, 2}));
}

TEST(Replacement, OldGenerationsMergeInOrder) {
  Slots s(64);
  Order expected;
  for (uint32_t e = 0; e < 30; ++e) {
    for (uint32_t i : {2 * e, 2 * e + 1}) {
      s.order.insert_active(i);
      s.order.release(i, 2);
    }
    expected.insert(expected.end(), {2 * e + 1, 2 * e});
    s.order.new_generation();
    ASSERT_TRUE(s.order.is_valid());
  }
  EXPECT_EQ(s.pop(64), expected);
}

TEST(Replacement, ARepeatedSweepKeepsAPrefix) {
  // 100 pages, memory for 60, three sweeps: the same pages stay each time.
  Slots s(100);
  uint32_t resident = 0, misses = 0;
  for (int sweep = 0; sweep < 3; ++sweep) {
    misses = 0;
    for (uint32_t page = 0; page < 100; ++page) {
      if (s.order.is_free(page)) {
        ++misses;
        if (resident == 60) resident -= uint32_t(s.pop(1).size());
        ++resident;
      }
      s.order.touch(page);
      s.order.release(page, 1);
    }
    s.order.new_generation();
  }
  EXPECT_LE(misses, 45u) << "LRU would miss all 100";
}

/// The same rules, written for clarity.
struct Naive {
  struct Page {
    uint32_t slot;
    unsigned priority;
    uint64_t generation, time;
  };
  std::list<uint32_t> active, aging, kept;
  std::list<Page> released;
  uint64_t generation = 0, time = 0;
  void remove(uint32_t s) {
    active.remove(s);
    aging.remove(s);
    kept.remove(s);
    released.remove_if([&](const Page &p) { return p.slot == s; });
  }
  bool has(uint32_t s) const {
    return std::count(active.begin(), active.end(), s) || std::count(aging.begin(), aging.end(), s) ||
           std::count(kept.begin(), kept.end(), s) ||
           std::any_of(released.begin(), released.end(), [&](const Page &p) { return p.slot == s; });
  }
  uint32_t victim() {
    for (const auto *list : {&aging, &active, &kept})
      if (released.empty() && !list->empty()) return list->front();
    if (released.empty()) return Replacement::kNone;
    return std::min_element(released.begin(), released.end(),
                            [](const Page &a, const Page &b) {
                              if (a.priority != b.priority) return a.priority < b.priority;
                              return a.generation != b.generation ? a.generation < b.generation : a.time > b.time;
                            })
        ->slot;
  }
};

TEST(Replacement, AgreesWithANaiveModel) {
  Slots s(48);
  Naive naive;
  std::mt19937_64 r(6);
  for (int i = 0; i < 100000; ++i) {
    const uint32_t slot = uint32_t(r() % 48);
    const unsigned priority = unsigned(r() % 9);
    switch (r() % 16) {
    case 0:
      s.order.remove(slot);
      naive.remove(slot);
      break;
    case 15: {
      uint32_t aged[2];
      const uint32_t n = s.order.age(aged, 2);
      ASSERT_EQ(n, std::min<size_t>(2, naive.active.size()));
      for (uint32_t k = 0; k < n; ++k) {
        ASSERT_EQ(aged[k], naive.active.front());
        naive.active.pop_front();
        naive.aging.push_back(aged[k]);
      }
      ASSERT_EQ(s.order.aging(), naive.aging.size());
      break;
    }
    case 1:
      if (r() % 8 == 0) {
        s.order.new_generation();
        ++naive.generation;
      }
      break;
    case 2: {
      const uint32_t v = naive.victim();
      ASSERT_EQ(s.order.victim(), v);
      if (v != Replacement::kNone) {
        ASSERT_EQ(s.pop(1), Order{v});
        naive.remove(v);
      }
      break;
    }
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
      s.order.touch(slot);
      naive.remove(slot);
      naive.active.push_back(slot);
      break;
    case 8:
      s.order.keep(slot, 9);
      naive.remove(slot);
      naive.kept.push_back(slot);
      for (; naive.kept.size() > 9; naive.kept.pop_front()) naive.active.push_back(naive.kept.front());
      break;
    default:
      s.order.release(slot, priority);
      if (naive.has(slot)) {
        naive.remove(slot);
        naive.released.push_back({slot, std::min(priority, 7u), naive.generation, ++naive.time});
      }
    }
    // Generations more than kGenerations old stay in order too: they are joined end to end.
    if (i % 16 == 0) { ASSERT_TRUE(s.order.is_valid()); }
    ASSERT_EQ(s.order.active(), naive.active.size());
    ASSERT_EQ(s.order.kept(), naive.kept.size());
    ASSERT_EQ(s.order.released(), naive.released.size());
  }
}

TEST(Replacement, AWalkGoesThroughAgingThenActiveSlotsWhateverLeaves) {
  Slots s(8);
  for (uint32_t i = 0; i < 8; ++i) s.order.insert_active(i);
  s.order.release(7, 0);
  uint32_t aged[2];
  ASSERT_EQ(s.order.age(aged, 2), 2u); // 0 and 1
  s.order.start_walk();
  EXPECT_EQ(s.order.walk(), 0u);
  s.order.remove(1); // the next one
  EXPECT_EQ(s.order.walk(), 2u);
  s.order.release(3, 1);
  s.order.touch(2); // comes again, at the end
  for (const uint32_t expected : {4u, 5u, 6u, 2u}) EXPECT_EQ(s.order.walk(), expected);
  EXPECT_EQ(s.order.walk(), Replacement::kNone);
  s.order.start_walk();
  EXPECT_EQ(s.order.walk(), 0u);
}

TEST(Replacement, DamageIsSeen) {
  Slots s(8);
  for (uint32_t i = 0; i < 8; ++i) s.order.insert_active(i);
  s.links[3].next = 1;
  EXPECT_FALSE(s.order.is_valid());
}

TEST(Replacement, GroupsOfLinksAreIdleWhenAllOfTheirSlotsHaveGone) {
  constexpr uint32_t kSlots = 3 * Replacement::kGroup;
  std::vector<Replacement::Link> links(kSlots);
  std::vector<uint16_t> groups(3);
  Replacement order;
  order.attach(links.data(), kSlots, groups.data());
  EXPECT_FALSE(order.is_idle(1)); // its links are as they were
  for (uint32_t s = Replacement::kGroup; s < 2 * Replacement::kGroup; ++s) order.insert_active(s);
  order.insert_active(0);
  EXPECT_EQ(order.groups_used(), 2u);
  order.release(Replacement::kGroup, 0);
  order.touch(Replacement::kGroup); // it stays
  uint32_t out[Replacement::kGroup];
  order.remove(0);
  order.remove(0); // once is enough
  EXPECT_TRUE(order.is_idle(0));
  EXPECT_EQ(order.pop_victims(out, Replacement::kGroup - 1), Replacement::kGroup - 1);
  EXPECT_FALSE(order.is_idle(1));
  EXPECT_TRUE(order.is_valid());
  EXPECT_EQ(order.pop_victims(out, 1), 1u);
  ASSERT_TRUE(order.is_idle(1));
  std::fill(links.begin() + Replacement::kGroup, links.begin() + 2 * Replacement::kGroup, Replacement::Link{});
  order.forget(1);
  EXPECT_EQ(order.groups_used(), 1u);
  EXPECT_FALSE(order.is_idle(1));
  order.insert_active(Replacement::kGroup + 5);
  EXPECT_EQ(order.victim(), Replacement::kGroup + 5);
  EXPECT_TRUE(order.is_valid());
}

} // namespace
} // namespace pagecast::core::test
