// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices of which a sample of the iterations is run: the pages are those of a run of all.
#include "runtime/slices/progress.h"
#include "tests/unit/runtime/slices/program.h"

#include <random>

using namespace pagecast;
using namespace pagecast::test;

namespace {

constexpr uint64_t kTable = 0x10000, kTarget = 0x400000;

struct SampledSlices : testing::Test {
  PagedMemory memory;
  Regions regions;
  bool in_order = false;
  void SetUp() override { regions.regions = {{kTarget, Regions::kEnd}}; }

  /// Returns the operations times lanes that it took.
  uint64_t run_of(Program &p, uint64_t every, uint64_t count, uint64_t first = 0) {
    static SliceMachine machine;
    regions.hints = {};
    uint64_t work = 1 << 30;
    SliceCall call{&p.nest(), p.live.data(), p.index.data(), first, count, 1};
    call.every = every;
    EXPECT_EQ(machine.run(call, regions.filter(), memory, regions, &work), SliceOutcome::kDone);
    in_order = machine.in_order();
    return (1 << 30) - work;
  }

  void expect_same_pages(Program &p, uint64_t count, uint64_t least_gain, uint64_t first = 0) {
    const uint64_t all = run_of(p, 1, count, first);
    const Hints wanted = regions.hints;
    EXPECT_FALSE(wanted.pages.empty());
    for (const uint64_t every : {2, 16, 64}) {
      const uint64_t work = run_of(p, every, count, first);
      EXPECT_TRUE(in_order);
      EXPECT_EQ(regions.hints.pages, wanted.pages) << "one of " << every;
      EXPECT_LT(every == 64 ? work * least_gain : 0, all);
    }
  }
};

/// Places of 16 bytes: ((i & ~low) << 1 | (i & low)) | other, as a gate on one bit of a state vector touches them.
Program pairs(unsigned bit) {
  const uint64_t low = (1ull << bit) - 1;
  Program p({op(PAGECAST_OP_AND, 64, V(1), V(0), 0), op(PAGECAST_OP_SHL, 64, V(2), V(1), 1),
             op(PAGECAST_OP_AND, 64, V(3), V(0), 2), op(PAGECAST_OP_OR, 64, V(4), V(2), V(3)),
             op(PAGECAST_OP_OR, 64, V(5), V(4), 3), op(PAGECAST_OP_MADD, 64, V(6), V(4), 4, 5),
             op(PAGECAST_OP_MADD, 64, V(7), V(5), 4, 5), op(PAGECAST_OP_TOUCH, 0, kNone, V(6), kNone, kNone, 0),
             op(PAGECAST_OP_TOUCH, 0, kNone, V(7), kNone, kNone, 1)});
  p.live = {~low, 1, low, 1ull << bit, 16, kTarget};
  p.add_group(0, 16);
  p.add_group(0, 16);
  return p;
}

/// target[list[i]], of `bytes` each.
Program listed(uint64_t bytes) {
  Program p({op(PAGECAST_OP_MADD, 64, V(1), V(0), 0, 1), op(PAGECAST_OP_LOAD, 32, V(2), V(1)),
             op(PAGECAST_OP_MADD, 64, V(3), V(2), 2, 3), op(PAGECAST_OP_TOUCH, 0, kNone, V(3), kNone, kNone, 0)});
  p.live = {4, kTable, bytes, kTarget};
  p.add_group(0, static_cast<int64_t>(bytes));
  return p;
}

TEST_F(SampledSlices, NumbersMadeByShiftsAndMasks) {
  for (unsigned bit = 0; bit < 16; ++bit) {
    Program p = pairs(bit);
    expect_same_pages(p, 1 << 17, bit >= 7 && bit < 9 ? 1 : 3); // jumps every few pages: what is between is run
  }
}

TEST_F(SampledSlices, RowsOfAnAscendingList) {
  std::mt19937 random(5);
  for (const unsigned gap : {1, 3, 40, 900}) {
    std::vector<uint32_t> list(10000);
    for (uint32_t i = 0, row = 0; i < list.size(); ++i, row += 1 + random() % gap) list[i] = row;
    memory.put(kTable, list);
    Program p = listed(4);
    expect_same_pages(p, list.size(), gap < 10 ? 20 : 0);
    expect_same_pages(p, 301, 0, 4001);
    expect_same_pages(p, 1, 0, 4001);
  }
}

TEST_F(SampledSlices, ListsInNoOrderAreNoticed) {
  std::mt19937 random(6);
  std::vector<uint32_t> list(10000), turns(10000);
  for (uint32_t i = 0; i < list.size(); ++i) list[i] = random() % 100000, turns[i] = i % 2 ? random() % 100000 : i;
  for (const auto &values : {list, turns}) { // the latter stands in order at every second place
    memory.put(kTable, values);
    Program p = listed(8);
    run_of(p, 64, list.size());
    EXPECT_FALSE(in_order);
    run_of(p, 1, list.size());
    EXPECT_FALSE(in_order);
  }
}

TEST_F(SampledSlices, WhatIsNotThereIsNotInOrder) {
  Program p = listed(4);
  std::vector<uint32_t> list(1024);
  for (uint32_t i = 0; i < list.size(); ++i) list[i] = i;
  memory.put(kTable, list); // a page
  run_of(p, 64, 1024);
  EXPECT_TRUE(in_order);
  run_of(p, 64, 2048);
  EXPECT_FALSE(in_order);
}

TEST_F(SampledSlices, ConditionsAndStatesAreNotSampled) {
  Program p = listed(4);
  EXPECT_TRUE(slice_can_sample(p.nest()));
  p.ops.back().c = V(2);
  EXPECT_FALSE(slice_can_sample(p.nest()));
  Program handed = listed(4);
  handed.ops.insert(handed.ops.begin(), op(PAGECAST_OP_PREVIOUS, 64, V(4), 0, V(1)));
  EXPECT_FALSE(slice_can_sample(handed.nest()));
  Program rows = listed(4);
  rows.has_loops = 1;
  EXPECT_FALSE(slice_can_sample(rows.nest()));
}

TEST(SliceSampling, IsOfMoreAndMoreWhileThereIsOrder) {
  SliceSampling s;
  s.start(true);
  for (uint64_t expected : {1, 4, 16, 64, 64}) {
    EXPECT_EQ(s.every(), expected);
    EXPECT_FALSE(s.ran(true));
  }
  EXPECT_TRUE(s.ran(false)) << "with all iterations";
  EXPECT_EQ(s.every(), 1u);
}

TEST(SliceSampling, IsLeftAloneForLongerWhereThereIsNoOrder) {
  SliceSampling s;
  s.start(true);
  uint64_t runs[2] = {};
  for (uint64_t &n : runs) {
    while (s.every() == 1) s.ran(true), ++n;
    s.ran(false);
  }
  EXPECT_GT(runs[1], 2 * runs[0]);
  SliceSampling never;
  never.start(false);
  for (unsigned i = 0; i < 100; ++i) EXPECT_FALSE(never.ran(true));
  EXPECT_EQ(never.every(), 1u);
}

} // namespace
