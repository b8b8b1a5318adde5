// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/nest_share.h"

#include "runtime/state/open_nests.h"

#include <gtest/gtest.h>

using namespace pagecast;

namespace {

constexpr uint64_t kMiB = 1 << 20, kBudget = 64 * kMiB, kPlane = kMiB;
constexpr uint64_t kU = 1ull << 40, kV = 1ull << 41;

core::Group plane_of(uint64_t array, int64_t planes_ahead, bool writes = false) {
  core::Group g;
  g.reads = !writes;
  g.writes = writes;
  g.element = 8;
  g.hi = 8;
  g.base = array + static_cast<uint64_t>(planes_ahead) * kPlane;
  g.stride[0] = kPlane;
  g.stride[1] = 8;
  return g;
}

/// Opens nest `number` of one frame, over 50 planes.
OpenNest &open(unsigned number, std::initializer_list<core::Group> groups, uint64_t inner = kPlane / 8) {
  OpenNest &nest = nest_table[number];
  core::Shape shape;
  shape.loops = 2;
  shape.ticked = 1;
  shape.strips = true;
  shape.trips[0] = 50;
  shape.trips[1] = inner;
  for (const core::Group &g : groups) shape.group[shape.groups++] = g;
  core::Conditions conditions;
  conditions.budget = kBudget;
  conditions.max_io = 512 << 10;
  nest.policy.start(shape, conditions, 0);
  nest.ticks.start(shape, nest.policy.strip());
  nest.ticket = {0, ~0ull, nest.policy.strip()};
  nest.frame = &nest_table;
  nest.serial = number;
  nest.shared = ~0ull;
  nest.left_to_others = 0;
  nest.started = true;
  nest.state.store(OpenNest::kOpen);
  open_nest_mask.fetch_or(1u << number);
  return nest;
}

struct NestShare : testing::Test {
  ~NestShare() override {
    for (OpenNest &nest : nest_table) nest.state.store(OpenNest::kFree);
    open_nest_mask.store(0);
  }
};

} // namespace

TEST_F(NestShare, ANestAloneIsLeftAsItIs) {
  OpenNest &a = open(0, {plane_of(kU, 0)});
  share_memory(kBudget);
  EXPECT_TRUE(a.policy.fits());
}

TEST_F(NestShare, TwoThatFitOnlyEachAloneBothRelease) {
  OpenNest &a = open(0, {plane_of(kU, 0)});
  ASSERT_TRUE(a.policy.fits());
  OpenNest &b = open(1, {plane_of(kV, 0, true)});
  share_memory(kBudget);
  EXPECT_FALSE(a.policy.fits());
  EXPECT_FALSE(b.policy.fits());
  EXPECT_TRUE(a.policy.plan().group[0].releases);
  EXPECT_TRUE(b.policy.plan().group[0].releases);
}

TEST_F(NestShare, WhatTwoTouchCountsOnce) {
  OpenNest &a = open(0, {plane_of(kU, 0)});
  OpenNest &b = open(1, {plane_of(kU, 0, true)});
  share_memory(kBudget);
  EXPECT_TRUE(a.policy.fits());
  EXPECT_TRUE(b.policy.fits());
}

TEST_F(NestShare, TheSecondGivesUpWhatBothTouch) {
  OpenNest &a = open(0, {plane_of(kU, 0)});
  OpenNest &b = open(1, {plane_of(kU, 0, true), plane_of(kV, 0)});
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 1u);
  EXPECT_EQ(b.left_to_others, 0u);
  EXPECT_FALSE(a.policy.plan().group[0].releases);
  EXPECT_TRUE(b.policy.plan().group[0].releases);
}

TEST_F(NestShare, TheOneThatLooksBackGivesUp) {
  OpenNest &a = open(0, {plane_of(kU, -1)}); // still reads in the next iteration what b stores to in this one
  OpenNest &b = open(1, {plane_of(kU, 0, true), plane_of(kV, 0)});
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 0u);
  EXPECT_EQ(b.left_to_others, 1u);
  EXPECT_TRUE(a.policy.plan().group[0].releases);
}

TEST_F(NestShare, WhoGoesBackwardsInsideAPlaneIsInThatPlane) {
  core::Group back = plane_of(kU, 0, true);
  back.base += kPlane - 8;
  back.stride[1] = -8;
  OpenNest &a = open(0, {plane_of(kU, 0), plane_of(kV, 0)});
  OpenNest &b = open(1, {back, plane_of(kV, 0)});
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 3u);
  EXPECT_EQ(b.left_to_others, 0u);
}

TEST_F(NestShare, PlacesThatLoopsInsideGoToAreNotAhead) {
  // Rows of all planes: the second nest goes from the last plane to the first, the first one looks two planes back.
  constexpr uint64_t kRow = kPlane / 50;
  const auto rows = [](uint64_t base, bool down) {
    core::Group g = plane_of(base, 0);
    g.hi = kRow;
    g.stride[0] = kRow;
    g.stride[1] = down ? -int64_t{kPlane} : kPlane;
    return g;
  };
  const auto all = [](OpenNest &nest) { return nest.policy.plan().total_bytes; };
  OpenNest &a = open(0, {rows(kU + 2 * kPlane, false), rows(kV, false)}, 50);
  OpenNest &b = open(1, {rows(kU + 49 * kPlane, true), rows(kV, false)}, 50);
  ASSERT_GT(all(a) + all(b), kBudget);
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 3u);
  EXPECT_EQ(b.left_to_others, 0u);
}

TEST_F(NestShare, EveryOtherPlaneAndTheOnesBetweenHaveNothingInCommon) {
  core::Group even = plane_of(kU, 0), odd = plane_of(kU, 1);
  even.stride[0] = odd.stride[0] = 2 * kPlane;
  OpenNest &a = open(0, {odd, plane_of(kV, 0)});
  OpenNest &b = open(1, {even, plane_of(kV, 0)});
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 2u) << "v alone";
  EXPECT_EQ(b.left_to_others, 0u);
}

TEST_F(NestShare, NothingIsLeftToWhoTouchesLittleOfIt) {
  core::Group few = plane_of(kU, 0);
  few.stride[1] = 0;
  OpenNest &a = open(0, {plane_of(kU, 0), plane_of(kV, 0)});
  OpenNest &b = open(1, {few, plane_of(kV, 0)});
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 2u) << "v alone";
  EXPECT_EQ(b.left_to_others, 0u);
}

TEST_F(NestShare, OtherFramesGiveUpNothingForIt) {
  OpenNest &a = open(0, {plane_of(kU, 0)});
  OpenNest &b = open(1, {plane_of(kU, 0), plane_of(kV, 0)});
  b.frame = nullptr;
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 0u);
  EXPECT_EQ(b.left_to_others, 0u);
}
