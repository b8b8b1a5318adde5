// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/open_nests.h"

#include "runtime/kernel/os.h"
#include "runtime/state/statistics.h"

#include <gtest/gtest.h>

using namespace pagecast;

namespace {

/// Of the table, without the pages at its ends, which it shares with others.
uint64_t table_in_memory() {
  const uint64_t page = os::page_size(), from = reinterpret_cast<uint64_t>(&nest_storage) / page * page + page;
  return os::bytes_in_memory(from, sizeof nest_storage / page * page - page);
}

TEST(OpenNests, TakeNoMemoryBeforeTheyAreClaimed) {
  if (claim_nest() != &nest_table[0]) GTEST_SKIP() << "another test has claimed nests: one test a process, as ctest runs them";
  const uint64_t one = table_in_memory();
  EXPECT_LE(one, sizeof(OpenNest) / 2) << "what slices and many groups would take is all zero";
  OpenNest *second = claim_nest();
  ASSERT_EQ(second, &nest_table[1]);
  EXPECT_EQ(second->state.load(), OpenNest::kClaimed);
  EXPECT_GT(table_in_memory(), one);
  EXPECT_LE(table_in_memory(), sizeof(OpenNest));
}

TEST(OpenNests, WhatAFenceHoldsBackIsNotMissed) {
  OpenNest *nest = claim_nest();
  ASSERT_NE(nest, nullptr);
  core::Shape shape{};
  shape.loops = 1;
  shape.ticked = 0;
  shape.trips[0] = 1 << 20;
  shape.groups = 1;
  shape.group[0] = {};
  shape.group[0].reads = true;
  shape.group[0].element = 8;
  shape.group[0].hi = 8;
  shape.group[0].base = 1 << 30;
  shape.group[0].stride[0] = 8;
  core::Conditions c{};
  c.page = 4096;
  c.max_io = 512 << 10;
  c.budget = 4 << 20;
  nest->policy.start(shape, c, 0);
  nest->started = true;
  nest->state = OpenNest::kOpen;
  open_nest_mask.fetch_or(1u << number_of(nest));
  const uint64_t place = (1 << 30) + 4096;
  ASSERT_TRUE(nest_covers(place));
  nest->policy.stop_before(100);
  for (int fault = 0; fault < 1000; ++fault) EXPECT_TRUE(nest_missed(place));
  EXPECT_TRUE(nest_covers(place)) << "it asks for nothing there since it may not";
  nest->policy.stop_before(~uint64_t{0});
  for (int fault = 0; fault < 64; ++fault) nest_missed(place);
  EXPECT_FALSE(nest_covers(place)) << "it was to ask, and did not: streams may";
  open_nest_mask.fetch_and(~(1u << number_of(nest)));
  nest->state = OpenNest::kFree;
}

TEST(OpenNests, ASliceThatIsSwitchedOffDoesNotRun) {
  OpenNest *nest = claim_nest();
  ASSERT_NE(nest, nullptr);
  SliceStatistics slice;
  EXPECT_FALSE(nest->slice_runs()) << "it has none";
  nest->sliced = true;
  EXPECT_TRUE(nest->slice_runs()) << "nobody has looked at it yet";
  nest->costs = &slice;
  EXPECT_TRUE(nest->slice_runs());
  slice.is_off = true;
  EXPECT_FALSE(nest->slice_runs());
  slice.is_off = false;
  EXPECT_TRUE(nest->slice_runs()) << "it is tried again";
  nest->sliced = false;
  nest->costs = nullptr;
  nest->state = OpenNest::kFree;
}

} // namespace
