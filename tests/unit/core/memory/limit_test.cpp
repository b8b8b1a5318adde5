// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limit under virtual time: alone, beside a neighbour, and several in one pool.
#include "core/memory/limit.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace pagecast::core;

namespace {

constexpr uint64_t kMiB = 1u << 20, kMs = 1000000;
constexpr uint64_t kLowest = 16 * kMiB;
constexpr uint64_t kNoCap = ~uint64_t{0};

/// A program that wants memory, takes what its limit lets it have, and gives back what it must.
struct Program {
  Limit limit;
  uint64_t want = kNoCap, cap = kNoCap;
  uint64_t keeps = 0; ///< below the ceiling, never used
  uint64_t used = 0;
  uint64_t starts_ns = 0;
  uint64_t looked_ns = 0;
  bool running = false;
};

/// One pool in steps of a millisecond. Every program takes and gives at most `rate` bytes a step.
class World {
public:
  World(uint64_t bytes, bool machine) { pool_ = {machine, bytes, bytes, 0}; }

  Program &add(uint64_t starts_ms, uint64_t want = kNoCap, uint64_t cap = kNoCap) {
    Program p;
    p.want = want;
    p.cap = cap;
    p.starts_ns = starts_ms * kMs + 1;
    programs.push_back(p);
    return programs.back();
  }

  void run(uint64_t ms) {
    for (const uint64_t end = now_ms + ms; now_ms < end; ++now_ms) {
      std::shuffle(order().begin(), order().end(), random_);
      for (const size_t i : order_) step(programs[i]);
      free_least = std::min(free_least, free());
      for (const Program &p : programs)
        if (p.running) least_seen = std::min(least_seen, p.limit.budget());
    }
  }

  uint64_t free() const {
    uint64_t taken = others;
    for (const Program &p : programs) taken += p.used;
    return taken < pool_.size ? pool_.size - taken : 0;
  }

  std::vector<Program> programs;
  uint64_t others = 0; ///< held by the neighbours
  uint64_t stalled_ns = 1;
  uint64_t rate = 2 * kMiB;
  uint64_t now_ms = 0;
  uint64_t free_least = kNoCap, least_seen = kNoCap;

private:
  std::vector<size_t> &order() {
    while (order_.size() < programs.size()) order_.push_back(order_.size());
    return order_;
  }

  void step(Program &p) {
    const uint64_t now = now_ms * kMs + 1;
    if (now < p.starts_ns) return;
    if (!p.running) {
      p.limit.start(p.cap, kLowest);
      look(p, now);
      p.running = true;
    }
    const bool filled = p.limit.rising() && p.used + p.keeps + kMiB > p.limit.ceiling();
    if (now - p.looked_ns >= (filled ? Limit::kDemandNs : p.limit.interval_ns())) look(p, now);
    const uint64_t most = std::min(p.want, p.limit.ceiling() - std::min(p.limit.ceiling(), p.keeps));
    if (p.used < most) p.used += std::min({rate, most - p.used, free()});
    else p.used -= std::min(rate, p.used - most);
  }

  void look(Program &p, uint64_t now) {
    pool_.free = free();
    pool_.stalled_ns = stalled_ns;
    p.limit.update(now, p.used, &pool_, 1, std::min(p.keeps, p.limit.ceiling() - std::min(p.limit.ceiling(), p.used)));
    p.looked_ns = now;
  }

  Pool pool_;
  std::vector<size_t> order_;
  std::mt19937 random_{1};
};

void expect_fair(const World &w, double within) {
  uint64_t total = 0;
  for (const Program &p : w.programs) total += p.used;
  const double fair = double(total) / double(w.programs.size());
  for (const Program &p : w.programs) {
    EXPECT_NEAR(double(p.used), fair, within * fair);
    EXPECT_NEAR(double(p.limit.budget()), fair, within * fair);
  }
}

TEST(Limit, IsReadAgainWhenAsMuchMayHaveBeenTaken) {
  EXPECT_FALSE(Limit::may_be_filled(0, 0));
  EXPECT_TRUE(Limit::may_be_filled(Limit::kFilled, 0));
  EXPECT_TRUE(Limit::may_be_filled(0, Limit::kFilled * Limit::kNsPerByte)) << "by others";
  EXPECT_TRUE(Limit::may_be_filled(Limit::kFilled / 2, Limit::kFilled / 2 * Limit::kNsPerByte)) << "by all together";
  unsigned asked = 0; // a page every 0.1 ms
  uint64_t placed = 0, since = 0;
  for (unsigned page = 1; page <= 1000; ++page) {
    placed += 4096;
    if (!Limit::may_be_filled(placed, page * (kMs / 10) - since)) continue;
    ++asked, placed = 0, since = page * (kMs / 10);
  }
  EXPECT_EQ(asked, 200u);
}

} // namespace

TEST(Limit, TheCapIsTheBudgetWhileThereIsRoom) {
  World w(8192 * kMiB, true);
  w.add(0, kNoCap, 512 * kMiB);
  w.run(2000);
  EXPECT_EQ(w.programs[0].limit.budget(), 512 * kMiB);
  EXPECT_EQ(w.programs[0].used, 512 * kMiB);
}

TEST(Limit, WhoKeepsAReserveOfItsOwnComesToUseTheRest) {
  World w(64 * kMiB, false);
  w.add(0).keeps = 2 * kMiB;
  w.run(8000);
  EXPECT_GE(w.programs[0].used, w.programs[0].limit.budget() - 5 * kMiB / 2);
}

TEST(Limit, AnotherLookIsNotWaitedForWhenItBringsLittle) {
  Limit limit;
  limit.start(kNoCap, kLowest);
  Pool pool{false, 64 * kMiB, 10 * kMiB, 0};
  limit.update(1, 54 * kMiB, &pool, 1);
  EXPECT_TRUE(limit.worth_waiting());
  pool.free = reserve(pool) + 2 * kMiB; // a sixth of it
  limit.update(3 * kMs, 59 * kMiB, &pool, 1);
  EXPECT_TRUE(limit.rising());
  EXPECT_FALSE(limit.worth_waiting());
}

TEST(Limit, AloneInAGroupItTakesAllButTheReserve) {
  World w(256 * kMiB, false);
  w.add(0);
  w.run(1000);
  EXPECT_GT(w.programs[0].used, 240 * kMiB);
  EXPECT_GE(w.free_least, 6 * kMiB);
}

TEST(Limit, WhoIsAloneInAGroupKeepsLittleFreeAndLeavesNoShare) {
  Limit limit;
  Pool pool{false, 256 * kMiB, 56 * kMiB, 0};
  const uint64_t among_others = reserve(pool);
  pool.shared = false;
  EXPECT_LT(reserve(pool), among_others / 3);
  limit.start(kNoCap, kLowest);
  limit.update(1, 200 * kMiB, &pool, 1);
  EXPECT_EQ(limit.budget(), 256 * kMiB - reserve(pool));
  EXPECT_EQ(limit.ceiling(), limit.budget()); // nobody else fills the group meanwhile
  pool.shared = true; // somebody came
  limit.update(2 * kMs, 200 * kMiB, &pool, 1);
  EXPECT_LE(limit.budget(), (256 * kMiB - among_others) / (Limit::kShares + 1) * Limit::kShares + Limit::kShares);
}

TEST(Limit, TheReserveGrowsWhereTheLimitWasHitAndStaysSoForAWhile) {
  Limit limit;
  Pool pool{false, 256 * kMiB, 50 * kMiB, 0};
  pool.shared = false;
  pool.hits = 7; // of long ago
  limit.start(kNoCap, kLowest);
  limit.update(1, 200 * kMiB, &pool, 1);
  const uint64_t before = limit.budget(), usual = reserve(pool);
  EXPECT_EQ(before, 250 * kMiB - usual);
  pool.hits = 9;
  limit.update(50 * kMs, 200 * kMiB, &pool, 1);
  EXPECT_EQ(limit.budget(), before - usual / 2);
  for (uint64_t s = 1; s <= 9; ++s) limit.update(s * 1000 * kMs, 200 * kMiB, &pool, 1);
  EXPECT_EQ(limit.budget(), before - usual / 2);
  for (uint64_t s = 10; s <= 13; ++s) limit.update(s * 1000 * kMs, 200 * kMiB, &pool, 1);
  EXPECT_EQ(limit.budget(), before);
  pool.hits = 0; // there is page cache that hits it
  limit.update(13050 * kMs, 200 * kMiB, &pool, 1);
  pool.hits = 20;
  limit.update(13100 * kMs, 200 * kMiB, &pool, 1);
  EXPECT_EQ(limit.budget(), before);
}

TEST(Limit, WhatIsLeftGrowsWhileCodeIsReadAgain) {
  Limit limit;
  limit.start(kNoCap, kLowest);
  Pool pool{false, 256 * kMiB, 16 * kMiB, 0};
  pool.shared = false;
  pool.code.again = 1;
  limit.update(1, 240 * kMiB, &pool, 1);
  EXPECT_EQ(limit.kept(), reserve(pool));
  pool.code.again += 2000;
  ++pool.code.waits;
  limit.update(1 + 100 * kMs, 240 * kMiB, &pool, 1);
  EXPECT_EQ(limit.kept(), reserve(pool) + 1 * kMiB);
  EXPECT_EQ(limit.budget(), 256 * kMiB - reserve(pool) - 1 * kMiB);
}

/// Alone in a group of 256 MiB whose devices read 4 MiB ahead.
Pool read_pool() {
  Pool pool{false, 256 * kMiB, 50 * kMiB, 0};
  pool.shared = false;
  pool.read_ahead = 4 * kMiB;
  pool.files_read = 70 * kMiB; // of long ago
  return pool;
}

/// Who holds 200 MiB there.
struct Reader {
  /// The first look. Returns the budget.
  uint64_t start() {
    limit.start(kNoCap, kLowest);
    limit.update(1, 200 * kMiB, &pool, 1);
    return limit.budget();
  }
  uint64_t look(uint64_t ms) {
    limit.update(ms * kMs, 200 * kMiB, &pool, 1);
    return limit.budget();
  }
  Limit limit;
  Pool pool = read_pool();
};

TEST(Limit, WhoReadsFilesKeepsWhatTheKernelReadsAheadFree) {
  Reader reader;
  Pool &pool = reader.pool;
  const uint64_t before = reader.start();
  EXPECT_EQ(before, 250 * kMiB - reserve(pool));
  pool.files_read += 100 << 10; // a library, perhaps
  EXPECT_EQ(reader.look(10), before);
  pool.files_read += 300 << 10;
  EXPECT_EQ(reader.look(20), before - (1200 << 10)) << "as much as the kernel may read next";
  EXPECT_FALSE(reader.limit.keeps_all_for_reads());
  pool.files_read += 3 * kMiB;
  EXPECT_EQ(reader.look(21), before - 10 * kMiB);
  EXPECT_TRUE(reader.limit.keeps_all_for_reads());
  pool.files_read -= 200 << 10; // pages were asked for that have not come yet
  reader.look(30);
  pool.files_read += 200 << 10;
  for (uint64_t i = 4; i <= 100; ++i) reader.look(i * 10);
  EXPECT_EQ(reader.limit.budget(), before - 10 * kMiB);
  for (uint64_t s = 2; s <= 4; ++s) reader.look(s * 1000);
  EXPECT_GE(reader.limit.budget(), before - before / 1024) << "it is the program's again when nothing is read";
}

TEST(Limit, OfAShortFileLittleIsKept) {
  Reader reader;
  const uint64_t before = reader.start();
  for (uint64_t file = 0; file < 5; ++file) { // each is forgotten when the next one comes
    reader.pool.files_read += 512 << 10;
    EXPECT_EQ(reader.look(10000 * file + 10), before - 2 * kMiB);
    for (uint64_t ms = 20; ms <= 5000; ms += 10) reader.look(10000 * file + ms);
    EXPECT_GE(reader.limit.budget(), before - before / 1024);
  }
}

TEST(Limit, WhatWasKeptForAFileThatIsGoneComesBackAtOnce) {
  Reader reader;
  reader.pool.code.again = 1;
  reader.pool.code.cache = 1 * kMiB;
  const uint64_t before = reader.start();
  reader.pool.files_read += 16 * kMiB;
  EXPECT_EQ(reader.look(10), before - 10 * kMiB);
  EXPECT_EQ(reader.look(100), before - 10 * kMiB) << "it may go on at once";
  reader.pool.code.cache = 9 * kMiB; // it may still be on its way
  EXPECT_EQ(reader.look(120), before - 10 * kMiB);
  reader.pool.code.cache = 4 * kMiB;
  EXPECT_EQ(reader.look(130), before - 6 * kMiB) << "what is on its way is page cache, or a folio that is not counted yet";
  reader.pool.code.cache = 0; // the file was closed, and has no name
  EXPECT_EQ(reader.look(140), before - 2 * kMiB);
  reader.pool.files_read += kMiB;
  EXPECT_EQ(reader.look(150), before - 10 * kMiB) << "it is read again as before";
}

TEST(Limit, WhatIsReadForCodeIsNoFile) {
  Reader reader;
  reader.pool.code_waits = 100; // of long ago
  const uint64_t before = reader.start();
  ++reader.pool.code_waits;
  for (unsigned i = 1; i <= 4; ++i) { // one wait has the kernel read as much as it does at once
    reader.pool.files_read += kMiB;
    EXPECT_EQ(reader.look(i * 10), before);
  }
  reader.pool.files_read += kMiB;
  EXPECT_EQ(reader.look(50), before - 4 * kMiB) << "more than that is a file";
}

TEST(Limit, AWaitForCodeOfLongAgoCoversNothing) {
  Reader reader;
  reader.pool.code_waits = 100;
  const uint64_t before = reader.start();
  reader.pool.code_waits += 1000;
  reader.look(10);
  reader.pool.files_read += 3 * kMiB;
  EXPECT_EQ(reader.look(200), before - 10 * kMiB);
}

TEST(Limit, ALargeReadAheadTakesNoMoreThanAPartOfASmallGroup) {
  Limit limit;
  Pool pool = read_pool();
  pool.size = 32 * kMiB;
  pool.free = 12 * kMiB;
  pool.read_ahead = 64 * kMiB;
  limit.start(kNoCap, kMiB);
  limit.update(1, 20 * kMiB, &pool, 1);
  for (uint64_t i = 1; i <= 5; ++i) {
    pool.files_read += kMiB;
    limit.update(i * 10 * kMs, 20 * kMiB, &pool, 1);
  }
  EXPECT_TRUE(limit.keeps_all_for_reads());
  EXPECT_EQ(limit.budget(), 32 * kMiB - reserve(pool) - 16 * kMiB);
}

TEST(Limit, WhoIsAloneIsHeldBackOnlyByAPoolThatOthersFill) {
  Limit limit;
  Pool pools[] = {{true, 4096 * kMiB, 200 * kMiB, 0}, {false, 256 * kMiB, 150 * kMiB, 0}};
  pools[1].shared = false;
  limit.start(kNoCap, kLowest);
  limit.update(1, 100 * kMiB, pools, 2); // of the machine 78 MiB are left above its reserve, of the group 147
  EXPECT_GT(limit.ceiling(), 110 * kMiB);
  EXPECT_LT(limit.ceiling(), 114 * kMiB);
}

TEST(Limit, WhereOthersMayBeSwappedOutThereIsPageCacheToGiveUpInstead) {
  Pool pool;
  pool.size = pool.free = 256 * kMiB;
  const uint64_t alone = reserve(pool);
  pool.read = 2 * kMiB;
  EXPECT_EQ(reserve(pool), alone + 8 * kMiB) << "little is read, or goes at once";
  pool.read = 40 * kMiB;
  EXPECT_EQ(reserve(pool), alone + 32 * kMiB);
  pool.size = pool.free = 64 * kMiB;
  EXPECT_EQ(reserve(pool), 3 * kMiB + 8 * kMiB) << "an eighth";
  pool.machine = true;
  EXPECT_EQ(reserve(pool), 64 * kMiB) << "the machine's is large enough";
}

TEST(Limit, TheReserveOfTheMachineStaysFree) {
  World w(8192 * kMiB, true);
  w.rate = 8 * kMiB;
  w.add(0);
  w.run(4000);
  EXPECT_GE(w.free_least, 8192 * kMiB * 3 / 100);
  EXPECT_GT(w.programs[0].used, 8192 * kMiB * 95 / 100);
}

TEST(Limit, GivesANeighbourWhatItTakesAndTakesItBackSlowly) {
  World w(256 * kMiB, false);
  w.add(0);
  w.run(1000);
  const uint64_t before = w.programs[0].used;
  // 64 MiB in 640 ms; given back with two looks' delay at most, the pool is never empty.
  for (unsigned i = 0; i < 64; ++i) {
    w.others += kMiB;
    w.run(10);
  }
  EXPECT_GT(w.free_least, 0u);
  w.run(100);
  EXPECT_LE(w.programs[0].used, before - 62 * kMiB);
  EXPECT_GE(w.programs[0].used, before - 68 * kMiB);
  w.others = 0;
  w.run(100);
  EXPECT_LT(w.programs[0].used, before - 32 * kMiB) << "a neighbour that comes and goes finds room for a while";
  w.run(1500);
  EXPECT_GE(w.programs[0].used, before - kMiB);
}

TEST(Limit, NeverFallsBelowTheLeast) {
  World w(64 * kMiB, false);
  w.add(0);
  w.run(500);
  w.others = 64 * kMiB;
  w.run(500);
  EXPECT_EQ(w.programs[0].limit.budget(), kLowest);
  EXPECT_EQ(w.programs[0].used, kLowest);
}

TEST(Limit, ANewcomerInAFullPoolGetsItsShare) {
  World w(512 * kMiB, false);
  w.add(0);
  w.add(3000);
  w.run(3000);
  EXPECT_GT(w.programs[0].used, 480 * kMiB);
  w.run(4000);
  expect_fair(w, 0.2);
  EXPECT_GT(w.free_least, 0u);
}

TEST(Limit, AnyNumberFromAnyStartMeetsAtEqualShares) {
  for (unsigned n = 2; n <= 8; ++n) {
    SCOPED_TRACE(n);
    World w(1024 * kMiB, false);
    for (unsigned i = 0; i < n; ++i) w.add(700 * (i * 7 % n)); // a late one finds the others at very different sizes
    w.run(700 * n + 6000);
    expect_fair(w, 0.2);
    EXPECT_GE(w.least_seen, kLowest);
    EXPECT_GT(w.free_least, 0u) << "the pool ran out: somebody would have been killed";
  }
}

TEST(Limit, WhoWantsLittleLeavesTheRestToTheOthers) {
  World w(512 * kMiB, false);
  w.add(0, 64 * kMiB);
  w.add(0);
  w.add(0);
  w.run(8000);
  EXPECT_EQ(w.programs[0].used, 64 * kMiB);
  EXPECT_NEAR(double(w.programs[1].used), 215.0 * kMiB, 43.0 * kMiB);
  EXPECT_NEAR(double(w.programs[2].used), 215.0 * kMiB, 43.0 * kMiB);
}

TEST(Limit, OnesThatStartTogetherDoNotExhaustThePool) {
  World w(256 * kMiB, false);
  w.rate = 5 * kMiB; // as fast as untouched pages are made
  for (unsigned i = 0; i < 4; ++i) w.add(0);
  w.run(3000);
  EXPECT_GT(w.free_least, 0u);
  expect_fair(w, 0.2);
}

TEST(Limit, TheTightestPoolCounts) {
  Limit limit;
  limit.start(kNoCap, kLowest);
  const Pool pools[] = {
      {true, 8192 * kMiB, 6000 * kMiB, 0}, {false, 300 * kMiB, 100 * kMiB, 0}, {false, 1024 * kMiB, 60 * kMiB, 0}};
  limit.update(1, 50 * kMiB, pools, 3);
  const uint64_t could = 50 * kMiB + 60 * kMiB - reserve(pools[2]);
  EXPECT_EQ(limit.budget(), could - could / (Limit::kShares + 1));
}

TEST(Limit, StallsOfOthersMakeTheReserveGrowAndShrinkAgain) {
  World w(1024 * kMiB, false);
  w.add(0);
  w.run(2000);
  const uint64_t calm = w.programs[0].used;
  for (unsigned i = 0; i < 1000; ++i) {
    w.stalled_ns += kMs / 2; // half of the time somebody waits
    w.run(1);
  }
  const uint64_t strained = w.programs[0].used;
  EXPECT_LT(strained, calm - 3 * 16 * kMiB);
  EXPECT_GT(strained, calm / 2) << "stalls whose cause is elsewhere must not take all";
  w.run(8000);
  EXPECT_GE(w.programs[0].used, calm - 8 * kMiB);
}

TEST(Limit, LooksComeSoonerWhereLittleIsFree) {
  Limit limit;
  limit.start(64 * kMiB, kLowest);
  Pool pool{false, 256 * kMiB, 100 * kMiB, 0};
  limit.update(1, 64 * kMiB, &pool, 1);
  const uint64_t much = limit.interval_ns();
  EXPECT_LE(much, 100 * kMs);
  pool.free = 8 * kMiB;
  limit.update(2000 * kMs, 64 * kMiB, &pool, 1);
  limit.update(4000 * kMs, 64 * kMiB, &pool, 1);
  EXPECT_LT(limit.interval_ns(), much);
  EXPECT_GE(limit.interval_ns(), 10 * kMs);
}

TEST(Limit, LooksAreRareWhileNothingChangesAndThePoolTells) {
  const Pool machine{true, 8192 * kMiB, 4096 * kMiB, 0};
  Pool pools[] = {machine, {false, 256 * kMiB, 8 * kMiB, 0}};
  auto settled = [&](Limit &limit) {
    limit.start(kNoCap, kLowest);
    for (uint64_t i = 1; i <= 20; ++i) limit.update(i * 1000 * kMs, 200 * kMiB, pools, 2);
    return limit.interval_ns();
  };
  Limit limit;
  EXPECT_LE(settled(limit), 40 * kMs) << "it may be taken without a word";
  pools[1].tells = true;
  EXPECT_GE(settled(limit), 400 * kMs);
  pools[1].free = 4 * kMiB; // it has told
  limit.update(21000 * kMs, 200 * kMiB, pools, 2);
  EXPECT_LE(limit.interval_ns(), 50 * kMs);
}

TEST(Limit, NothingKnownLeavesTheBudget) {
  Limit limit;
  limit.start(kNoCap, kLowest);
  const Pool pool{false, 256 * kMiB, 256 * kMiB, 0};
  limit.update(1, 0, &pool, 1);
  const uint64_t before = limit.budget();
  limit.update(50 * kMs, 100 * kMiB, nullptr, 0);
  EXPECT_EQ(limit.budget(), before);
}

TEST(Limit, ExposedIsWhatABurstOfOthersWouldTake) {
  Limit limit;
  limit.start(kNoCap, kLowest);
  const Pool pool{false, 256 * kMiB, 56 * kMiB, 0};
  limit.update(1, 200 * kMiB, &pool, 1);
  const uint64_t room = limit.budget() - 200 * kMiB; // some 46 MiB
  EXPECT_EQ(limit.exposed(200 * kMiB, 40 * kMiB), 0u);
  EXPECT_EQ(limit.exposed(200 * kMiB, 100 * kMiB), 100 * kMiB - room);
  EXPECT_EQ(limit.exposed(20 * kMiB, 1024 * kMiB), 4 * kMiB) << "never below the least";
  limit.cap(64 * kMiB); // the user's cap is lower: what others take was not the program's
  limit.update(kMs, 64 * kMiB, &pool, 1);
  EXPECT_EQ(limit.exposed(64 * kMiB, 32 * kMiB), 0u);
  EXPECT_GT(limit.exposed(64 * kMiB, 128 * kMiB), 0u);
  Limit unknown;
  unknown.start(kNoCap, kLowest);
  EXPECT_EQ(unknown.exposed(200 * kMiB, 100 * kMiB), 0u);
}

TEST(Limit, ALowerCapCountsAtOnce) {
  World w(1024 * kMiB, false);
  w.add(0, kNoCap, 512 * kMiB);
  w.run(1000);
  w.programs[0].limit.cap(100 * kMiB);
  w.run(400);
  EXPECT_EQ(w.programs[0].used, 100 * kMiB);
}
