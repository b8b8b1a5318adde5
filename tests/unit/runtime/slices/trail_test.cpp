// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slices/trail.h"

#include <gtest/gtest.h>

#include <map>

namespace pagecast {
namespace {

constexpr uint64_t kPage = 4096, kPlane = 8 * kPage, kU = 1ull << 40, kV = 1ull << 41;

/// Group g touches plane step + at[g] of its array in each step; the slice is `lead` steps ahead of the program.
struct Planes {
  struct Reference {
    uint64_t array;
    uint64_t ahead;
  };
  /// For each page that is given up: how often, and the group and the program's step then.
  struct Given {
    unsigned times = 0, group = 0;
    uint64_t step = 0;
  };
  std::map<uint64_t, Given> given;

  Planes(std::initializer_list<Reference> references, uint64_t kept, uint64_t steps = 20, uint64_t lead = 2) {
    SliceTrail trail;
    trail.start(kPage, 16 * kPage, kept);
    for (uint64_t step = 0, run = 0; step < steps; ++step) {
      for (; run < steps && run <= step + lead; ++run) {
        unsigned group = 0;
        for (const Reference &r : references) {
          const uint64_t begin = r.array + (run + r.ahead) * kPlane;
          trail.add(group, {begin, begin + kPlane}, run);
          trail.step_done(group++, run);
        }
      }
      unsigned group;
      core::Extent e;
      while (trail.passed(step, &group, &e))
        for (uint64_t page = e.begin; page < e.end; page += kPage) {
          Given &g = given[page];
          g = {g.times + 1, group, step};
        }
    }
  }
  Given of(uint64_t array, uint64_t plane) const {
    const auto at = given.find(array + plane * kPlane);
    return at == given.end() ? Given{} : at->second;
  }
};

TEST(SliceTrail, GivesUpWhatTheProgramHasPassed) {
  const Planes p({{kU, 0}}, 8 * kPlane);
  EXPECT_EQ(p.of(kU, 5).times, 1u);
  EXPECT_EQ(p.of(kU, 5).step, 7u); // the program is in step 7: one step behind
  EXPECT_EQ(p.of(kU, 19).times, 0u);
}

TEST(SliceTrail, TheLastThatComesToAPageGivesItUp) {
  const Planes p({{kU, 2}, {kU, 1}, {kU, 0}}, 8 * kPlane); // u[k + 1], u[k], u[k - 1]
  for (uint64_t plane = 4; plane < 12; ++plane) {
    EXPECT_EQ(p.of(kU, plane).times, 1u);
    EXPECT_EQ(p.of(kU, plane).group, 2u);
    EXPECT_EQ(p.of(kU, plane).step, plane + 2);
  }
}

TEST(SliceTrail, ThreeThatComeAtOnceGiveUpOnce) {
  const Planes p({{kU, 0}, {kU, 0}, {kU, 0}}, 8 * kPlane);
  for (uint64_t plane = 4; plane < 12; ++plane) {
    EXPECT_EQ(p.of(kU, plane).times, 1u);
    EXPECT_EQ(p.of(kU, plane).step, plane + 2);
  }
}

TEST(SliceTrail, WhatComesMuchLaterIsNotWaitedFor) {
  const Planes p({{kU, 6}, {kU, 0}}, 2 * kPlane);
  EXPECT_EQ(p.of(kU, 12).times, 2u); // by each of them
  EXPECT_EQ(p.of(kU, 12).step, 14u);
}

TEST(SliceTrail, WhatLiesElsewhereIsNotWaitedFor) {
  const Planes p({{kU + 30 * kPlane, 0}, {kU, 0}, {kV, 0}}, 64 * kPlane);
  EXPECT_EQ(p.of(kU, 33).group, 0u);
  EXPECT_EQ(p.of(kU, 33).step, 5u);
  EXPECT_EQ(p.of(kU, 3).step, 5u);
  EXPECT_EQ(p.of(kV, 3).step, 5u);
}

/// How often pages are given up where planes are gone through again and again, `planes` of them each time.
unsigned times_of_second_plane(uint64_t planes, uint64_t kept, uint64_t sweeps) {
  SliceTrail trail;
  trail.start(kPage, 16 * kPage, kept);
  unsigned times = 0, group;
  core::Extent e;
  for (uint64_t step = 0; step < sweeps * planes; ++step) {
    const uint64_t begin = kU + step % planes * kPlane;
    trail.add(0, {begin, begin + kPlane}, step);
    trail.step_done(0, step);
    while (trail.passed(step, &group, &e)) times += e.begin <= kU + kPlane && kU + kPlane < e.end;
  }
  return times;
}

TEST(SliceTrail, RangesThatBeginAnewAreGivenUpEachTime) { EXPECT_EQ(times_of_second_plane(40, 8 * kPlane, 5), 5u); }

TEST(SliceTrail, WhatIsGoneThroughAgainSoonIsKept) {
  EXPECT_LE(times_of_second_plane(40, 60 * kPlane, 5), 1u) << "little of memory";
  EXPECT_LE(times_of_second_plane(8, 4 * kPlane, 20), 1u) << "few steps";
}

/// Gives up rows of `bytes` that come from high addresses to low ones, `sweeps` times; what was given up, page by page, with the step.
std::multimap<uint64_t, uint64_t> downwards(uint64_t bytes, uint64_t rows, uint64_t kept, uint64_t sweeps = 1) {
  SliceTrail trail;
  trail.start(kPage, 16 * kPage, kept);
  std::multimap<uint64_t, uint64_t> given;
  unsigned group;
  core::Extent e;
  for (uint64_t step = 0; step < sweeps * rows; ++step) {
    const uint64_t end = kU + (rows - step % rows) * bytes;
    trail.add(0, {end - bytes, end}, step);
    trail.step_done(0, step);
    while (trail.passed(step, &group, &e))
      for (uint64_t page = e.begin; page < e.end; page += kPage) given.emplace(page, step);
  }
  return given;
}

TEST(SliceTrail, RangesThatGoDownAreGivenUp) {
  const auto planes = downwards(kPlane, 20, 0);
  ASSERT_EQ(planes.count(kU + 14 * kPlane), 1u);
  EXPECT_EQ(planes.find(kU + 14 * kPlane)->second, 7u) << "touched in step 5, and the program is one step behind";
  EXPECT_EQ(planes.count(kU + 15 * kPlane - kPage), 1u);
  EXPECT_EQ(planes.count(kU), 0u);
  const auto rows = downwards(48, 1000, 0); // 48,000 bytes
  for (uint64_t page = 2; page < 10; ++page) {
    ASSERT_EQ(rows.count(kU + page * kPage), 1u) << page;
    EXPECT_GT(rows.find(kU + page * kPage)->second, (48000 - page * kPage) / 48) << "all of its rows are passed";
  }
}

TEST(SliceTrail, RangesThatGoDownAgainAndAgainAreGivenUpEachTime) {
  EXPECT_EQ(downwards(kPlane, 40, 8 * kPlane, 5).count(kU + 30 * kPlane), 5u);
  EXPECT_LE(downwards(kPlane, 40, 60 * kPlane, 5).count(kU + 30 * kPlane), 1u) << "little of memory";
}

TEST(SliceTrail, RangesThatGoDownBecomeLargeRequests) {
  SliceTrail trail;
  trail.start(kPage, 16 * kPage, 0);
  uint64_t asked = kU + 4000 * 48, requests = 0;
  for (uint64_t step = 0; step < 4000; ++step) {
    const uint64_t end = kU + (4000 - step) * 48;
    const core::Extent e = trail.add(0, {end - 48, end}, step);
    trail.step_done(0, step);
    if (e.empty()) continue;
    EXPECT_GE(e.end, asked / kPage * kPage) << "nothing is left out";
    EXPECT_LE(e.end, asked + kPage);
    asked = e.begin;
    ++requests;
  }
  EXPECT_LE(requests, 3u);
  EXPECT_LE(asked, kU + 32 * kPage);
}

TEST(SliceTrail, RangesInNoOrderAreNot) {
  SliceTrail trail;
  trail.start(kPage, 16 * kPage, 0);
  const uint64_t planes[] = {7, 3, 9, 1, 12, 5, 2, 15, 4, 10};
  unsigned group;
  core::Extent e;
  for (uint64_t step = 0; step < 10; ++step) {
    trail.add(0, {kU + planes[step] * kPlane, kU + (planes[step] + 1) * kPlane}, step);
    trail.step_done(0, step);
    EXPECT_FALSE(step > 3 && trail.passed(step, &group, &e));
  }
  EXPECT_FALSE(trail.moves_on(0));
}

TEST(SliceTrail, WhatOthersComeToTheOtherWayIsKept) {
  SliceTrail trail;
  trail.start(kPage, 16 * kPage, 0);
  unsigned group;
  core::Extent e;
  uint64_t pages[2] = {};
  for (uint64_t step = 0; step < 20; ++step) {
    trail.add(0, {kU + step * kPlane, kU + (step + 1) * kPlane}, step);
    trail.add(1, {kU + (19 - step) * kPlane, kU + (20 - step) * kPlane}, step);
    for (unsigned g = 0; g < 2; ++g) trail.step_done(g, step);
    while (trail.passed(step, &group, &e)) pages[group] += e.size() / kPage;
  }
  EXPECT_TRUE(trail.moves_on(1));
  EXPECT_LE(pages[0], 9 * 8u) << "from where they meet, the other one comes to it again";
  EXPECT_LE(pages[1], 9 * 8u);
}

TEST(SliceTrail, KnowsWhichOthersFollow) {
  SliceTrail trail;
  trail.start(kPage, 16 * kPage, 4 * kPlane);
  const uint64_t at[] = {kU + kPlane, kU, kU + 9 * kPlane, kV}; // u[k + 1], u[k], u[k + 9], v[k]
  for (uint64_t step = 0; step < 12; ++step)
    for (unsigned g = 0; g < 4; ++g) {
      trail.add(g, {at[g] + step * kPlane, at[g] + (step + 1) * kPlane}, step);
      trail.step_done(g, step);
    }
  EXPECT_TRUE(trail.is_followed_by(1u << 1, 0));
  EXPECT_FALSE(trail.is_followed_by(1u << 0, 1)) << "comes before";
  EXPECT_FALSE(trail.is_followed_by(1u << 1, 2)) << "comes much later";
  EXPECT_FALSE(trail.is_followed_by(1u << 1, 3)) << "is elsewhere";
  EXPECT_FALSE(trail.is_followed_by(1u << 0, 0)) << "itself";
}

TEST(SliceTrail, KnowsWhetherPagesFollowEachOther) {
  SliceTrail trail;
  trail.start(kPage, 16 * kPage, 0);
  trail.add(0, {kU, kU + kPage}, 0);
  EXPECT_FALSE(trail.goes_on(0)) << "nothing was before it";
  trail.take(0, true);
  trail.add(0, {kU + kPage, kU + 2 * kPage}, 1);
  EXPECT_TRUE(trail.goes_on(0));
  trail.take(0, true);
  trail.add(0, {kU + 5 * kPage, kU + 6 * kPage}, 2);
  EXPECT_FALSE(trail.goes_on(0));
}

} // namespace
} // namespace pagecast
