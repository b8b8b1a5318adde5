// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pager with the real kernel and a real disk: contents against a plain copy, and the budget by counting.
#include "tests/unit/runtime/running_engine.h"

#include "runtime/slicer/reader.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace pagecast;

namespace {

void expect_budget_kept() {
  EXPECT_LE(engine.statistics.peak_bytes, kBudget + kBudget / 50);
  EXPECT_GT(engine.statistics.peak_bytes, kBudget / 2);
}

/// Random stores, loads, hints, releases and discards on a region and on a plain copy of it.
void stress(unsigned seed, uint64_t bytes, unsigned operations) {
  char *region = map(bytes);
  std::unique_ptr<char[]> copy(new char[bytes]());
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  const uint64_t page = os::page_size(), pages = bytes / page;
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < operations; ++i) {
    const uint64_t first = random() % pages, n = 1 + random() % std::min<uint64_t>(64, pages - first);
    const uint64_t at = first * page + random() % page;
    switch (random() % 16) {
    case 0: engine.hint({address(region) + first * page, static_cast<uint32_t>(n), Hint::kFetch, 0, 0, 0, 0}); break;
    case 1: engine.hint({address(region) + first * page, static_cast<uint32_t>(n), Hint::kFetchWrite, 0, 0, 0, 0}); break;
    case 2:
    case 3:
      engine.hint({address(region) + first * page, static_cast<uint32_t>(n), Hint::kRelease, static_cast<uint8_t>(random() % 8),
                   0, 0, 0});
      break;
    case 4:
      if (random() % 64 == 0) {
        ASSERT_EQ(engine.clear(address(region) + first * page, n * page), 0);
        memset(copy.get() + first * page, 0, n * page);
      }
      break;
    case 5:
    case 6:
    case 7: {
      const uint64_t length = std::min<uint64_t>(bytes - at, 1 + random() % (3 * page));
      memset(region + at, static_cast<int>(i), length);
      memset(copy.get() + at, static_cast<int>(i), length);
      break;
    }
    case 8:
    case 9:
    case 10:
    case 11: region[at] = copy[at] = static_cast<char>(random()); break;
    default: ASSERT_EQ(region[at], copy[at]) << "operation " << i; break;
    }
  }
  ASSERT_EQ(memcmp(region, copy.get(), bytes), 0);
  expect_valid();
  ASSERT_EQ(engine.remove(address(region), bytes), 0);
  munmap(region, bytes);
}

} // namespace

TEST(PagerStart, TakesNoMoreMemoryThanIsKeptForIt) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kBytes = kBudget / 2;
  char *data = map(kBytes);
  memset(data, 1, kBytes);
  ASSERT_EQ(engine.add(address(data), kBytes), 0);
  expect_valid();
  EXPECT_LE(engine.statistics.own_bytes, Engine::bytes_to_start(nullptr, kBudget, kBytes));
  EXPECT_GE(engine.statistics.own_bytes, Engine::bytes_to_start(nullptr, kBudget, 0));
}

TEST(Pager, StressBuffered) {
  START_ENGINE(ReleasePolicy::kBuffered);
  stress(1, 96u << 20, 60000);
  expect_budget_kept();
  EXPECT_GT(engine.statistics.evicted_clean, 0u);
  EXPECT_GT(engine.statistics.evicted_dirty, 0u);
}

TEST(Pager, StressAggressive) {
  START_ENGINE(ReleasePolicy::kAggressive);
  stress(2, 96u << 20, 40000);
  expect_budget_kept();
}

TEST(Pager, StressWithoutReleases) {
  START_ENGINE(ReleasePolicy::kNone);
  stress(3, 64u << 20, 30000);
  expect_budget_kept();
}

TEST(Pager, StressThreadsEachWithRegionsThatComeAndGo) {
  START_ENGINE(ReleasePolicy::kBuffered);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (unsigned round = 0; round < 4; ++round) stress(10 * t + round, (4 + 5 * t) << 20, 4000);
    });
  for (auto &t : threads) t.join();
  EXPECT_LE(engine.statistics.peak_bytes, kBudget + kBudget / 50);
  EXPECT_EQ(engine.statistics.region_bytes, 0u);
}

TEST(Pager, StreamsSideBySideFaultLessThanOnceAPage) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kStreams = 256, kEach = 64u << 10;
  const uint64_t page = os::page_size();
  char *region = map(kStreams * kEach);
  ASSERT_EQ(engine.add(address(region), kStreams * kEach), 0);
  for (uint64_t at = 0; at < kEach; at += page / 2)
    for (uint64_t s = 0; s < kStreams; ++s) region[s * kEach + at] = static_cast<char>(s + 1);
  for (uint64_t at = 0; at < kEach; at += page / 2)
    for (uint64_t s = 0; s < kStreams; ++s) ASSERT_EQ(region[s * kEach + at], static_cast<char>(s + 1));
  EXPECT_LT(engine.statistics.fault_events, kStreams * kEach / page * 2 / 3);
  expect_budget_kept();
}

namespace {
/// Pages of a region twice as large as memory, stored to and then read `passes` times; which comes when says `order`. Returns those
/// that were read for faults.
template <class Order> uint64_t walk(unsigned passes, Order order) {
  constexpr uint32_t kPages = 2 * kBudget / 4096;
  const uint64_t page = os::page_size();
  char *region = map(kPages * page);
  EXPECT_EQ(engine.add(address(region), kPages * page), 0);
  std::vector<uint32_t> pages(kPages);
  std::iota(pages.begin(), pages.end(), 0u);
  order(pages);
  for (uint32_t i : pages) region[i * page] = static_cast<char>(i % 127 + 1);
  const uint64_t before = engine.statistics.not_prefetched;
  for (unsigned pass = 0; pass < passes; ++pass) {
    order(pages);
    for (uint32_t i : pages) EXPECT_EQ(region[i * page], static_cast<char>(i % 127 + 1));
  }
  expect_valid();
  return engine.statistics.not_prefetched - before;
}
} // namespace

TEST(Pager, PagesThatAreWalkedInTheSameOrderAgainAreForeseen) {
  START_ENGINE(ReleasePolicy::kBuffered);
  std::mt19937_64 random(1);
  bool first = true;
  const uint64_t waits = walk(2, [&](auto &pages) {
    if (std::exchange(first, false)) std::shuffle(pages.begin(), pages.end(), random);
  });
  EXPECT_LT(waits, kBudget / os::page_size()) << "more than so many are absent each time";
  expect_budget_kept();
}

TEST(Pager, PagesThatAreWalkedInAnotherOrderEachTimeAreLeftToFaults) {
  START_ENGINE(ReleasePolicy::kBuffered);
  std::mt19937_64 random(1);
  walk(2, [&](auto &pages) { std::shuffle(pages.begin(), pages.end(), random); });
  EXPECT_LT(engine.statistics.streams.used + engine.statistics.streams.wasted, kBudget / os::page_size() / 2);
  EXPECT_GE(engine.statistics.streams.switched_off, 1u);
}

/// `places` places of `each` pages, stored to before; each is gone through in order, which of them next at random. Returns
/// the pages that were read for faults.
uint64_t store_at_places(uint64_t places, uint64_t each, bool in_order) {
  const uint64_t page = os::page_size(), pages = places * each;
  char *region = map(pages * page);
  EXPECT_EQ(engine.add(address(region), pages * page), 0);
  for (uint64_t i = 0; i < pages; ++i) region[i * page] = static_cast<char>(i * 7 + 1);
  const uint64_t before = engine.statistics.not_prefetched;
  std::mt19937_64 random(3);
  std::vector<uint64_t> next(places);
  for (uint64_t left = pages; left;) {
    const uint64_t place = random() % places;
    if (next[place] == each) continue;
    const uint64_t i = place * each + (in_order ? next[place] : random() % each);
    ++next[place], --left;
    EXPECT_EQ(region[i * page], static_cast<char>(i * 7 + 1));
    region[i * page + 1] = 1;
  }
  return engine.statistics.not_prefetched - before;
}

TEST(Pager, PlacesThatGoOnAreReadSomePagesAtATime) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kPlaces = 256, kEach = 96;
  EXPECT_LT(store_at_places(kPlaces, kEach, true), kPlaces * kEach * 5 / 8);
  EXPECT_LT(engine.statistics.site[Statistics::kHistory].unused, kPlaces * kEach / 8);
  expect_valid();
  expect_budget_kept();
}

TEST(Pager, PlacesAtRandomAreReadAlone) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kPlaces = 256, kEach = 96;
  EXPECT_GT(store_at_places(kPlaces, kEach, false), kPlaces * kEach / 2);
  EXPECT_LT(engine.statistics.site[Statistics::kHistory].prefetched, kPlaces * kEach / 16);
}

/// A block of a third of the budget is in use at random while another, of four times the budget, is filled and read in order.
TEST(Pager, WhatStreamsHavePassedGoesBeforeWhatIsInUse) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t page = os::page_size(), pages = kBudget / 3 / page, passed = kBudget * 4 / page;
  char *used = map(pages * page), *once = map(passed * page);
  ASSERT_EQ(engine.add(address(used), pages * page), 0);
  ASSERT_EQ(engine.add(address(once), passed * page), 0);
  std::mt19937_64 random(5);
  for (uint64_t i = 0; i < pages; ++i) used[i * page] = static_cast<char>(i * 7 + 1);
  for (unsigned round = 0; round < 2; ++round)
    for (uint64_t i = 0; i < passed; ++i) {
      if (round == 0) once[i * page] = static_cast<char>(i * 5 + 1);
      else ASSERT_EQ(once[i * page], static_cast<char>(i * 5 + 1));
      const uint64_t at = random() % pages;
      ASSERT_EQ(used[at * page], static_cast<char>(at * 7 + 1));
    }
  settled_fault_events();
  EXPECT_GT(engine.statistics.site[Statistics::kHistory].released, passed);
  expect_valid();
  expect_budget_kept();
}

TEST(Pager, WhatIsAroundPagesInNoOrderComesWithThem) {
  START_ENGINE(ReleasePolicy::kNone); // what is passed goes in the order in which it came
  const uint64_t page = os::page_size(), pages = kBudget / 4 / page, others = kBudget * 3 / 2;
  char *region = map(pages * page), *other = map(others);
  ASSERT_EQ(engine.add(address(region), pages * page), 0);
  ASSERT_EQ(engine.add(address(other), others), 0);
  for (uint64_t i = 0; i < pages; ++i) region[i * page] = static_cast<char>(i * 7 + 1);
  memset(other, 1, others);
  std::vector<uint64_t> order(pages);
  for (uint64_t i = 0; i < pages; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(5));
  settled_fault_events();
  for (const uint64_t i : order) {
    EXPECT_EQ(static_cast<volatile char *>(region)[i * page + page / 2], 0);
    EXPECT_EQ(region[i * page], static_cast<char>(i * 7 + 1));
  }
  settled_fault_events();
  // Two pages at a time fit this budget, until the first samples are decided on at least.
  EXPECT_GE(engine.statistics.read_around, core::Surroundings::kSamples * (core::Surroundings::kEvery - 1) / 2);
  expect_valid();
}

/// A load of each of `pages` pages here and there, stored to before, and a store to it if `stores`. Returns the faults.
uint64_t count_at_random(uint64_t pages, bool stores) {
  const uint64_t page = os::page_size();
  char *region = map(pages * page);
  EXPECT_EQ(engine.add(address(region), pages * page), 0);
  for (uint64_t i = 0; i < pages; ++i) region[i * page] = static_cast<char>(i * 7 + 1);
  const uint64_t before = settled_fault_events();
  std::mt19937_64 random(5);
  for (uint64_t left = pages; left; --left) {
    const uint64_t i = random() % pages;
    volatile char *at = region + i * page;
    EXPECT_EQ(*at, static_cast<char>(i * 7 + 1));
    if (stores) at[1] = 1;
  }
  return settled_fault_events() - before;
}

TEST(Pager, LoadsThatStoresFollowFaultOnce) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kMany = 4 * kBudget / 4096;
  EXPECT_LT(count_at_random(kMany, true), kMany * 5 / 4);
  EXPECT_GT(engine.statistics.stores_expected, kMany / 2);
  expect_valid();
  expect_budget_kept();
}

TEST(Pager, LoadsAloneArePutBackUnwritten) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kMany = 4 * kBudget / 4096;
  EXPECT_LE(count_at_random(kMany, false), kMany);
  EXPECT_EQ(engine.statistics.stores_expected, 0u);
  EXPECT_LT(engine.statistics.written_bytes, 5 * kBudget) << "what was stored at first";
}

// As memmove does upwards: what was read some pages ago is stored to, from the end on.
TEST(Pager, FirstStoresDownwardsFaultLessThanOnceAPage) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t page = os::page_size(), pages = 2 * kBudget / page, apart = 1500;
  char *region = map(pages * page);
  ASSERT_EQ(engine.add(address(region), pages * page), 0);
  memset(region, 1, pages * page);
  const uint64_t before = engine.statistics.fault_events;
  for (uint64_t i = pages; i-- > apart;) region[i * page] = static_cast<char>(region[(i - apart) * page] + 1);
  EXPECT_LT(engine.statistics.fault_events - before, pages / 4);
  for (uint64_t i = apart; i < pages; ++i) ASSERT_EQ(region[i * page], 2);
  expect_valid();
}

TEST(Pager, TakesOverPagesThatHaveContents) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t bytes = 64u << 20;
  char *region = map(bytes);
  for (uint64_t i = 0; i < bytes; i += 8192) memset(region + i, static_cast<int>(i >> 13), 100);
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  for (uint64_t i = 0; i < bytes; i += 8192) {
    ASSERT_EQ(region[i + 99], static_cast<char>(i >> 13)) << i;
    ASSERT_EQ(region[i + 4096], 0) << i;
  }
  EXPECT_LE(engine.statistics.peak_bytes - (64u << 20) / 2, kBudget); // what was there already had to be counted
}

TEST(Pager, PartOfARegionCanGo) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t bytes = 48u << 20, hole = 16u << 20;
  char *region = map(bytes);
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  for (uint64_t i = 0; i < bytes; i += 4096) region[i] = static_cast<char>(i >> 12);
  ASSERT_EQ(engine.remove(address(region) + hole, hole), 0);
  munmap(region + hole, hole);
  for (uint64_t i = 0; i < bytes; i += 4096)
    if (i < hole || i >= 2 * hole) { ASSERT_EQ(region[i], static_cast<char>(i >> 12)) << i; }
  EXPECT_EQ(engine.look_up(address(region) + hole).bytes, 0u);
  EXPECT_EQ(engine.look_up(address(region) + 2 * hole).bytes, hole);
}

TEST(Pager, ReadOfUntouchedMemoryWritesNothing) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t bytes = 96u << 20;
  char *region = map(bytes);
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  for (unsigned sweep = 0; sweep < 2; ++sweep)
    for (uint64_t i = 0; i < bytes; i += 4096) ASSERT_EQ(region[i], 0);
  EXPECT_EQ(engine.statistics.written_bytes, 0u);
  EXPECT_EQ(engine.statistics.read_bytes, 0u);
  expect_budget_kept();
}

TEST(Pager, RepeatedSweepWithReleasesKeepsAPrefix) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t bytes = 40u << 20; // 5/3 of the budget
  char *region = map(bytes);
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  auto sweep = [&](bool store) {
    for (uint64_t i = 0; i < bytes; i += 65536) {
      while (!engine.hint({address(region) + i, 16, store ? Hint::kFetchWrite : Hint::kFetch, 0, 0, 0, 0}))
        std::this_thread::yield();
      for (uint64_t k = i; k < i + 65536; k += 4096)
        if (store) region[k] = static_cast<char>(k >> 12);
        else ASSERT_EQ(region[k], static_cast<char>(k >> 12));
      while (!engine.hint({address(region) + i, 16, Hint::kRelease, 1, 0, 0, 0})) std::this_thread::yield();
    }
  };
  sweep(true);
  // Where the pager comes late (a processor that others use), pages of the prefix go: the best of three sweeps counts.
  uint64_t least = bytes;
  for (unsigned i = 0; i < 3; ++i) {
    const uint64_t before = engine.statistics.read_bytes;
    sweep(false);
    least = std::min<uint64_t>(least, engine.statistics.read_bytes - before);
  }
  // Least-recently-used replacement would read all 40 MiB; the prefix of about 18 MiB need not be.
  EXPECT_LT(least, bytes * 8 / 10);
}

// A walk along columns: each step stores to one page of each of 100 rows, and releases the ones of the step before. Over four
// times the budget: a pager that gets behind gives up some hundred pages one by one, whatever the length of the walk.
TEST(Pager, DirtyPagesOfAColumnWalkAreWrittenInBlocks) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kRows = 100, kRow = 1 << 20, kPages = kRow / 4096;
  char *region = map(kRows * kRow);
  ASSERT_EQ(engine.add(address(region), kRows * kRow), 0);
  const auto ask = [&](uint64_t row, uint64_t page, Hint::Kind kind) {
    while (!engine.hint({address(region) + row * kRow + page * 4096, 1, kind, 0, 0, 0, 0})) std::this_thread::yield();
  };
  for (uint64_t page = 0; page < kPages; ++page) {
    for (uint64_t row = 0; row < kRows; ++row) ask(row, page, Hint::kFetchWrite);
    for (uint64_t row = 0; row < kRows; ++row) region[row * kRow + page * 4096] = static_cast<char>(row + page);
    for (uint64_t row = 0; row < kRows; ++row) ask(row, page, Hint::kRelease);
  }
  for (uint64_t row = 0; row < kRows; ++row)
    for (uint64_t page = 0; page < kPages; ++page) ASSERT_EQ(region[row * kRow + page * 4096], static_cast<char>(row + page));
  EXPECT_GT(engine.statistics.evicted_dirty, 0u);
  // 41 to 59 KiB mostly, 22 at times; 6 to 7 where columns are not gathered.
  EXPECT_GE(engine.statistics.written_bytes / engine.statistics.writes, 12u << 10);
}

// Pieces of a heap, one behind the other in memory and in the file, are one region, and go one by one.
TEST(Pager, PiecesThatFollowEachOtherAreOneRegion) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kRegion = 1 << 20, kRegions = 64;
  char *memory = map(kRegions * kRegion);
  for (uint64_t r = 0; r < kRegions; ++r) ASSERT_EQ(engine.add(address(memory) + r * kRegion, kRegion), 0);
  EXPECT_EQ(engine.look_up(address(memory)).bytes, kRegions * kRegion);
  for (unsigned sweep = 0; sweep < 3; ++sweep) {
    for (uint64_t i = 0; i < kRegions * kRegion; i += 4096) memory[i] = static_cast<char>(memory[i] + i / 4096 + sweep);
    engine.hint({address(memory), kRegions * kRegion / 4096, Hint::kRelease, 0, 0, 0, 0});
  }
  const char *why = "";
  EXPECT_TRUE(engine.is_valid(&why)) << why;
  for (uint64_t i = 0; i < kRegions * kRegion; i += 4096) ASSERT_EQ(memory[i], static_cast<char>(3 * (i / 4096) + 3)) << i;
  ASSERT_TRUE(engine.is_valid(&why)) << why;
  for (uint64_t r = 0; r < kRegions; ++r) ASSERT_EQ(engine.remove(address(memory) + r * kRegion, kRegion), 0);
}

// mprotect splits the kernel's mappings; requests of many pages must not end at their borders.
TEST(Pager, ProtectionMaySplitARegion) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t bytes = 48u << 20, page = os::page_size();
  char *region = map(bytes);
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  for (uint64_t i = 0; i < bytes; i += 37 * page) ASSERT_EQ(mprotect(region + i, page, PROT_NONE), 0);
  for (unsigned round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < bytes; i += page) {
      if (i % (64 * page) == 0) { // zeros first, then from the disk; hints cover guards
        const uint64_t n = std::min<uint64_t>(64, (bytes - i) / page);
        engine.hint({address(region) + i, static_cast<uint32_t>(n), round ? Hint::kFetchWrite : Hint::kFetch, 0, 0, 0, 0});
      }
      if (i / page % 37 == 0) continue;
      ASSERT_EQ(region[i], round ? static_cast<char>(i >> 12) : 0) << i;
      region[i] = static_cast<char>((i >> 12) + round);
    }
  }
  ASSERT_EQ(mprotect(region, bytes, PROT_READ), 0);
  for (uint64_t i = 0; i < bytes; i += page) ASSERT_EQ(region[i], i / page % 37 ? static_cast<char>((i >> 12) + 1) : 0) << i;
  expect_budget_kept();
  ASSERT_EQ(engine.remove(address(region), bytes), 0);
}

TEST(Pager, UnreadableDirtyPagesGoToTheBackingStore) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t bytes = 16u << 20, page = os::page_size();
  char *hidden = map(bytes), *other = map(4 * bytes);
  ASSERT_EQ(engine.add(address(hidden), bytes), 0);
  ASSERT_EQ(engine.add(address(other), 4 * bytes), 0);
  for (uint64_t i = 0; i < bytes; i += 8) *reinterpret_cast<uint64_t *>(hidden + i) = i * 31;
  ASSERT_EQ(mprotect(hidden + page, bytes - page, PROT_NONE), 0);
  // Most of the hidden pages go, so that the other ones have their memory: how fast depends on the room for copies.
  uint64_t there = ~0ull;
  for (unsigned sweep = 0; sweep < 20 && there > bytes / page / 2; ++sweep) {
    for (uint64_t i = 0; i < 4 * bytes; i += page) other[i] = 1;
    there = 0;
    for (uint64_t i = 0; i < bytes; i += page) there += engine.residency().test(address(hidden) + i);
  }
  EXPECT_LE(there, bytes / page / 2);
  expect_budget_kept();
  ASSERT_EQ(mprotect(hidden, bytes, PROT_READ), 0);
  for (uint64_t i = 0; i < bytes; i += 8) ASSERT_EQ(*reinterpret_cast<uint64_t *>(hidden + i), i * 31) << i;
}

TEST(Pager, LockedPagesAreCountedAsTheyAre) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t bytes = 64u << 20, page = os::page_size();
  char *region = map(bytes);
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  for (uint64_t i = 0; i < bytes; i += page) region[i] = static_cast<char>(i >> 12);
  if (mlock(region + (1u << 20), 32 * page)) GTEST_SKIP() << "memory cannot be locked here: " << strerror(errno);
  for (unsigned sweep = 0; sweep < 3; ++sweep)
    for (uint64_t i = 0; i < bytes; i += page) {
      ASSERT_EQ(region[i], static_cast<char>((i >> 12) + sweep)) << i;
      ++region[i];
    }
  expect_budget_kept();
}

// The program unmaps a part behind the runtime's back (a system call, not the function): who touches it is not kept waiting.
TEST(Pager, MappingsThatGoUnseenBlockNobody) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t bytes = 8u << 20, page = os::page_size();
  char *region = map(bytes);
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  ASSERT_EQ(munmap(region + (1u << 20), 16 * page), 0);
  for (uint64_t i = 0; i < bytes; i += 64 * page)
    while (!engine.hint({address(region) + i, 64, Hint::kFetch, 0, 0, 0, 0})) std::this_thread::yield();
  for (uint64_t i = 0; i < bytes; i += page)
    if (i < 1u << 20 || i >= (1u << 20) + 16 * page) { ASSERT_EQ(region[i], 0) << i; }
  EXPECT_FALSE(engine.residency().test(address(region) + (1u << 20) + page));
  EXPECT_TRUE(engine.residency().test(address(region) + (1u << 20) - page));
}

namespace {

/// What the kernel says is there of the region, bytes.
uint64_t resident_bytes(const char *region, uint64_t bytes) {
  const uint64_t pages = bytes >> os::page_shift();
  std::vector<uint8_t> there(pages);
  EXPECT_EQ(os::populated(address(region), pages, there.data()), 0);
  uint64_t n = 0;
  for (const uint8_t page : there) n += page;
  return n << os::page_shift();
}

/// Waits, at most ten seconds, until no more than `most` bytes are there.
bool shrinks_to(const char *region, uint64_t bytes, uint64_t most) {
  for (unsigned i = 0; i < 1000 && resident_bytes(region, bytes) > most; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return resident_bytes(region, bytes) <= most;
}

} // namespace

TEST(Pager, AnIdleProgramShrinksToALowerCapAndGrowsAgain) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kMore = 64u << 20, kBytes = 96u << 20;
  char *region = map(kBytes);
  ASSERT_EQ(engine.add(address(region), kBytes), 0);
  auto fill = [&](char value) {
    for (uint64_t i = 0; i < kBytes; i += 512) region[i] = static_cast<char>(value + (i >> 12));
  };
  auto check = [&](char value) {
    for (uint64_t i = 0; i < kBytes; i += 512) ASSERT_EQ(region[i], static_cast<char>(value + (i >> 12))) << i;
  };
  for (char round = 1; round <= 3; ++round) {
    engine.set_cap(kMore);
    fill(round); // while the budget rises
    const uint64_t large = resident_bytes(region, kBytes);
    EXPECT_GT(large, round == 1 ? kBudget / 2 : kBudget);
    EXPECT_LE(large, kMore);
    // Dirty pages and clean ones, and nobody does anything: the pager gives them up by itself.
    engine.set_cap(kBudget);
    EXPECT_TRUE(shrinks_to(region, kBytes, kBudget)) << resident_bytes(region, kBytes);
    EXPECT_EQ(engine.budget(), kBudget);
    check(round);
    EXPECT_LE(resident_bytes(region, kBytes), kBudget);
  }
  EXPECT_GE(engine.statistics.lowered, 3u);
  EXPECT_GE(engine.statistics.raised, 2u);
  EXPECT_GT(engine.statistics.given_back_bytes, kMore - kBudget);
  EXPECT_EQ(engine.remove(address(region), kBytes), 0);
}

TEST(Pager, ThreadsKeepTheirDataWhileTheCapMoves) {
  START_ENGINE(ReleasePolicy::kBuffered);
  std::atomic<bool> done{false};
  std::thread mover([&] {
    std::mt19937 random(7);
    while (!done) {
      engine.set_cap((16 + random() % 48) << 20);
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
    }
  });
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) threads.emplace_back([t] { stress(100 + t, (24 + 8 * t) << 20, 8000); });
  for (auto &t : threads) t.join();
  done = true;
  mover.join();
  EXPECT_LE(engine.statistics.peak_bytes, (64u << 20) * 51 / 50);
  EXPECT_GT(engine.statistics.lowered, 0u);
  EXPECT_EQ(engine.statistics.region_bytes, 0u);
}

// A slice of garbage asks for addresses where nothing is: it may not ask the kernel for ever.
TEST(Pager, SlicesGiveUpOnUnreadableMemory) {
  START_ENGINE(ReleasePolicy::kBuffered);
  SliceReader reader;
  ASSERT_TRUE(reader.start(engine, false));
  const char *there = map(os::page_size());
  for (uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(reader.readable(i << 47), nullptr);
  EXPECT_NE(reader.readable(address(there)), nullptr);
  for (uint64_t i = 1; i <= 200; ++i) EXPECT_EQ(reader.readable(i << 47), nullptr);
  EXPECT_NE(reader.readable(address(there)), nullptr) << "copied before";
  const char *other = map(os::page_size());
  EXPECT_EQ(reader.readable(address(other)), nullptr);
  reader.forget();
  EXPECT_NE(reader.readable(address(other)), nullptr);
}

/// Uses a table of somewhat more words than there is memory for, at random. `next` makes contents.
template <class Next> static void use_at_random(Next next) {
  const uint64_t page = os::page_size(), pages = kBudget * 5 / 4 / page, words = pages * page / sizeof(uint64_t);
  char *memory = map(pages * page);
  auto *table = reinterpret_cast<uint64_t *>(memory);
  ASSERT_EQ(engine.add(address(memory), pages * page), 0);
  std::mt19937_64 random(1);
  std::vector<uint64_t> copy(words);
  for (uint64_t i = 0; i < words; ++i) table[i] = copy[i] = next();
  for (unsigned i = 0; i < 100'000; ++i) {
    const uint64_t at = random() % words;
    ASSERT_EQ(table[at], copy[at]) << "touch " << i;
    if (i % 4 == 0) table[at] = copy[at] = next();
    if (i % 16384 == 0) expect_valid();
  }
  for (uint64_t i = 0; i < words; ++i) ASSERT_EQ(table[i], copy[i]) << i;
  expect_valid();
  expect_budget_kept();
  ASSERT_EQ(engine.remove(address(memory), pages * page), 0);
  expect_valid();
}

TEST(Pager, PagesOnTheShelfAreCompressed) {
  test_options.compress = true;
  START_ENGINE(ReleasePolicy::kBuffered);
  std::mt19937_64 random(2);
  use_at_random([&] { return random() % 1000; });
  const Statistics::SecondChance &chance = engine.statistics.second_chance;
  EXPECT_LT(chance.kept_bytes, chance.waited * os::page_size() * 6 / 10);
  EXPECT_GT(chance.came_back, 1000u);
}

TEST(Pager, NoiseOnTheShelfStaysAsItIs) {
  test_options.compress = true;
  START_ENGINE(ReleasePolicy::kBuffered);
  std::mt19937_64 random(2);
  use_at_random([&] { return random(); });
  const Statistics::SecondChance &chance = engine.statistics.second_chance;
  EXPECT_GT(chance.waited, 0u);
  EXPECT_EQ(chance.kept_bytes, chance.waited * os::page_size());
}

/// Of what the kernel has of this process: page tables, bytes.
static uint64_t page_table_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmPTE:")) return std::stoull(line.substr(6)) << 10;
  return 0;
}

TEST(Pager, PagesInUseComeBackFromTheShelf) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t page = os::page_size(), pages = 2 * kBudget / page, hot = pages / 6;
  char *region = map(pages * page);
  std::unique_ptr<char[]> copy(new char[pages]());
  ASSERT_EQ(engine.add(address(region), pages * page), 0);
  std::mt19937 random(1);
  const auto &chance = engine.statistics.second_chance;
  // Most of a sixth of the pages, some of which are stored to; longer where few of those that wait were.
  for (unsigned i = 0; i < 60'000 || ((!chance.written || chance.came_back <= 200) && i < 600'000); ++i) {
    const uint64_t at = random() % (i % 8 ? hot : pages);
    ASSERT_EQ(region[at * page], copy[at]) << "touch " << i;
    if (i % 4 == 0) region[at * page] = copy[at] = static_cast<char>(i);
    if (i % 8192 == 0) expect_valid();
  }
  for (uint64_t at = 0; at < pages; ++at) ASSERT_EQ(region[at * page], copy[at]) << "page " << at;
  expect_valid();
  EXPECT_GT(chance.came_back, 200u);
  EXPECT_GT(chance.written, 0u);
  expect_budget_kept();
  ASSERT_EQ(engine.remove(address(region), pages * page), 0); // some of it is on the shelf
  expect_valid();
}

// As those that would be read: what is known to come next is on the shelf, or on the disk.
TEST(Pager, PagesOnTheShelfComeBackInTheOrderOfTheirLastUse) {
  test_options.compress = true;
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t page = os::page_size(), pages = kBudget * 5 / 4 / page;
  char *region = map(pages * page);
  ASSERT_EQ(engine.add(address(region), pages * page), 0);
  std::vector<uint64_t> order(pages);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  constexpr unsigned kRounds = 16;
  for (unsigned round = 0; round < kRounds; ++round) {
    for (const uint64_t at : order) {
      ASSERT_EQ(region[at * page], static_cast<char>(round)) << "page " << at;
      region[at * page] = static_cast<char>(round + 1);
    }
    expect_valid();
  }
  EXPECT_GT(engine.statistics.second_chance.came_back, pages);
  // Two a page of the first round, and then the marks, whose windows grow.
  EXPECT_LT(engine.statistics.fault_events, 2 * pages + engine.statistics.second_chance.came_back / 2);
  expect_budget_kept();
  ASSERT_EQ(engine.remove(address(region), pages * page), 0);
  expect_valid();
}

TEST(Pager, WhatIsUsedAgainStaysBesideWhatComesOnce) {
  test_options.second_chance = false; // what it tells is not to be needed
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t page = os::page_size(), hot = kBudget / page / 2, once = 4 * kBudget / page;
  char *region = map((hot + once) * page);
  ASSERT_EQ(engine.add(address(region), (hot + once) * page), 0);
  for (uint64_t at = 0; at < hot; ++at) region[at * page] = static_cast<char>(at);
  std::mt19937 random(1);
  for (uint64_t i = 0; i < once; ++i) {
    for (unsigned k = 0; k < 2; ++k) {
      const uint64_t at = random() % hot;
      ASSERT_EQ(region[at * page], static_cast<char>(at));
    }
    region[(hot + i * 4099 % once) * page] = 1; // once % 4099 is not 0: each place once
    if (i % 8192 == 0) expect_valid();
  }
  expect_valid();
  EXPECT_GT(engine.statistics.unreleased.kept, hot / 2);
  // 9,000; in the order in which they came, without any that are kept, 14,200 to 15,000.
  EXPECT_LT(engine.statistics.not_prefetched, 4 * hot);
  expect_budget_kept();
}

TEST(Pager, TablesOfPagesThatHaveGoneAreGivenBack) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kBytes = 256u << 20;
  char *region = map(kBytes);
  ASSERT_EQ(engine.add(address(region), kBytes), 0);
  for (uint64_t i = 0; i < kBytes; i += os::page_size()) region[i] = static_cast<char>(i >> 12);
  expect_valid();
  const uint64_t pages = kBytes / os::page_size();
  // 8 bytes for each page that was ever used, and 12 and the kernel's 8 for those of stretches with pages in memory.
  EXPECT_LT(engine.statistics.own_bytes - engine.statistics.now.shelf, (2u << 20) + (3u << 20) / 2 + pages * 8 + pages * 20 / 4);
  EXPECT_LT(page_table_bytes(), pages * 8 / 2 + (1u << 20)) << "before Linux 6.14 the kernel keeps them";
  for (uint64_t i = 0; i < kBytes; i += os::page_size()) ASSERT_EQ(region[i], static_cast<char>(i >> 12));
  expect_valid();
}
