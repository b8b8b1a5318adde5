// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/nest.h"
#include "tests/unit/core/shapes.h"
#include <gtest/gtest.h>
#include <map>
#include <memory>

namespace pagecast::core::test {
namespace {

/// One nest, a map and a recorder, with a program that takes `step_ns` a step.
struct Play {
  Play(const Shape &s, const Conditions &c) : sink(memory.map) { nest->start(s, c, 0); }
  uint64_t at(uint64_t step) { return nest->advance(step, step * step_ns, memory.map, sink); }
  void run(uint64_t from, uint64_t to) {
    for (uint64_t step = from, wake = from; step < to; ++step)
      if (step >= wake) wake = at(step), ++calls;
  }
  /// Up to which byte, exclusive, group 0 has been fetched.
  Addr reached() const {
    Addr end = 0;
    for (const auto &f : sink.fetches) end = std::max(end, f.e.end);
    return end;
  }
  std::unique_ptr<Nest> nest = std::make_unique<Nest>();
  SmallMap memory;
  Recorder sink;
  uint64_t step_ns = 10000, calls = 0;
};

Shape sweep(uint64_t pages) { return nest_of({pages * 512}, {array(kBase, {8})}); }

TEST(Nest, FetchesTheDistanceAheadAndNotMore) {
  Conditions c = machine(uint64_t{1} << 30);
  c.fixed_distance = 10;
  Play p(sweep(10000), c);
  p.at(0);
  const uint64_t step_bytes = p.nest->plan().step_bytes;
  EXPECT_GE(p.reached(), kBase + 11 * step_bytes);
  EXPECT_LE(p.reached(), kBase + 16 * step_bytes) << "a batch on top";
}

TEST(Nest, NothingIsFetchedBehindTheFenceUntilItIsMoved) {
  Conditions c = machine(uint64_t{1} << 30);
  c.fixed_distance = 100;
  Play p(sweep(10000), c);
  p.nest->stop_before(20);
  EXPECT_EQ(p.at(0), ~uint64_t{0}) << "who moves it calls";
  const uint64_t step_bytes = p.nest->plan().step_bytes;
  EXPECT_EQ(p.reached(), kBase + 20 * step_bytes);
  p.nest->stop_before(30);
  p.at(1);
  EXPECT_EQ(p.reached(), kBase + 30 * step_bytes);
  p.nest->stop_before(~uint64_t{0});
  p.at(2);
  EXPECT_GT(p.reached(), kBase + 100 * step_bytes);
}

TEST(Nest, ShortStepsAreTakenManyAtATime) {
  Conditions c = machine(64 << 20);
  c.queue_bytes = 2 << 20;
  const auto fetched_by_one_call = [&](const Shape &s) {
    Play p(s, c);
    p.at(0);
    EXPECT_LT(p.nest->plan().step_bytes, 100u);
    const uint64_t bytes = p.reached() - kBase;
    p.run(0, s.trips[0]);
    p.nest->finish(s.trips[0], p.sink);
    EXPECT_EQ(p.sink.fetched_pages().size(), s.trips[0] * 64 / kPage);
    return bytes;
  };
  const Shape rows = nest_of({640000, 8}, {array(kBase, {64, 8})}); // of eight elements, a step each
  EXPECT_GT(fetched_by_one_call(rows), 4 * Nest::kBurst * 64);
  Shape sliced = nest_of({640000}, {array(kBase, {64})}, false);
  sliced.stages = 1;
  sliced.sliced_bytes = 8; // what a slice goes through: a step each
  EXPECT_GT(fetched_by_one_call(sliced), 4 * Nest::kBurst * 64);
}

TEST(Nest, RequestsAreLargeAndCallsAreFew) {
  Conditions c = machine(uint64_t{1} << 30);
  c.fixed_distance = 16;
  Play p(sweep(10000), c);
  p.run(0, p.nest->steps());
  EXPECT_EQ(p.sink.fetched_pages().size(), 10000u);
  EXPECT_LE(p.sink.fetches.size(), 10000u / 16 + 1 + p.calls) << "64 KiB each, but for the ends of batches";
  EXPECT_LE(p.calls, p.nest->steps() / 4 + 1);
}

TEST(Nest, TheFirstOfEachRowDoesNotCutUpTheRows) {
  // 2000 rows of 605 doubles: the first of each comes by itself, the others by a loop inside.
  for (const bool write : {false, true}) {
    Group first = array(kBase, {4840, 0}), others = array(kBase + 8, {4840, 8});
    first.writes = write;
    Shape s = nest_of({2000, 604}, {first, others}, false);
    s.ticked = 0;
    Play p(s, machine(uint64_t{1} << 30));
    p.run(0, p.nest->steps());
    EXPECT_EQ(p.sink.fetched_pages().size(), 2000u * 4840 / kPage + 1);
    size_t small = 0;
    for (const auto &f : p.sink.fetches) small += f.e.size() <= 2 * kPage;
    if (write) {
      EXPECT_GT(small, 100u) << "pages to be stored to are asked for as such";
    } else {
      EXPECT_LE(small, 2 * p.calls);
      EXPECT_LE(p.sink.fetches.size(), p.sink.fetched_pages().size() / 16 + 2 * p.calls);
    }
  }
}

// As of a loop that does not run, whose count wraps round.
TEST(Nest, OfAnExtentAsLargeAsTheAddressSpaceOnlyWhatIsServedIsAskedFor) {
  Shape s = nest_of({100, uint64_t{1} << 44}, {array(kBase, {8, 8})});
  s.ticked = 0;
  Play p(s, machine(uint64_t{1} << 50));
  p.sink.served = {kBase + 1000 * kPage, kBase + 1016 * kPage};
  p.at(0);
  EXPECT_EQ(p.sink.fetched_pages().size(), 16u);
}

TEST(Nest, EverythingResidentFetchesNothing) {
  Play p(sweep(1000), machine(uint64_t{1} << 30));
  p.memory.map.set({kBase, kBase + 1000 * kPage});
  p.run(0, p.nest->steps());
  EXPECT_TRUE(p.sink.fetches.empty());
  EXPECT_TRUE(p.nest->fits());
}

TEST(Nest, ARefusedFetchIsAskedAgainAndNothingIsLost) {
  Conditions c = machine(uint64_t{1} << 30);
  c.fixed_distance = 1000;
  Play p(sweep(500), c);
  int calls = 0;
  p.sink.refuse = [&] { return ++calls % 3 != 0; };
  EXPECT_EQ(p.at(0), 0u) << "again at once, when there is room";
  EXPECT_TRUE(p.nest->blocked());
  EXPECT_TRUE(p.sink.fetches.empty());
  for (int i = 0; i < 1000; ++i) p.at(0);
  EXPECT_FALSE(p.sink.twice);
  EXPECT_FALSE(p.nest->blocked());
  EXPECT_EQ(p.sink.fetched_pages().size(), 500u);
}

TEST(Nest, AnOvertakenCursorJumps) {
  Conditions c = machine(uint64_t{1} << 30);
  c.fixed_distance = 2;
  Play p(sweep(10000), c);
  p.at(0);
  const size_t before = p.sink.fetches.size();
  p.at(1000);
  ASSERT_GT(p.sink.fetches.size(), before);
  EXPECT_GE(p.sink.fetches[before].e.begin, kBase + 1000 * p.nest->plan().step_bytes) << "nothing behind the program";
}

TEST(Nest, CarriesIntoTheNextOuterIteration) {
  // Ten rows, not next to each other, each shorter than the distance.
  Conditions c = machine(uint64_t{1} << 30);
  c.fixed_distance = 100;
  const Shape s = nest_of({10, 8192}, {array(kBase, {1 << 20, 8})});
  Play p(s, c);
  p.at(0);
  EXPECT_GT(p.reached(), kBase + (3u << 20));
  c.schedule = Schedule::kSingle;
  Play single(s, c);
  single.at(0);
  EXPECT_EQ(single.reached(), kBase + 65536) << "the end of the first row";
}

TEST(Nest, NestedFetchesTheOuterBlockAndClipsTheInnerOffset) {
  Conditions c = machine(uint64_t{1} << 30);
  c.schedule = Schedule::kNested;
  c.max_io = kPage;
  const Shape s = nest_of({10, 16}, {array(kBase, {1 << 20, 4096})}, false); // 16 steps a row, a page each
  c.fixed_distance = 16 + 4;
  Play p(s, c);
  p.at(0);
  // d = (1, 4): row 0 whole, row 1 up to and including page 4, and a batch (5) on top.
  EXPECT_EQ(p.reached(), kBase + (1 << 20) + 10 * kPage);
  p.run(1, 16);
  EXPECT_EQ(p.reached(), kBase + (2u << 20) - (1 << 20) + 16 * kPage) << "clipped at the end of row 1";
  p.at(16);
  EXPECT_GT(p.reached(), kBase + (2u << 20));
}

TEST(Nest, IndexArraysAreFetchedFurtherAhead) {
  Conditions c = machine(uint64_t{1} << 30);
  c.fixed_distance = 8;
  Shape s = nest_of({1 << 22}, {array(kBase, {8}), array(kBase + (64 << 20), {8})});
  s.group[1].index = true;
  Play p(s, c);
  p.at(0);
  Addr direct = 0, index = 0;
  for (const auto &f : p.sink.fetches) (f.group ? index : direct) = std::max(f.group ? index : direct, f.e.end);
  EXPECT_EQ(index - (kBase + (64 << 20)) - (direct - kBase), p.nest->slice_distance() * p.nest->plan().group[0].step_bytes);
}

TEST(Nest, WritesAreAskedForAsWrites) {
  Shape s = sweep(100);
  s.group[0].writes = true;
  Play p(s, machine(1 << 30));
  p.at(0);
  ASSERT_FALSE(p.sink.fetches.empty());
  EXPECT_TRUE(p.sink.fetches[0].write);
}

TEST(Nest, ReleasesRunOneStepBehind) {
  Conditions c = machine(1 << 20);
  c.fixed_distance = 2;
  Play p(sweep(10000), c);
  const uint64_t step_bytes = p.nest->plan().step_bytes;
  p.run(0, 101);
  Addr end = kBase;
  for (const auto &r : p.sink.releases) {
    EXPECT_EQ(r.e.begin, end) << "in order, without gaps";
    end = r.e.end;
  }
  EXPECT_LE(end, kBase + 99 * step_bytes);
  EXPECT_GE(end, kBase + 80 * step_bytes);
  p.nest->finish(101, p.sink);
  EXPECT_EQ(p.sink.releases.back().e.end, kBase + 101 * step_bytes);
}

TEST(Nest, KeptRowsAreReleasedOncePerSweep) {
  // MATVEC with a row that fits: b's pages go once per iteration of iter, a's step by step.
  const Shape s = nest_of({3, 20, 1 << 16}, {array(kBase, {0, 1 << 19, 8}), array(kBase + (64 << 20), {0, 0, 8})});
  Play p(s, machine(4 << 20));
  ASSERT_EQ(p.nest->plan().group[1].release_unit, 0);
  p.run(0, p.nest->steps());
  p.nest->finish(p.nest->steps(), p.sink);
  uint64_t b = 0, a = 0;
  for (const auto &r : p.sink.releases) (r.group ? b : a) += r.e.size();
  EXPECT_EQ(b, 3u << 19);
  EXPECT_EQ(a, 3u * 20 << 19);
}

/// Memory that gives up released pages as core/memory/replacement.h has it: the lowest priority first, then the latest.
struct SmallMemory {
  SmallMemory(Play &play, uint64_t pages) : p(play), limit(pages) {}
  /// Takes what has been fetched and released since.
  void follow() {
    for (; seen < p.sink.releases.size(); ++seen) {
      const auto &r = p.sink.releases[seen];
      for (Addr a = r.e.begin; a < r.e.end; a += kPage) {
        const bool back = p.memory.map.test(a);
        if (back) p.memory.map.clear({a, a + kPage}), released[std::min(r.priority, 1u)].push_back(a), place[a] = r.priority;
      }
    }
    for (; taken < p.sink.fetches.size(); ++taken)
      for (Addr a = p.sink.fetches[taken].e.begin; a < p.sink.fetches[taken].e.end; a += kPage) {
        reads += !resident.count(a);
        resident.insert(a);
        place.erase(a);
      }
    for (auto &stack : released)
      while (resident.size() > limit && !stack.empty()) {
        const Addr a = stack.back();
        stack.pop_back();
        if (place.count(a) && resident.erase(a)) place.erase(a);
      }
  }
  Play &p;
  uint64_t limit, reads = 0;
  size_t seen = 0, taken = 0;
  std::set<Addr> resident;
  std::map<Addr, unsigned> place;
  std::vector<Addr> released[2];
};

TEST(Nest, DownColumnsWhatTheNextColumnWantsStays) {
  // 2,048 rows of five pages; each column of 256 bytes touches 8 MiB, of which the next one wants 15 of 16 pages again.
  constexpr uint64_t kRows = 2048, kColumns = 80;
  Play p(nest_of({kColumns, kRows}, {array(kBase, {256, 5 * 4096 + 64})}), machine(6 << 20));
  ASSERT_EQ(p.nest->plan().localized, 1u) << "a column does not fit";
  SmallMemory memory(p, 1536);
  for (uint64_t step = 0; step < p.nest->steps(); ++step) p.at(step), memory.follow();
  EXPECT_LT(memory.reads, kColumns * kRows / 2) << "a quarter does not fit, and a sixteenth is new";
}

TEST(Nest, ColumnWalksFetchWideAndReleaseLate) {
  // 64 rows of 1 MiB, 2048 columns: sixteen kilobytes, four pages, of each row.
  const Shape s = nest_of({2048, 64}, {array(kBase, {8, 1 << 20})});
  Play p(s, machine(900 << 10));
  ASSERT_EQ(p.nest->plan().group[0].release_unit, 0);
  p.run(0, p.nest->steps());
  EXPECT_EQ(p.sink.fetched_pages().size(), 64u * 4);
  EXPECT_FALSE(p.sink.twice);
  p.nest->finish(p.nest->steps(), p.sink);
  uint64_t released = 0;
  for (const auto &r : p.sink.releases) released += r.e.size();
  EXPECT_EQ(released, 64u * 4 * kPage) << "once each, not once per column";
  EXPECT_EQ(p.sink.fetches[0].e.size(), p.nest->plan().group[0].block);
}

TEST(Nest, InCompanyItReleasesWhatItWouldHaveKept) {
  Play p(sweep(200), machine(4 << 20));
  ASSERT_TRUE(p.nest->fits());
  const uint64_t strip = p.nest->strip();
  p.run(0, p.nest->steps() / 2);
  EXPECT_TRUE(p.sink.releases.empty());
  p.nest->share(400 << 10, 0, p.nest->steps() / 2);
  EXPECT_FALSE(p.nest->fits());
  EXPECT_EQ(p.nest->strip(), strip) << "the program is at it";
  p.run(p.nest->steps() / 2, p.nest->steps());
  p.nest->finish(p.nest->steps(), p.sink);
  ASSERT_FALSE(p.sink.releases.empty());
  EXPECT_GE(p.sink.releases.front().e.begin, kBase + 90 * kPage) << "what was passed before stays as it was";
  EXPECT_FALSE(p.sink.twice);
}

TEST(Nest, InMemoryThatIsFullItReleasesAlthoughItFits) {
  Play p(sweep(200), machine(4 << 20));
  p.nest->release_along(0, 0);
  EXPECT_TRUE(p.nest->fits());
  p.run(0, p.nest->steps());
  p.nest->finish(p.nest->steps(), p.sink);
  uint64_t released = 0;
  for (const auto &r : p.sink.releases) released += r.e.size();
  EXPECT_EQ(released, 200 * kPage);
  EXPECT_FALSE(p.sink.twice);

  Play kept(sweep(200), machine(4 << 20));
  kept.nest->release_along(1, 0);
  kept.run(0, kept.nest->steps());
  kept.nest->finish(kept.nest->steps(), kept.sink);
  EXPECT_TRUE(kept.sink.releases.empty());
}

TEST(Nest, BesideScatteredGroupsWhatFitsIsNotReleased) {
  Shape s = sweep(200);
  s.group[s.groups] = array(uint64_t{1} << 40, {0});
  s.group[s.groups].indirect = s.group[s.groups].scattered = true;
  ++s.groups;
  Play p(s, machine(4 << 20));
  p.nest->release_along(0, 0);
  p.run(0, p.nest->steps());
  p.nest->finish(p.nest->steps(), p.sink);
  EXPECT_TRUE(p.sink.releases.empty()) << "the list would go before the pages that it names, which nobody gives up";
}

TEST(Nest, WhatAnotherNestUsesLaterIsLeftToIt) {
  Play p(sweep(200), machine(400 << 10));
  p.nest->share(400 << 10, 1, 0);
  p.run(0, p.nest->steps());
  p.nest->finish(p.nest->steps(), p.sink);
  EXPECT_TRUE(p.sink.releases.empty());
}

TEST(Nest, ProgramsThatDoNotKeepToTheirTripCounts) {
  Play p(sweep(100), machine(1 << 16));
  for (uint64_t step = 0; step < 3 * p.nest->steps(); ++step) p.at(step);
  p.at(~uint64_t{0});
  p.nest->finish(~uint64_t{0}, p.sink);
  EXPECT_LE(p.reached(), kBase + 100 * kPage);
  for (const auto &r : p.sink.releases) EXPECT_LE(r.e.end, kBase + 100 * kPage);
  EXPECT_EQ(p.at(0), ~uint64_t{0}) << "at the end: never again";
}

TEST(Nest, TripCountsThatChangeFromEntryToEntry) {
  Play p(sweep(1), machine(1 << 30));
  for (uint64_t pages : {0u, 7u, 1u, 300u, 2u}) {
    SmallMap fresh;
    Recorder sink(fresh.map);
    p.nest->start(sweep(pages), machine(1 << 30), 0);
    for (uint64_t step = 0; step <= p.nest->steps(); ++step) p.nest->advance(step, step * 1000, fresh.map, sink);
    EXPECT_EQ(sink.fetched_pages().size(), pages);
  }
}

TEST(Nest, OnePageAndNoPageAndNoLoop) {
  Play one(nest_of({1}, {array(kBase + 100, {8})}), machine(1 << 30));
  one.at(0);
  EXPECT_EQ(one.sink.fetched_pages().size(), 1u);
  Play zero(nest_of({5, 0, 5}, {array(kBase, {8, 8, 8})}), machine(1 << 30));
  EXPECT_EQ(zero.at(0), ~uint64_t{0});
  EXPECT_TRUE(zero.sink.fetches.empty());
  Play none(Shape{}, Conditions{});
  EXPECT_EQ(none.at(0), ~uint64_t{0});
  none.nest->finish(5, none.sink);
  EXPECT_TRUE(none.sink.releases.empty());
}

/// Trips and strides go up to 2^64, so that a call which went through all that it might release would not end at all.
TEST(Nest, AbsurdShapesDoBoundedWork) {
  std::mt19937_64 r(7);
  constexpr uint64_t kMostReleases =
      24 * kMaxPieces; // in a call: units are released as a whole, cut up by what comes next and again
  uint64_t released = 0;
  for (int i = 0; i < 300; ++i) {
    Shape s;
    s.loops = unsigned(r() % 11);
    s.ticked = unsigned(r() % 11);
    s.strips = r() % 2;
    s.groups = unsigned(r() % 4);
    for (unsigned k = 0; k < kMaxLoops; ++k) s.trips[k] = r() >> (r() % 64);
    for (unsigned g = 0; g < s.groups; ++g) {
      s.group[g].lo = int64_t(r());
      s.group[g].hi = s.group[g].lo / 2 + int64_t(r() >> 40);
      s.group[g].base = r() >> (r() % 64);
      for (unsigned k = 0; k < kMaxLoops; ++k) s.group[g].stride[k] = int64_t(r()) >> (r() % 64);
    }
    Conditions c;
    c.page = r() % 3 ? 4096 : r();
    c.budget = r() >> (r() % 64);
    c.latency_ns = r() >> (r() % 64);
    c.queue_bytes = r() >> (r() % 64);
    c.max_io = r() >> (r() % 64);
    c.schedule = Schedule(r() % 3);
    Play p(s, c);
    for (int j = 0; j < 20; ++j) {
      const size_t before = p.sink.releases.size();
      p.nest->advance(r() >> (r() % 64), r() >> (r() % 64), p.memory.map, p.sink);
      ASSERT_LE(p.sink.releases.size() - before, kMostReleases);
      p.nest->late(unsigned(r() % 40));
      p.nest->unused(r() >> (r() % 64));
      p.nest->measured(r() >> (r() % 64));
    }
    const size_t before = p.sink.releases.size();
    p.nest->finish(r(), p.sink);
    ASSERT_LE(p.sink.releases.size() - before, kMostReleases);
    released += p.sink.releases.size();
  }
  EXPECT_GT(released, kMostReleases) << "the test tests something";
}

} // namespace
} // namespace pagecast::core::test
