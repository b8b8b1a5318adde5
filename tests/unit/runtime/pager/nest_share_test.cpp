// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
NestSlot &open(unsigned number, std::initializer_list<core::Group> groups, uint64_t inner = kPlane / 8) {
  NestSlot &slot = nest_slots[number];
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
  slot.nest.start(shape, conditions, 0);
  slot.ticks.start(shape, slot.nest.strip());
  slot.ticket = {0, ~0ull, slot.nest.strip()};
  slot.frame = &nest_slots;
  slot.serial = number;
  slot.shared = ~0ull;
  slot.left_to_others = 0;
  slot.started = true;
  slot.state.store(NestSlot::kOpen);
  open_nests.fetch_or(1u << number);
  return slot;
}

struct NestShare : testing::Test {
  ~NestShare() override {
    for (NestSlot &slot : nest_slots) slot.state.store(NestSlot::kFree);
    open_nests.store(0);
  }
};

} // namespace

TEST_F(NestShare, ANestAloneIsLeftAsItIs) {
  NestSlot &a = open(0, {plane_of(kU, 0)});
  share_memory(kBudget);
  EXPECT_TRUE(a.nest.fits());
}

TEST_F(NestShare, TwoThatFitOnlyEachAloneBothRelease) {
  NestSlot &a = open(0, {plane_of(kU, 0)});
  ASSERT_TRUE(a.nest.fits());
  NestSlot &b = open(1, {plane_of(kV, 0, true)});
  share_memory(kBudget);
  EXPECT_FALSE(a.nest.fits());
  EXPECT_FALSE(b.nest.fits());
  EXPECT_TRUE(a.nest.plan().group[0].releases);
  EXPECT_TRUE(b.nest.plan().group[0].releases);
}

TEST_F(NestShare, WhatTwoTouchCountsOnce) {
  NestSlot &a = open(0, {plane_of(kU, 0)});
  NestSlot &b = open(1, {plane_of(kU, 0, true)});
  share_memory(kBudget);
  EXPECT_TRUE(a.nest.fits());
  EXPECT_TRUE(b.nest.fits());
}

TEST_F(NestShare, TheSecondGivesUpWhatBothTouch) {
  NestSlot &a = open(0, {plane_of(kU, 0)});
  NestSlot &b = open(1, {plane_of(kU, 0, true), plane_of(kV, 0)});
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 1u);
  EXPECT_EQ(b.left_to_others, 0u);
  EXPECT_FALSE(a.nest.plan().group[0].releases);
  EXPECT_TRUE(b.nest.plan().group[0].releases);
}

TEST_F(NestShare, TheOneThatLooksBackGivesUp) {
  NestSlot &a = open(0, {plane_of(kU, -1)}); // still reads in the next iteration what b stores to in this one
  NestSlot &b = open(1, {plane_of(kU, 0, true), plane_of(kV, 0)});
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 0u);
  EXPECT_EQ(b.left_to_others, 1u);
  EXPECT_TRUE(a.nest.plan().group[0].releases);
}

TEST_F(NestShare, WhoGoesBackwardsInsideAPlaneIsInThatPlane) {
  core::Group back = plane_of(kU, 0, true);
  back.base += kPlane - 8;
  back.stride[1] = -8;
  NestSlot &a = open(0, {plane_of(kU, 0), plane_of(kV, 0)});
  NestSlot &b = open(1, {back, plane_of(kV, 0)});
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
  const auto all = [](NestSlot &slot) { return slot.nest.plan().total_bytes; };
  NestSlot &a = open(0, {rows(kU + 2 * kPlane, false), rows(kV, false)}, 50);
  NestSlot &b = open(1, {rows(kU + 49 * kPlane, true), rows(kV, false)}, 50);
  ASSERT_GT(all(a) + all(b), kBudget);
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 3u);
  EXPECT_EQ(b.left_to_others, 0u);
}

TEST_F(NestShare, EveryOtherPlaneAndTheOnesBetweenHaveNothingInCommon) {
  core::Group even = plane_of(kU, 0), odd = plane_of(kU, 1);
  even.stride[0] = odd.stride[0] = 2 * kPlane;
  NestSlot &a = open(0, {odd, plane_of(kV, 0)});
  NestSlot &b = open(1, {even, plane_of(kV, 0)});
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 2u) << "v alone";
  EXPECT_EQ(b.left_to_others, 0u);
}

TEST_F(NestShare, NothingIsLeftToWhoTouchesLittleOfIt) {
  core::Group few = plane_of(kU, 0);
  few.stride[1] = 0;
  NestSlot &a = open(0, {plane_of(kU, 0), plane_of(kV, 0)});
  NestSlot &b = open(1, {few, plane_of(kV, 0)});
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 2u) << "v alone";
  EXPECT_EQ(b.left_to_others, 0u);
}

TEST_F(NestShare, OtherFramesGiveUpNothingForIt) {
  NestSlot &a = open(0, {plane_of(kU, 0)});
  NestSlot &b = open(1, {plane_of(kU, 0), plane_of(kV, 0)});
  b.frame = nullptr;
  share_memory(kBudget);
  EXPECT_EQ(a.left_to_others, 0u);
  EXPECT_EQ(b.left_to_others, 0u);
}
