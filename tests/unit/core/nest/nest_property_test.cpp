// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random nests against the enumeration of every page that every step touches.
#include "core/nest/nest.h"
#include "tests/unit/core/shapes.h"
#include <gtest/gtest.h>
#include <memory>

namespace pagecast::core::test {
namespace {

struct Case {
  explicit Case(uint64_t seed) : random(seed) {
    shape = random_shape(random);
    shape.stages = seed % 3 == 0; // steps of single iterations, as slices count them
    conditions = machine(uint64_t{1} << (14 + random() % 12));
    conditions.schedule = Schedule(random() % 3);
    conditions.max_io = kPage << (random() % 6);
    conditions.queue_bytes = random() % 2 ? random() % (1 << 20) : 0;
    conditions.latency_ns = random() % 1000000;
    conditions.fixed_distance = random() % 3 ? 0 : 1 + random() % 50;
    nest->start(shape, conditions, 0);
    steps = touched_by_step(shape, nest->strip());
  }
  /// Plays the whole nest. Calls at each step or only when asked to.
  void play(ResidencyMap &map, Recorder &sink) {
    const bool eager = random() % 2;
    for (uint64_t step = 0, wake = 0; step <= steps.size(); ++step) {
      now = step;
      if (step < wake && !eager) continue;
      // Asked at once means asked until there is no more to do.
      for (int again = 0; again < 100000; ++again) {
        wake = nest->advance(step, step * 5000, map, sink);
        if (wake > step) break;
      }
      ASSERT_GT(wake, step) << "the cursor never gets done";
    }
    nest->finish(steps.size(), sink);
  }
  std::mt19937_64 random;
  Shape shape;
  Conditions conditions;
  std::unique_ptr<Nest> nest = std::make_unique<Nest>();
  std::vector<std::vector<std::set<uint64_t>>> steps;
  uint64_t now = 0;
};

TEST(NestProperty, EachTouchedPageIsFetchedOnceAndNoOther) {
  int fetching = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(seed);
    Case c(seed);
    ASSERT_EQ(c.nest->steps(), c.steps.size());
    SmallMap memory;
    Recorder sink(memory.map);
    if (seed % 2) sink.refuse = [&] { return c.random() % 3 == 0; };
    c.play(memory.map, sink);
    ASSERT_FALSE(sink.twice);
    if (!c.nest->plan().prefetches) {
      ASSERT_TRUE(sink.fetches.empty());
      continue;
    }
    ++fetching;
    ASSERT_EQ(sink.fetched_pages(), all_pages(c.steps));
    for (const auto &f : sink.fetches) {
      ASSERT_EQ(f.e.begin % kPage + f.e.end % kPage, 0u);
      ASSERT_LE(f.e.size(), c.conditions.max_io);
    }
  }
  EXPECT_GT(fetching, 1000) << "the test has lost its subject";
}

TEST(NestProperty, PagesAreAskedForBeforeTheyAreTouched) {
  for (uint64_t seed = 2001; seed <= 2500; ++seed) {
    SCOPED_TRACE(seed);
    Case c(seed);
    if (!c.nest->plan().prefetches) continue;
    SmallMap memory;
    Recorder sink(memory.map);
    for (uint64_t step = 0, wake = 0; step < c.steps.size(); ++step) {
      while (step >= wake) wake = c.nest->advance(step, step * 5000, memory.map, sink);
      for (const auto &group : c.steps[step])
        for (uint64_t page : group) ASSERT_TRUE(memory.map.test(page * kPage)) << "step " << step;
    }
  }
}

TEST(NestProperty, ReleasesAreOfTouchedPagesThatTheNextStepsLeave) {
  int releasing = 0, checked = 0;
  for (uint64_t seed = 3001; seed <= 4500; ++seed) {
    SCOPED_TRACE(seed);
    Case c(seed);
    SmallMap memory;
    Recorder sink(memory.map);
    const auto touched = all_pages(c.steps);
    std::vector<std::set<uint64_t>> released(c.shape.groups);
    bool early = false;
    sink.on_release = [&](Extent e, unsigned g) {
      for (uint64_t page = e.begin / kPage; page < e.end / kPage; ++page) {
        released[g].insert(page);
        // The program is in step `now`; the page must not be one of that step, nor of the one just finished,
        // unless the same pages come again and again because they cannot be kept.
        const GroupPlan &plan = c.nest->plan().group[g];
        const bool localized = c.nest->plan().localized == 0;
        checked += localized;
        const bool again = plan.release_unit >= 0 && c.shape.group[g].stride[plan.release_unit] == 0;
        for (uint64_t step = c.now ? c.now - 1 : 0; step <= c.now && step < c.steps.size(); ++step)
          early |= !again && localized && c.steps[step][g].count(page) && c.now < c.steps.size();
      }
    };
    c.play(memory.map, sink);
    EXPECT_FALSE(early);
    if (c.nest->fits()) { EXPECT_TRUE(sink.releases.empty()); }
    for (unsigned g = 0; g < c.shape.groups; ++g) {
      std::set<uint64_t> of_group;
      for (const auto &step : c.steps) of_group.insert(step[g].begin(), step[g].end());
      if (!c.nest->plan().group[g].releases) {
        EXPECT_TRUE(released[g].empty());
      } else {
        ++releasing;
        EXPECT_EQ(released[g], of_group) << "all that was touched is released in the end";
      }
    }
  }
  EXPECT_GT(checked, 10000) << "the test has lost its subject";
  EXPECT_GT(releasing, 200) << "the test has lost its subject";
}

} // namespace
} // namespace pagecast::core::test
