// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/runtime/slices/program.h"

#include <bit>
#include <random>

using namespace pagecast;
using namespace pagecast::test;

namespace {

constexpr uint64_t kPage = 4096, kTable = 0x10000, kTarget = 0x400000;
constexpr uint64_t kGarbage[] = {~0ull, 1ull << 63, (1ull << 63) - 1, 0xffff800000000000, 0x7fffffffffff, 0};

/// What each iteration computed, read off the hints of two groups: one byte at the value, one before it (a range
/// that leaves the address space is dropped, so that ~0 and 0 are each missing once).
void show(Program &p, unsigned value) {
  p.ops.push_back(op(PAGECAST_OP_RANGE, 0, 0, value, 0, kNone, p.add_group(0, 1))); // scalar 0 is 1
  p.ops.push_back(op(PAGECAST_OP_RANGE, 0, 0, value, 0, kNone, p.add_group(-1, 0)));
}

std::vector<std::tuple<unsigned, uint64_t, uint64_t>> shown(const std::vector<uint64_t> &values) {
  std::vector<std::tuple<unsigned, uint64_t, uint64_t>> ranges;
  for (uint64_t v : values)
    if (v != ~0ull) ranges.push_back({0, v, v + 1});
  for (uint64_t v : values)
    if (v != 0) ranges.push_back({1, v - 1, v});
  return ranges;
}

std::vector<uint64_t> operands(std::mt19937_64 &random, unsigned width, unsigned n) {
  std::vector<uint64_t> values;
  const uint64_t edges[] = {
      0, 1, 2, ~0ull, 1ull << (width - 1), (1ull << (width - 1)) - 1, ~0ull >> (64 - width), width, width - 1ull, 63, 64};
  for (unsigned i = 0; i < n; ++i)
    values.push_back(random() % 3 ? edges[random() % std::size(edges)] : random() >> random() % 64);
  return values;
}

/// Numbers near and far, as words; some are none if `none`.
std::vector<uint64_t> numbers(std::mt19937_64 &random, unsigned width, unsigned n, bool none) {
  std::vector<uint64_t> values;
  const double edges[] = {0,      0.5,     -0.5,   1,    1.5,    2.5, -2.5, 1e9, -3e9, 4503599627370497.0,
                          9.3e18, -9.3e18, 1.9e19, 1e25, 1e-310, 1e30};
  for (unsigned i = 0; i < n; ++i) {
    double x = random() % 3 ? edges[random() % std::size(edges)] : static_cast<double>(random() % 2000) / 16 - 60;
    if (none && random() % 8 == 0) x = __builtin_nan("");
    values.push_back(width == 32 ? std::bit_cast<uint32_t>(static_cast<float>(x)) : std::bit_cast<uint64_t>(x));
  }
  return values;
}

bool is_floating(unsigned code) { return code >= PAGECAST_OP_FADD && code <= PAGECAST_OP_FTOF; }
bool to_integer(unsigned code) { return code == PAGECAST_OP_FTOS || code == PAGECAST_OP_FTOU; }
bool from_integer(unsigned code) { return code == PAGECAST_OP_STOF || code == PAGECAST_OP_UTOF; }
bool may_be_none(unsigned code) { return to_integer(code) || (code >= PAGECAST_OP_FEQ && code <= PAGECAST_OP_FLE); }

std::vector<unsigned> widths_of(unsigned code) {
  if (is_floating(code) && !to_integer(code)) return {32, 64};
  return {1, 7, 8, 16, 31, 32, 33, 63, 64};
}

unsigned extra_of(unsigned code, unsigned width, std::mt19937_64 &random) {
  if (code == PAGECAST_OP_SEXT) return 1 + random() % width;
  if (code == PAGECAST_OP_FWHOLE) return random() % 5;
  if (from_integer(code)) return 1 + random() % 64;
  return to_integer(code) || code == PAGECAST_OP_FTOF ? 32 << random() % 2 : 0;
}

std::vector<uint64_t> operands_of(const pagecast_op &o, std::mt19937_64 &random, unsigned n) {
  if (!is_floating(o.code) || from_integer(o.code)) return operands(random, from_integer(o.code) ? o.extra : o.width, n);
  return numbers(random, to_integer(o.code) || o.code == PAGECAST_OP_FTOF ? o.extra : o.width, n, may_be_none(o.code));
}

/// a[b[i]], b of 32 bits: live 1 = b, 2 = a, 3 = 4, 4 = 8.
Program gather() {
  Program p({op(PAGECAST_OP_MADD, 64, V(1), V(0), 3, 1), op(PAGECAST_OP_LOAD, 32, V(2), V(1)),
             op(PAGECAST_OP_SEXT, 64, V(3), V(2), kNone, kNone, 32, 2), op(PAGECAST_OP_MADD, 64, V(4), V(3), 4, 2, 0, 2),
             op(PAGECAST_OP_TOUCH, 0, kNone, V(4), kNone, kNone, 0, 2)});
  p.live = {1, kTable, kTarget, 4, 8};
  p.depths = 2;
  p.add_group(0, 8);
  return p;
}

/// All of them, in one group.
Hints pages(std::vector<uint64_t> addresses) {
  Hints h;
  for (uint64_t a : addresses) h.pages.insert({0, a / kPage * kPage});
  return h;
}

struct SliceMachineTest : testing::Test {
  PagedMemory memory;
  Regions regions;
  void SetUp() override { regions.regions = {{kTarget, kTarget + 64 * kPage}, {0x800000, 0x800000 + 8 * kPage}}; }

  /// Runs it, and compares with the second interpreter.
  void expect_as_reference(Program &p, uint64_t first, uint64_t count, unsigned stage) {
    regions.hints = {};
    ASSERT_EQ(run(p, first, count, stage, memory, regions), SliceOutcome::kDone);
    uint64_t steps = 0;
    Hints wanted = expected_hints(p, first, count, stage, memory, regions, &steps);
    EXPECT_EQ(regions.hints.pages, wanted.pages);
    Hints hints = regions.hints;
    hints.join_ranges();
    wanted.join_ranges();
    EXPECT_EQ(hints.ranges, wanted.ranges);
  }
};

} // namespace

TEST_F(SliceMachineTest, ComputesVectorsOfEveryWidth) {
  std::mt19937_64 random(1);
  constexpr unsigned kCount = 300; // no multiple of the lanes
  for (unsigned code = PAGECAST_OP_ADD; code < PAGECAST_OP_LOAD; ++code)
    for (unsigned width : widths_of(code))
      for (unsigned form = 0; form < 8; ++form) { // which operands are vectors
        const unsigned extra = extra_of(code, width, random);
        const pagecast_op kind = op(code, width, 0, 0, 0, 0, extra);
        const std::vector<uint64_t> scalars = operands_of(kind, random, 3);
        std::vector<uint64_t> given[3];
        Program p;
        p.live = {1, 8, 0x100000, 0x200000, 0x300000, scalars[0], scalars[1], scalars[2]};
        uint16_t from[3];
        for (unsigned k = 0; k < 3; ++k) {
          given[k] = form >> k & 1 ? operands_of(kind, random, kCount) : std::vector<uint64_t>(kCount, scalars[k]);
          from[k] = form >> k & 1 ? V(4 + k) : static_cast<uint16_t>(5 + k);
          if (!(form >> k & 1)) continue;
          memory.put(0x100000 * (k + 1), given[k]);
          p.ops.push_back(op(PAGECAST_OP_MADD, 64, V(1), V(0), 1, 2 + k));
          p.ops.push_back(op(PAGECAST_OP_LOAD, 64, V(4 + k), V(1)));
        }
        const bool in_place = form & 1 && random() & 1;
        const pagecast_op o = op(code, width, in_place ? V(4) : V(7), from[0], from[1], from[2], extra);
        p.ops.push_back(o);
        show(p, o.to);
        std::vector<uint64_t> values;
        for (unsigned i = 0; i < kCount; ++i) values.push_back(expected(o, given[0][i], given[1][i], given[2][i]));
        Hints wanted;
        for (unsigned i = 0; i < kCount; i += SliceMachine::kLanes) {
          const std::vector<uint64_t> batch(values.begin() + i, values.begin() + std::min(i + SliceMachine::kLanes, kCount));
          for (const auto &range : shown(batch)) wanted.ranges.push_back(range);
        }
        regions.hints = {};
        ASSERT_EQ(run(p, 0, kCount, 1, memory, regions), SliceOutcome::kDone);
        regions.hints.join_ranges();
        wanted.join_ranges();
        ASSERT_EQ(regions.hints, wanted) << "code " << code << " width " << width << " form " << form;
      }
}

TEST_F(SliceMachineTest, ComputesScalarsOfEveryWidth) {
  std::mt19937_64 random(2);
  for (unsigned code = PAGECAST_OP_ADD; code < PAGECAST_OP_LOAD; ++code)
    for (unsigned width : widths_of(code))
      for (unsigned n = 0; n < 30; ++n) {
        const unsigned extra = extra_of(code, width, random);
        const std::vector<uint64_t> x = operands_of(op(code, width, 0, 0, 0, 0, extra), random, 3);
        Program p({op(code, width, 9, 1, 2, 3, extra)});
        p.live = {1, x[0], x[1], x[2]};
        p.has_loops = 1;
        show(p, 9);
        regions.hints = {};
        ASSERT_EQ(run(p, 0, 1, 1, memory, regions), SliceOutcome::kDone);
        ASSERT_EQ(regions.hints.ranges, shown({expected(p.ops[0], x[0], x[1], x[2])})) << code << " width " << width;
      }
}

TEST_F(SliceMachineTest, GathersInTwoStages) {
  Program p = gather();
  std::mt19937 random(3);
  std::vector<int32_t> b(1000);
  for (int32_t &x : b) x = static_cast<int32_t>(random() % (80 * 512)) - 8 * 512; // some before, some after the region
  memory.put(kTable + 12, b);
  p.live[1] += 12;
  for (uint64_t page = 0; page < 64; page += 3) regions.set_resident(kTarget + page * kPage);
  expect_as_reference(p, 0, 1000, 2);
  EXPECT_GT(regions.hints.pages.size(), 30u);
  expect_as_reference(p, 77, 1, 2);
  EXPECT_LE(regions.hints.pages.size(), 1u);
  expect_as_reference(p, 0, 1000, 1); // the touches are of stage 2
  EXPECT_TRUE(regions.hints.pages.empty());
}

TEST_F(SliceMachineTest, ChainsOfLoadsAreTouchedStageByStage) {
  // a[b[c[i]]]: stage 2 touches b, stage 3 a; c and b of 64 bits.
  Program p({op(PAGECAST_OP_MADD, 64, V(1), V(0), 3, 1), op(PAGECAST_OP_LOAD, 64, V(2), V(1)),
             op(PAGECAST_OP_MADD, 64, V(3), V(2), 3, 2, 0, 2), op(PAGECAST_OP_TOUCH, 0, kNone, V(3), kNone, kNone, 0, 2),
             op(PAGECAST_OP_LOAD, 64, V(4), V(3), kNone, kNone, 0, 2), op(PAGECAST_OP_MADD, 64, V(5), V(4), 3, 4, 0, 3),
             op(PAGECAST_OP_TOUCH, 0, kNone, V(5), kNone, kNone, 1, 3)});
  p.live = {1, kTable, kTarget, 8, 0x800000};
  p.depths = 3;
  p.add_group(0, 8);
  p.add_group(0, 8);
  std::mt19937_64 random(4);
  std::vector<uint64_t> c(500), b(64 * 512);
  for (uint64_t &x : c) x = random() % b.size();
  for (uint64_t &x : b) x = random() % (8 * 512);
  memory.put(kTable, c);
  memory.put(kTarget, b);
  for (uint64_t page = 0; page < 64; page += 2) memory.pages.erase((kTarget >> 12) + page); // half of b is absent
  for (unsigned stage = 1; stage <= 3; ++stage) expect_as_reference(p, 0, 500, stage);
  EXPECT_EQ(regions.hints.pages.size(), 8u);
  EXPECT_GT(machine().failed_loads(), 0u);
}

TEST_F(SliceMachineTest, RowsHaveRangesAndAnInnerLoop) {
  // for row i: k from rows[i] to rows[i + 1]: x[columns[k]]; columns is announced as a range.
  Program p({op(PAGECAST_OP_MADD, 64, 6, 5, 4, 1), op(PAGECAST_OP_LOAD, 32, 7, 6), op(PAGECAST_OP_ADD, 64, 8, 6, 4),
             op(PAGECAST_OP_LOAD, 32, 9, 8), op(PAGECAST_OP_SUB, 64, 10, 9, 7, kNone, 0, 2),
             op(PAGECAST_OP_MADD, 64, 11, 7, 4, 2, 0, 2), op(PAGECAST_OP_RANGE, 0, 10, 11, 4, kNone, 1, 2),
             op(PAGECAST_OP_LOOP, 64, V(0), 10, kNone, kNone, 13, 2), op(PAGECAST_OP_MADD, 64, V(1), V(0), 4, 11, 0, 2),
             op(PAGECAST_OP_LOAD, 32, V(2), V(1), kNone, kNone, 0, 2), op(PAGECAST_OP_SHL, 64, V(3), V(2), 0, kNone, 0, 3),
             op(PAGECAST_OP_MADD, 64, V(3), V(3), 4, 3, 0, 3), op(PAGECAST_OP_TOUCH, 0, kNone, V(3), kNone, kNone, 0, 3),
             op(PAGECAST_OP_END, 0, kNone, kNone)});
  p.live = {1, kTable, 0x100000, kTarget, 4}; // rows, columns, x
  p.has_loops = 1;
  p.depths = 3;
  p.add_group(0, 8);
  p.add_group(0, 4);
  std::mt19937 random(5);
  std::vector<uint32_t> rows = {0}, columns;
  for (unsigned i = 0; i < 200; ++i) rows.push_back(rows.back() + (i % 10 ? random() % 9 : random() % 400));
  for (unsigned k = 0; k < rows.back(); ++k) columns.push_back(random() % (64 * 512));
  memory.put(kTable, rows);
  memory.put(0x100000, columns);
  expect_as_reference(p, 3, 190, 2);
  EXPECT_EQ(regions.hints.pages.size(), 0u);
  EXPECT_GT(regions.hints.ranges.size(), 150u);
  expect_as_reference(p, 3, 190, 3);
  EXPECT_EQ(regions.hints.pages.size(), 64u);
  EXPECT_EQ(regions.hints.ranges.size(), 0u);
}

TEST_F(SliceMachineTest, TrianglesKnowTheOuterIteration) {
  // Chain (j, i): for k < i + j: a[k * page], where i is scalar 2 and j is given.
  Program p({op(PAGECAST_OP_ADD, 64, 3, 1, 2), op(PAGECAST_OP_LOOP, 64, V(0), 3, kNone, kNone, 4),
             op(PAGECAST_OP_MADD, 64, V(1), V(0), 0, 0), op(PAGECAST_OP_TOUCH, 0, kNone, V(1), kNone, kNone, 0),
             op(PAGECAST_OP_END, 0, kNone, kNone)});
  p.live = {kPage};
  p.index = {5};
  p.has_loops = 1;
  p.add_group(static_cast<int64_t>(kTarget - kPage), static_cast<int64_t>(kTarget - kPage) + 1);
  ASSERT_EQ(run(p, 2, 3, 1, memory, regions), SliceOutcome::kDone);
  Hints wanted; // i up to 4: k up to 8
  for (uint64_t k = 0; k < 9; ++k) wanted.pages.insert({0, kTarget + k * kPage});
  EXPECT_EQ(regions.hints, wanted);
}

TEST_F(SliceMachineTest, PredicatesKeepTouchesAndLoadsFromHappening) {
  Program p = gather();
  p.live.push_back(16); // 5
  p.ops.insert(p.ops.begin(), op(PAGECAST_OP_UREM, 64, V(5), V(0), 3)); // not every fourth
  p.ops[2].c = V(5);
  p.ops[5].c = V(5);
  // Iteration 4's word would be elsewhere if it were loaded: the table's second page is missing.
  std::vector<uint32_t> b;
  for (uint32_t i = 0; i < 1024; ++i) b.push_back(i % 4 ? i * 16 : 60 * 512);
  memory.put(kTable, b);
  expect_as_reference(p, 0, 1024, 2);
  EXPECT_EQ(regions.hints.pages.size(), 32u);
  const uint64_t failed = machine().failed_loads();
  p.ops[2].c = 5 + 4; // scalar 9 is 0: not loaded at all
  memory.pages.clear();
  expect_as_reference(p, 0, 1024, 2);
  EXPECT_EQ(regions.hints, pages({kTarget})) << "what is not loaded is 0";
  EXPECT_EQ(machine().failed_loads(), failed);
}

TEST_F(SliceMachineTest, IterationsEndWhereMemoryIsMissing) {
  Program p = gather();
  memory.put(kTable, std::vector<uint32_t>(1024, 512)); // one page, then nothing, then another
  memory.put(kTable + 2 * kPage, std::vector<uint32_t>(1024, 1024));
  p.ops.push_back(op(PAGECAST_OP_TOUCH, 0, kNone, V(1), kNone, kNone, 1, 2));
  p.add_group(static_cast<int64_t>(kTarget + 8 * kPage - kTable), static_cast<int64_t>(kTarget + 8 * kPage - kTable) + 4);
  const uint64_t failed = machine().failed_loads(), asked = memory.asked;
  expect_as_reference(p, 1000, 2000, 2);
  Hints wanted = pages({kTarget + kPage, kTarget + 2 * kPage});
  wanted.pages.insert({1, kTarget + 8 * kPage});
  wanted.pages.insert({1, kTarget + 10 * kPage});
  EXPECT_EQ(regions.hints, wanted) << "nothing after the load";
  p.ops.back().c = 0; // a predicate that holds changes nothing
  expect_as_reference(p, 1000, 2000, 2);
  EXPECT_EQ(regions.hints, wanted);
  EXPECT_EQ(machine().failed_loads() - failed, 2 * 1024u);
  EXPECT_EQ(memory.asked - asked, 2 * 3u) << "once a page and run";
}

TEST_F(SliceMachineTest, FailedScalarLoadsLeaveTheIteration) {
  // for i: { for j < 3: { x = load(table + j * page); once: touch x }; touch; load(1); touch }
  Program p({op(PAGECAST_OP_LOOP, 64, 6, 3, kNone, kNone, 6), op(PAGECAST_OP_MADD, 64, 7, 6, 2, 1),
             op(PAGECAST_OP_LOAD, 64, 8, 7), op(PAGECAST_OP_LOOP, 64, V(0), 0, kNone, kNone, 5),
             op(PAGECAST_OP_TOUCH, 0, kNone, 8, kNone, kNone, 0), op(PAGECAST_OP_END, 0, kNone, kNone),
             op(PAGECAST_OP_END, 0, kNone, kNone), op(PAGECAST_OP_TOUCH, 0, kNone, 4, kNone, kNone, 0),
             op(PAGECAST_OP_LOAD, 64, 9, 0), op(PAGECAST_OP_TOUCH, 0, kNone, 5, kNone, kNone, 0)});
  p.live = {1, kTable, kPage, 3, kTarget + 9 * kPage, kTarget + 11 * kPage}; // the last is not reached
  p.has_loops = 1;
  p.add_group(0, 8);
  memory.put(kTable, std::vector<uint64_t>{kTarget});
  memory.put(kTable + 2 * kPage, std::vector<uint64_t>{kTarget + 2 * kPage});
  ASSERT_EQ(run(p, 0, 2, 1, memory, regions), SliceOutcome::kDone);
  EXPECT_EQ(regions.hints, pages({kTarget, kTarget + 2 * kPage, kTarget + 9 * kPage}));
}

TEST_F(SliceMachineTest, RangesOfAllKinds) {
  const auto ranges = [&](uint64_t a, int64_t stride, uint64_t times, int64_t lo, int64_t hi) {
    Program p({op(PAGECAST_OP_RANGE, 0, 2, 0, 1)});
    p.live = {a, static_cast<uint64_t>(stride), times};
    p.has_loops = 1;
    p.add_group(lo, hi);
    regions.hints = {};
    uint64_t work = 1000;
    (void)run(p, 0, 1, 1, memory, regions, &work);
    return regions.hints.ranges;
  };
  using R = std::vector<std::tuple<unsigned, uint64_t, uint64_t>>;
  EXPECT_EQ(ranges(1000, 8, 10, -8, 16), (R{{0, 992, 1088}}));
  EXPECT_EQ(ranges(1000, -8, 10, 0, 8), (R{{0, 928, 1008}}));
  EXPECT_EQ(ranges(10000, -4096, 2, 0, 8), (R{{0, 5904, 10008}}));
  EXPECT_EQ(ranges(10000, -4097, 2, 0, 8), (R{{0, 10000, 10008}, {0, 5903, 5911}}));
  EXPECT_EQ(ranges(10000, 5000, 3, 1, 8), (R{{0, 10001, 10008}, {0, 15001, 15008}, {0, 20001, 20008}}));
  EXPECT_EQ(ranges(1000, 0, ~0ull, 0, 8), (R{{0, 1000, 1008}}));
  EXPECT_EQ(ranges(1000, 8, 0, 0, 8), R{});
  EXPECT_EQ(ranges(1000, 8, 3, 8, 8), R{});
  EXPECT_EQ(ranges(1000, 8, ~0ull, 0, 8), R{}) << "it would wrap around";
  EXPECT_EQ(ranges(1000, -8, 1000, 0, 8), R{});
  EXPECT_EQ(ranges(4, 8, 2, -8, 8), R{});
  EXPECT_EQ(ranges(~0ull - 20, 4, 2, 0, 8), (R{{0, ~0ull - 20, ~0ull - 8}}));
  EXPECT_EQ(ranges(~0ull - 5000, 4500, 9, 0, 8), (R{{0, ~0ull - 5000, ~0ull - 4992}, {0, ~0ull - 500, ~0ull - 492}}));
  EXPECT_EQ(ranges(4, 5000, 2, -8, 0), (R{{0, 4996, 5004}})) << "the first one only is outside";
  EXPECT_EQ(ranges(~0ull - 4, -5000, 2, 0, 8), (R{{0, ~0ull - 5004, ~0ull - 4996}}));
  EXPECT_EQ(ranges(1000, 5000, ~0ull, 0, 8).size(), 998u) << "no more than the work: an iteration, an operation";
}

TEST_F(SliceMachineTest, RangesOfLanes) {
  Program p({op(PAGECAST_OP_MADD, 64, V(1), V(0), 2, 1), op(PAGECAST_OP_AND, 64, V(2), V(0), 3),
             op(PAGECAST_OP_RANGE, 0, V(2), V(1), 4, V(2), 0), op(PAGECAST_OP_RANGE, 0, 3, V(1), V(0), kNone, 0)});
  p.live = {1, kTarget, 100, 3, static_cast<uint64_t>(-16)};
  p.add_group(0, 8);
  expect_as_reference(p, 0, 200, 1);
  EXPECT_EQ(regions.hints.ranges.size(), 349u) << "and two that touch";
}

TEST_F(SliceMachineTest, RowsThatFollowEachOtherAreOneRange) {
  Program p({op(PAGECAST_OP_MADD, 64, V(1), V(0), 2, 1), op(PAGECAST_OP_RANGE, 0, 4, V(1), 3, kNone, 0)});
  p.live = {1, kTarget, 80, 8, 10};
  p.add_group(0, 8);
  ASSERT_EQ(run(p, 0, 100, 1, memory, regions), SliceOutcome::kDone);
  EXPECT_EQ(regions.hints.ranges, (decltype(regions.hints.ranges){{0, kTarget, kTarget + 8000}}));
}

TEST_F(SliceMachineTest, TouchesThatSpanPages) {
  Program p({op(PAGECAST_OP_TOUCH, 0, kNone, 0, kNone, kNone, 0)});
  p.add_group(-4, 4);
  const auto touched = [&](uint64_t address) {
    p.live = {address};
    regions.hints = {};
    EXPECT_EQ(run(p, 0, 1, 1, memory, regions), SliceOutcome::kDone);
    return regions.hints;
  };
  EXPECT_EQ(touched(kTarget + 100), pages({kTarget}));
  EXPECT_EQ(touched(kTarget + kPage), pages({kTarget, kTarget + kPage}));
  EXPECT_EQ(touched(kTarget + kPage - 4), pages({kTarget}));
  EXPECT_EQ(touched(kTarget + kPage + 4), pages({kTarget + kPage}));
  EXPECT_EQ(touched(kTarget), pages({kTarget})) << "the page before is in no region";
  EXPECT_EQ(touched(kTarget + 64 * kPage), pages({kTarget + 63 * kPage}));
  EXPECT_EQ(touched(kTarget - 5), Hints{});
  regions.set_resident(kTarget);
  EXPECT_EQ(touched(kTarget + kPage), pages({kTarget + kPage}));
  p.groups[0].hi = 2 * kPage;
  EXPECT_EQ(touched(kTarget + kPage), pages({kTarget + kPage, kTarget + 2 * kPage}));
  EXPECT_EQ(touched(kTarget + kPage + 1), pages({kTarget + kPage, kTarget + 2 * kPage, kTarget + 3 * kPage}));
  p.groups[0].hi = -4;
  EXPECT_EQ(touched(kTarget + kPage), Hints{});
  for (uint64_t a : kGarbage) EXPECT_EQ(touched(a), Hints{});
}

TEST_F(SliceMachineTest, TouchesOfMoreThanAPageAreNotDoneWithTheFirst) {
  Program p({op(PAGECAST_OP_MADD, 64, V(1), V(0), 1, 2), op(PAGECAST_OP_TOUCH, 0, kNone, V(1), kNone, kNone, 0)});
  p.live = {0, 4 * kPage, kTarget};
  p.add_group(0, 2 * kPage);
  for (unsigned lane = 0; lane < 4; ++lane) regions.set_resident(kTarget + 4 * lane * kPage);
  EXPECT_EQ(run(p, 0, 4, 1, memory, regions), SliceOutcome::kDone);
  EXPECT_EQ(regions.hints, pages({kTarget + kPage, kTarget + 5 * kPage, kTarget + 9 * kPage, kTarget + 13 * kPage}));
}

/// state = 3 * state + load(table + 8 * i), from live 3 on; touches target + page * (state & 63).
struct Carrying : SliceMachineTest {
  Program p{{op(PAGECAST_OP_EQ, 64, V(1), V(0), 6), op(PAGECAST_OP_PREVIOUS, 64, V(2), 3, V(5), V(1), 0, 2),
             op(PAGECAST_OP_MADD, 64, V(3), V(0), 4, 1), op(PAGECAST_OP_LOAD, 64, V(4), V(3)),
             op(PAGECAST_OP_MADD, 64, V(5), V(2), 5, V(4), 0, 2), op(PAGECAST_OP_AND, 64, V(6), V(5), 7, kNone, 0, 2),
             op(PAGECAST_OP_MADD, 64, V(7), V(6), 8, 2, 0, 2), op(PAGECAST_OP_TOUCH, 0, kNone, V(7), kNone, kNone, 0, 2)}};
  std::vector<uint64_t> table;
  SliceCarried carried{};

  void SetUp() override {
    SliceMachineTest::SetUp();
    p.live = {0, kTable, kTarget, 12345, 8, 3, 0, 63, kPage};
    p.depths = 2;
    p.add_group(0, 8);
    for (uint64_t i = 0; i < 1024; ++i) table.push_back(i * i);
    memory.put(kTable, table);
  }
  Hints hints(uint64_t first, uint64_t count, bool silent = false) {
    regions.hints = {};
    const pagecast_nest &nest = p.nest();
    EXPECT_TRUE(slice_valid(nest));
    SliceCall call{&nest, p.live.data(), p.index.data(), first, count, 2, &carried, silent};
    uint64_t work = 1 << 30;
    EXPECT_EQ(machine().run(call, regions.filter(), memory, regions, &work), SliceOutcome::kDone);
    return regions.hints;
  }
  /// What iterations [first, first + count) touch.
  Hints touched(uint64_t first, uint64_t count) const {
    std::vector<uint64_t> at;
    uint64_t state = 12345;
    for (uint64_t i = 0; i < first + count; ++i) {
      state = 3 * state + table[i];
      if (i >= first) at.push_back(kTarget + kPage * (state & 63));
    }
    return pages(at);
  }
};

TEST_F(Carrying, StatesGoOnFromPartToPart) {
  const uint64_t parts[] = {1, 2, 127, 128, 129, 3, 200, 10};
  uint64_t first = 0;
  for (uint64_t count : parts) {
    EXPECT_EQ(hints(first, count), touched(first, count)) << first;
    EXPECT_EQ(carried.known, 1u);
    first += count;
  }
}

TEST_F(Carrying, ARunWithoutHintsHandsOnAsWell) {
  EXPECT_EQ(hints(0, 300, true), Hints{});
  EXPECT_EQ(hints(300, 20), touched(300, 20));
}

TEST_F(Carrying, NothingIsTouchedThatCannotBeKnown) {
  EXPECT_EQ(hints(7, 200), Hints{}) << "where it begins was never run";
  EXPECT_EQ(carried.known, 0u);
  EXPECT_EQ(hints(0, 5), touched(0, 5)) << "it begins anew";
  memory.pages.erase((kTable + 8 * 512) >> 12);
  EXPECT_EQ(hints(5, 700), touched(5, 507)) << "up to the page that is missing";
  EXPECT_EQ(carried.known, 0u);
}

TEST_F(Carrying, ScalarLoopsHandOnToo) {
  // The same with a loop over nothing inside, so that all registers are scalars.
  for (pagecast_op &o : p.ops)
    for (uint16_t *r : {&o.to, &o.a, &o.b, &o.c})
      if (*r != kNone && *r >= PAGECAST_VECTOR) *r = static_cast<uint16_t>(*r - PAGECAST_VECTOR + p.live.size());
  p.ops.push_back(op(PAGECAST_OP_LOOP, 64, V(0), 0, kNone, kNone, static_cast<unsigned>(p.ops.size() + 1)));
  p.ops.push_back(op(PAGECAST_OP_END, 0, kNone, kNone));
  p.has_loops = 1;
  EXPECT_EQ(hints(0, 100), touched(0, 100));
  EXPECT_EQ(hints(100, 300, true), Hints{});
  EXPECT_EQ(hints(400, 50), touched(400, 50));
  memory.pages.erase((kTable + 8 * 512) >> 12);
  carried = {};
  EXPECT_EQ(hints(0, 700), touched(0, 512));
  EXPECT_EQ(carried.known, 0u);
}

TEST_F(SliceMachineTest, LoadsThatCrossPagesNeedBoth) {
  for (unsigned width : {16u, 32u, 64u})
    for (unsigned before = 1; before < width / 8; ++before) {
      Program p({op(PAGECAST_OP_LOAD, width, V(1), V(0))});
      p.live = {1};
      show(p, V(1));
      const uint64_t end = kTable + kPage, a = end - before;
      memory.pages.clear();
      memory.put(end - 8, std::vector<uint64_t>{0x1122334455667788, 0x99aabbccddeeff01});
      uint64_t value = 0;
      ASSERT_TRUE(memory.load(a, width / 8, &value));
      regions.hints = {};
      ASSERT_EQ(run(p, a, 1, 1, memory, regions), SliceOutcome::kDone);
      EXPECT_EQ(regions.hints.ranges, shown({value}));
      expect_as_reference(p, end - 8, 8, 1);
      memory.pages.erase(end >> 12); // now the first is the last before an unmapped one
      expect_as_reference(p, end - 20, 30, 1);
      const uint64_t whole = 20 - width / 8 + 1;
      EXPECT_EQ(
          std::count_if(regions.hints.ranges.begin(), regions.hints.ranges.end(), [](auto r) { return std::get<0>(r) == 0; }),
          static_cast<long>(whole));
    }
}

TEST_F(SliceMachineTest, StoresAreLookedAheadOf) {
  Program p = gather();
  p.groups[0].flags = PAGECAST_WRITES;
  regions.regions = {{kTarget, kTarget + 8 * kPage}};
  regions.ahead = 2 * kPage;
  for (uint64_t page = 0; page < 3; ++page) regions.set_resident(kTarget + page * kPage);
  // The first of a page, the last of it, one whose page ahead is resident, one whose page ahead is in no region.
  memory.put(kTable, std::vector<uint32_t>{512, 1023, 511, 512 * 7});
  ASSERT_EQ(run(p, 0, 4, 2, memory, regions), SliceOutcome::kDone);
  const std::set<std::pair<unsigned, uint64_t>> third{{0, kTarget + 3 * kPage}};
  EXPECT_EQ(regions.pages_ahead, third) << "512 + 1024 and 1023 + 1024 are in it; 511 + 1024 is in a resident one";
  EXPECT_EQ(regions.hints.pages, (std::set<std::pair<unsigned, uint64_t>>{{0, kTarget + 7 * kPage}}));
}

TEST_F(SliceMachineTest, LoadsAreNotLookedAheadOf) {
  Program p = gather();
  regions.regions = {{kTarget, kTarget + 8 * kPage}};
  regions.ahead = 2 * kPage;
  memory.put(kTable, std::vector<uint32_t>{0, 512, 1024});
  ASSERT_EQ(run(p, 0, 3, 2, memory, regions), SliceOutcome::kDone);
  EXPECT_TRUE(regions.pages_ahead.empty());
  EXPECT_EQ(regions.hints.pages.size(), 3u);
}

TEST_F(SliceMachineTest, LookingAheadEndsWhenTheSinkHasEnough) {
  Program p = gather();
  p.groups[0].flags = PAGECAST_WRITES;
  regions.regions = {{kTarget, kTarget + 64 * kPage}};
  regions.ahead = 32 * kPage;
  std::vector<uint32_t> index;
  for (uint32_t i = 0; i < 16; ++i) index.push_back(512 * i), regions.set_resident(kTarget + i * kPage);
  memory.put(kTable, index);
  regions.patience = 5;
  ASSERT_EQ(run(p, 0, 16, 2, memory, regions), SliceOutcome::kRefused);
  EXPECT_EQ(regions.pages_ahead.size(), 5u);
}

TEST_F(SliceMachineTest, GarbageEndsWithTheWork) {
  Program p = gather();
  std::vector<uint32_t> b(1024);
  std::mt19937 random(6);
  for (uint32_t &x : b) x = random();
  memory.put(kTable, b);
  for (uint64_t first : kGarbage)
    for (unsigned stage : {1u, 2u}) {
      uint64_t work = 100000;
      EXPECT_EQ(run(p, first, ~0ull, stage, memory, regions, &work), SliceOutcome::kTired);
      EXPECT_EQ(work, 0u);
    }
  Program loops({op(PAGECAST_OP_LOOP, 64, 8, 0, kNone, kNone, 4), op(PAGECAST_OP_LOOP, 64, V(0), 8, kNone, kNone, 3),
                 op(PAGECAST_OP_ADD, 64, V(1), V(0), 0), op(PAGECAST_OP_END, 0, kNone, kNone),
                 op(PAGECAST_OP_END, 0, kNone, kNone)});
  loops.has_loops = 1;
  loops.live = {~0ull};
  uint64_t work = 100000;
  EXPECT_EQ(run(loops, 0, ~0ull, 1, memory, regions, &work), SliceOutcome::kTired);
  EXPECT_EQ(work, 0u);
}

TEST_F(SliceMachineTest, GarbageEndsWhenNobodyWantsItAnyMore) {
  Program p = gather(); // whose table is not there
  regions.most_portions = 3;
  uint64_t work = ~0ull;
  EXPECT_EQ(run(p, 0, ~0ull, 1, memory, regions, &work), SliceOutcome::kTired);
  EXPECT_EQ(work, 0u);
  EXPECT_EQ(regions.portions, 3u);
  EXPECT_LE(memory.asked, 3 * SliceMachine::kPortion);
}

TEST_F(SliceMachineTest, WorkIsCounted) {
  Program p({op(PAGECAST_OP_ADD, 64, V(1), V(0), 0), op(PAGECAST_OP_ADD, 64, V(1), V(0), 0, kNone, 0, 2)});
  p.live = {1};
  p.depths = 2;
  uint64_t work = 1000;
  EXPECT_EQ(run(p, 0, 200, 1, memory, regions, &work), SliceOutcome::kDone);
  EXPECT_EQ(work, 600u); // 200 iterations, one operation each
  EXPECT_EQ(run(p, 0, 200, 2, memory, regions, &work), SliceOutcome::kDone);
  EXPECT_EQ(work, 0u);
  work = 599;
  EXPECT_EQ(run(p, 0, 200, 2, memory, regions, &work), SliceOutcome::kTired);
  EXPECT_EQ(run(p, 0, 0, 2, memory, regions, &work), SliceOutcome::kDone);
  Program scalar({op(PAGECAST_OP_ADD, 64, 5, 0, 0), op(PAGECAST_OP_RANGE, 0, 1, 0, 2, kNone, 0)});
  scalar.live = {kTarget, 7, 5000};
  scalar.has_loops = 1;
  scalar.add_group(0, 8);
  work = 100;
  EXPECT_EQ(run(scalar, 0, 3, 1, memory, regions, &work), SliceOutcome::kDone);
  EXPECT_EQ(work, 100u - 3 * (1 + 1 + 1 + 7));
}

TEST_F(SliceMachineTest, StopsWhenTheSinkHasEnough) {
  Program p = gather();
  std::vector<uint32_t> b;
  for (uint32_t i = 0; i < 64; ++i) b.push_back(i * 512);
  memory.put(kTable, b);
  regions.patience = 5;
  EXPECT_EQ(run(p, 0, 64, 2, memory, regions), SliceOutcome::kRefused);
  EXPECT_EQ(regions.told, 5u);
  Program ranges({op(PAGECAST_OP_RANGE, 0, 1, 0, 2, kNone, 0)});
  ranges.live = {kTarget, 7, 5000};
  ranges.has_loops = 1;
  ranges.add_group(0, 8);
  regions.told = 0;
  EXPECT_EQ(run(ranges, 0, 3, 1, memory, regions), SliceOutcome::kRefused);
  EXPECT_EQ(regions.told, 5u);
}

TEST_F(SliceMachineTest, AsksForRegionsAndPagesOnceARun) {
  Program p = gather();
  memory.put(kTable, std::vector<uint32_t>(1000, 512 * 70)); // in no region
  ASSERT_EQ(run(p, 0, 1000, 2, memory, regions), SliceOutcome::kDone);
  EXPECT_EQ(regions.asked, 1u);
  EXPECT_EQ(memory.asked, 1u);
  memory.put(kTable, std::vector<uint32_t>(1000, 512));
  ASSERT_EQ(run(p, 0, 1000, 2, memory, regions), SliceOutcome::kDone);
  EXPECT_EQ(regions.asked, 2u);
  EXPECT_EQ(memory.asked, 2u) << "nothing is remembered from the run before";
}

namespace {

/// for each iteration i: w = live 0 + i * live 1; search: touch w; w = load w; until w < 100; then touch live 2 + 4096 * w.
Program walk() {
  Program p({
      op(PAGECAST_OP_MADD, 64, V(1), V(0), 1, 0),
      op(PAGECAST_OP_SEARCH, 64, kNone, kNone, kNone, kNone, 6),
      op(PAGECAST_OP_TOUCH, 0, kNone, V(1), kNone, kNone, 0),
      op(PAGECAST_OP_LOAD, 64, V(2), V(1)),
      op(PAGECAST_OP_CARRY, 64, V(1), V(2)),
      op(PAGECAST_OP_UNTIL, 0, kNone, V(3)),
      op(PAGECAST_OP_FOUND, 0, kNone, kNone),
      op(PAGECAST_OP_MADD, 64, V(4), V(1), 4, 2),
      op(PAGECAST_OP_TOUCH, 0, kNone, V(4), kNone, kNone, 1),
  });
  p.ops.insert(p.ops.begin() + 4, op(PAGECAST_OP_ULT, 64, V(3), V(2), 3));
  p.ops[1].extra = 7;
  p.live = {0x10000, 8, 0x80000, 100, 4096};
  p.add_group(0, 8);
  p.add_group(0, 8);
  return p;
}

} // namespace

TEST(SliceMachine, SearchesGoAsFarAsMemoryIsThere) {
  Program p = walk();
  PagedMemory memory;
  Regions regions;
  regions.regions = {{0x10000, 0x90000}};
  regions.set_resident(0x10000);
  memory.put<uint64_t>(0x10000, {0x20000, 7, 0x30000, 0x10008}); // iteration 0 goes to a page that is there, 2 to one that is not
  memory.put<uint64_t>(0x20000, {9});
  EXPECT_EQ(run(p, 0, 4, 1, memory, regions), SliceOutcome::kDone);
  Hints wanted;
  wanted.pages = {{0, 0x20000}, {0, 0x30000}, {1, 0x80000 + 7 * 4096}, {1, 0x80000 + 9 * 4096}};
  EXPECT_EQ(regions.hints, wanted);
  memory.put<uint64_t>(0x30000, {11}); // it has come
  regions.hints = {};
  EXPECT_EQ(run(p, 2, 1, 1, memory, regions), SliceOutcome::kDone);
  EXPECT_TRUE(regions.hints.pages.count({1, 0x80000 + 11 * 4096}));
}

TEST(SliceMachine, SearchesThatDoNotEndAreGivenUp) {
  Program p = walk();
  PagedMemory memory;
  Regions regions;
  regions.regions = {{0x80000, 0x90000}};
  memory.put<uint64_t>(0x10000, {0x10008, 0x10000, 3});
  uint64_t work = 1 << 20;
  EXPECT_EQ(run(p, 0, 3, 1, memory, regions, &work), SliceOutcome::kDone);
  EXPECT_LT((1u << 20) - work, 3u * 16 * PAGECAST_SEARCH_STEPS);
  Hints wanted;
  wanted.pages = {{1, 0x80000 + 3 * 4096}};
  EXPECT_EQ(regions.hints, wanted);
}
