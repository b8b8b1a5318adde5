// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/unit/runtime/slices/program.h"

using namespace pagecast;
using namespace pagecast::test;

namespace {

/// for each iteration i: for v0 < live 0: touch load(live 1 + 8 * v0). Scalar 2 is i.
Program rows() {
  Program p({
      op(PAGECAST_OP_ADD, 64, 3, 0, 2),                              // 0
      op(PAGECAST_OP_LOOP, 64, 4, 3, kNone, kNone, 8),               // 1
      op(PAGECAST_OP_LOOP, 64, V(0), 0, kNone, 3, 6),                // 2
      op(PAGECAST_OP_MADD, 64, V(1), V(0), 4, 1),                    // 3
      op(PAGECAST_OP_LOAD, 32, V(2), V(1), kNone, V(0)),             // 4
      op(PAGECAST_OP_TOUCH, 0, kNone, V(2), kNone, kNone, 1, 2),     // 5
      op(PAGECAST_OP_END, 0, kNone, kNone),                          // 6
      op(PAGECAST_OP_TRUNC, 32, 5, 4),                               // 7
      op(PAGECAST_OP_END, 0, kNone, kNone),                          // 8
      op(PAGECAST_OP_RANGE, 0, 5, 1, 0, kNone, 0, 2),                // 9
  });
  p.live = {1, 2};
  p.add_group(0, 8);
  p.add_group(0, 8);
  p.scalars = 6;
  p.vectors = 3;
  p.depths = 2;
  p.has_loops = 1;
  return p;
}

/// The same, with something changed.
template <class Change> bool valid_with(Change change) {
  Program p = rows();
  change(p);
  return slice_valid(p.nest());
}

bool valid_op(unsigned number, pagecast_op o) {
  return valid_with([&](Program &p) { p.ops[number] = o; });
}

} // namespace

TEST(SliceCheck, TakesWhatIsRight) {
  EXPECT_TRUE(valid_with([](Program &) {}));
  Program empty;
  EXPECT_TRUE(slice_valid(empty.nest()));
}

TEST(SliceCheck, SizesAreLimited) {
  pagecast_nest none{};
  none.loops = 1;
  EXPECT_FALSE(slice_valid(none));
  EXPECT_FALSE(valid_with([](Program &p) { p.scalars = PAGECAST_MAX_SCALARS + 1; }));
  EXPECT_FALSE(valid_with([](Program &p) { p.vectors = PAGECAST_MAX_VECTORS + 1; }));
  EXPECT_FALSE(valid_with([](Program &p) { p.depths = 0; }));
  EXPECT_FALSE(valid_with([](Program &p) { p.depths = PAGECAST_MAX_DEPTH + 1; }));
  EXPECT_FALSE(valid_with([](Program &p) { p.has_loops = 2; }));
  EXPECT_FALSE(valid_with([](Program &p) { p.groups.resize(PAGECAST_MAX_GROUPS + 1); }));
  EXPECT_FALSE(valid_with([](Program &p) { p.index.resize(PAGECAST_MAX_LOOPS); }));
  Program p;
  p.live.resize(PAGECAST_MAX_LIVE + 1);
  p.scalars = PAGECAST_MAX_SCALARS;
  EXPECT_FALSE(slice_valid(p.nest()));
  p.live.resize(PAGECAST_MAX_LIVE);
  EXPECT_TRUE(slice_valid(p.nest()));
  p.ops.assign(PAGECAST_MAX_OPS + 1, op(PAGECAST_OP_ADD, 64, V(1), 0, 0));
  EXPECT_FALSE(slice_valid(p.nest()));
  p.ops.pop_back();
  EXPECT_TRUE(slice_valid(p.nest()));
}

TEST(SliceCheck, ThereIsRoomForTheIterationNumbers) {
  Program p;
  p.live = {1, 2};
  p.index = {0};
  p.scalars = 3;
  p.vectors = 1;
  EXPECT_TRUE(slice_valid(p.nest()));
  p.vectors = 0; // vector 0 is the number
  EXPECT_FALSE(slice_valid(p.nest()));
  p.has_loops = 1; // scalar 3 is
  EXPECT_FALSE(slice_valid(p.nest()));
  p.scalars = 4;
  EXPECT_TRUE(slice_valid(p.nest()));
}

TEST(SliceCheck, RegistersExist) {
  for (uint16_t bad : {uint16_t{6}, uint16_t{0x7fff}, kNone, V(0)}) { // scalars only, there
    EXPECT_FALSE(valid_op(0, op(PAGECAST_OP_ADD, 64, bad, 0, 2))) << bad;
    EXPECT_FALSE(valid_op(0, op(PAGECAST_OP_ADD, 64, 3, bad, 2))) << bad;
    EXPECT_FALSE(valid_op(0, op(PAGECAST_OP_ADD, 64, 3, 0, bad))) << bad;
    EXPECT_FALSE(valid_op(0, op(PAGECAST_OP_MADD, 64, 3, 0, 0, bad))) << bad;
    EXPECT_FALSE(valid_op(1, op(PAGECAST_OP_LOOP, 64, 4, bad, kNone, kNone, 8))) << bad;
    EXPECT_EQ(valid_op(1, op(PAGECAST_OP_LOOP, 64, 4, 3, kNone, bad, 8)), bad == kNone) << bad;
    EXPECT_FALSE(valid_op(9, op(PAGECAST_OP_RANGE, 0, bad, 1, 0))) << bad;
  }
  for (uint16_t bad : {uint16_t{6}, kNone, V(3), V(0x7ffe)}) { // vectors, too, in the innermost loop
    EXPECT_FALSE(valid_op(3, op(PAGECAST_OP_MADD, 64, V(1), bad, 4, 1))) << bad;
    EXPECT_FALSE(valid_op(3, op(PAGECAST_OP_MADD, 64, V(1), V(0), bad, 1))) << bad;
    EXPECT_FALSE(valid_op(3, op(PAGECAST_OP_MADD, 64, V(1), V(0), 4, bad))) << bad;
    EXPECT_FALSE(valid_op(5, op(PAGECAST_OP_TOUCH, 0, kNone, bad))) << bad;
    EXPECT_EQ(valid_op(4, op(PAGECAST_OP_LOAD, 32, V(2), V(1), kNone, bad)), bad == kNone) << bad;
    EXPECT_EQ(valid_op(5, op(PAGECAST_OP_TOUCH, 0, kNone, V(1), kNone, bad)), bad == kNone) << bad;
  }
  EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_TRUNC, 32, 5, 4, V(1)))) << "not even where it is not used";
  EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_TRUNC, 32, 5, 4, kNone, 6)));
  EXPECT_FALSE(valid_op(3, op(PAGECAST_OP_MADD, 64, 3, V(0), 4, 1))) << "a vector loop's results are vectors";
  EXPECT_FALSE(valid_op(4, op(PAGECAST_OP_LOAD, 32, 3, 4)));
  EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_TRUNC, 32, V(1), 4))) << "after the vector loop";
}

TEST(SliceCheck, LoopsAreOfTheirKind) {
  EXPECT_FALSE(valid_op(1, op(PAGECAST_OP_LOOP, 64, V(1), 3, kNone, kNone, 8))) << "a loop is inside";
  EXPECT_FALSE(valid_op(2, op(PAGECAST_OP_LOOP, 64, 4, 0, kNone, 3, 6))) << "no loop is inside";
  EXPECT_FALSE(valid_with([](Program &p) { p.has_loops = 0; })) << "loops in a vector loop";
}

TEST(SliceCheck, LoopsNest) {
  for (unsigned end : {0u, 1u, 2u, 5u, 6u, 7u, 9u, 10u, 511u, ~0u})
    EXPECT_FALSE(valid_op(1, op(PAGECAST_OP_LOOP, 64, 4, 3, kNone, kNone, end))) << end;
  for (unsigned end : {0u, 2u, 5u, 7u, 8u, 10u})
    EXPECT_FALSE(valid_op(2, op(PAGECAST_OP_LOOP, 64, V(0), 0, kNone, 3, end))) << end;
  for (unsigned removed : {1u, 2u, 6u, 8u})
    EXPECT_FALSE(valid_with([&](Program &p) { p.ops.erase(p.ops.begin() + removed); })) << removed;
  EXPECT_FALSE(valid_with([](Program &p) { p.ops.push_back(op(PAGECAST_OP_END, 0, kNone, kNone)); }));
  EXPECT_FALSE(valid_with([](Program &p) { p.ops.push_back(op(PAGECAST_OP_LOOP, 64, V(0), 0, kNone, kNone, 10)); }));
}

TEST(SliceCheck, LoopsNestSoDeepOnly) {
  for (unsigned deep : {PAGECAST_MAX_SLICE_LOOPS, PAGECAST_MAX_SLICE_LOOPS + 1}) {
    Program p;
    p.has_loops = 1;
    for (unsigned k = 0; k < deep; ++k)
      p.ops.push_back(op(PAGECAST_OP_LOOP, 64, k + 1 == deep ? V(0) : 1, 0, kNone, kNone, 2 * deep - 1 - k));
    for (unsigned k = 0; k < deep; ++k) p.ops.push_back(op(PAGECAST_OP_END, 0, kNone, kNone));
    EXPECT_EQ(slice_valid(p.nest()), deep == PAGECAST_MAX_SLICE_LOOPS);
  }
}

TEST(SliceCheck, WidthsCodesDepthsAndGroupsExist) {
  for (unsigned width : {0u, 65u, 255u}) {
    EXPECT_FALSE(valid_op(3, op(PAGECAST_OP_MADD, width, V(1), V(0), 4, 1))) << width;
    EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_EQ, width, 5, 4, 4))) << width;
  }
  for (unsigned width : {0u, 1u, 24u, 63u, 128u}) EXPECT_FALSE(valid_op(4, op(PAGECAST_OP_LOAD, width, V(2), V(1)))) << width;
  for (unsigned from : {0u, 33u, 64u, 1u << 20})
    EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_SEXT, 32, 5, 4, kNone, kNone, from))) << from;
  EXPECT_TRUE(valid_op(7, op(PAGECAST_OP_SEXT, 32, 5, 4, kNone, kNone, 32)));
  for (unsigned width : {1u, 16u, 31u, 33u, 63u, 80u}) {
    EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_FADD, width, 5, 4, 4))) << width;
    EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_FLT, width, 5, 4, 4))) << width;
    EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_STOF, width, 5, 4, kNone, kNone, 64))) << width;
    EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_FTOS, 64, 5, 4, kNone, kNone, width))) << width;
    EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_FTOF, 64, 5, 4, kNone, kNone, width))) << width;
  }
  EXPECT_TRUE(valid_op(7, op(PAGECAST_OP_FTOS, 31, 5, 4, kNone, kNone, 32)));
  EXPECT_TRUE(valid_op(7, op(PAGECAST_OP_UTOF, 32, 5, 4, kNone, kNone, 7)));
  EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_UTOF, 32, 5, 4, kNone, kNone, 65)));
  EXPECT_FALSE(valid_op(7, op(PAGECAST_OP_FMUL, 64, 5, 4))) << "it has two operands";
  for (unsigned code : {unsigned{PAGECAST_OPS}, 100u, 255u}) EXPECT_FALSE(valid_op(7, op(code, 32, 5, 4, 4, 4)));
  for (unsigned depth : {0u, 3u, 255u})
    for (unsigned number : {0u, 1u, 4u, 5u, 9u})
      EXPECT_FALSE(valid_with([&](Program &p) { p.ops[number].depth = static_cast<uint8_t>(depth); })) << depth;
  for (unsigned group : {2u, 32u, ~0u}) {
    EXPECT_FALSE(valid_op(5, op(PAGECAST_OP_TOUCH, 0, kNone, V(2), kNone, kNone, group)));
    EXPECT_FALSE(valid_op(9, op(PAGECAST_OP_RANGE, 0, 5, 1, 0, kNone, group)));
  }
}

TEST(SliceCheck, WhatIsHandedOnIsComputedInTheLoop) {
  const auto previous = [](unsigned number, unsigned b, unsigned extra = 0, unsigned depth = 1) {
    return valid_with([=](Program &p) {
      const bool vector = number >= 3 && number <= 5;
      pagecast_op o = op(PAGECAST_OP_PREVIOUS, 64, vector ? V(3) : 6, 0, b, 1, extra, depth);
      p.ops.insert(p.ops.begin() + number, o);
      for (pagecast_op &loop : p.ops)
        if (loop.code == PAGECAST_OP_LOOP && loop.extra >= number) ++loop.extra;
      p.scalars = 7;
      p.vectors = 4;
    });
  };
  EXPECT_TRUE(previous(0, 3)); // by the next operation
  EXPECT_TRUE(previous(1, 3)); // by the one before
  EXPECT_TRUE(previous(0, 6)) << "itself";
  EXPECT_TRUE(previous(4, V(2))) << "by a load";
  EXPECT_FALSE(previous(0, 4)) << "an iteration number";
  EXPECT_FALSE(previous(0, 5)) << "in a loop inside";
  EXPECT_FALSE(previous(7, 3)) << "in a loop around";
  EXPECT_FALSE(previous(0, 0)) << "a live value";
  EXPECT_FALSE(previous(4, V(0)));
  EXPECT_FALSE(previous(0, kNone));
  EXPECT_FALSE(previous(0, 3, PAGECAST_MAX_CARRIED));
  EXPECT_TRUE(previous(0, 3, PAGECAST_MAX_CARRIED - 1));
}

TEST(SliceCheck, NumbersOfWhatIsHandedOnDiffer) {
  for (unsigned other : {0u, 1u}) {
    Program p({op(PAGECAST_OP_PREVIOUS, 64, V(1), 0, V(1), 0, 0), op(PAGECAST_OP_PREVIOUS, 64, V(2), 0, V(1), 0, other)});
    p.live = {1};
    EXPECT_EQ(slice_valid(p.nest()), other == 1);
  }
  Program late({op(PAGECAST_OP_PREVIOUS, 64, V(1), 0, V(2), 0, 0), op(PAGECAST_OP_ADD, 64, V(2), V(1), 0, kNone, 0, 2)});
  late.live = {1};
  late.depths = 2;
  EXPECT_FALSE(slice_valid(late.nest())) << "a stage that needs it would not compute it";
}

namespace {

/// for each iteration i: w = live 0; search: touch w; w = load w; until w == live 1.
Program chain() {
  Program p({
      op(PAGECAST_OP_ADD, 64, V(1), 0, V(0)),                   // 0
      op(PAGECAST_OP_SEARCH, 64, V(2), kNone, kNone, kNone, 6), // 1
      op(PAGECAST_OP_TOUCH, 0, kNone, V(1)),                    // 2
      op(PAGECAST_OP_LOAD, 64, V(3), V(1)),                     // 3
      op(PAGECAST_OP_UNTIL, 0, kNone, V(3)),                    // 4
      op(PAGECAST_OP_CARRY, 64, V(1), V(3)),                    // 5
      op(PAGECAST_OP_FOUND, 0, kNone, kNone),                   // 6
      op(PAGECAST_OP_TOUCH, 0, kNone, V(1)),                    // 7
  });
  p.live = {1, 2};
  p.add_group(0, 8);
  p.scalars = 4;
  p.vectors = 4;
  return p;
}

bool valid_search(unsigned number, pagecast_op o) {
  Program p = chain();
  p.ops[number] = o;
  return slice_valid(p.nest());
}

} // namespace

TEST(SliceCheck, SearchesEndWhereTheySay) {
  Program p = chain();
  EXPECT_TRUE(slice_valid(p.nest()));
  EXPECT_TRUE(valid_search(1, op(PAGECAST_OP_SEARCH, 64, kNone, kNone, kNone, V(0), 6)));
  for (unsigned end : {0u, 1u, 5u, 7u, 8u, 500u})
    EXPECT_FALSE(valid_search(1, op(PAGECAST_OP_SEARCH, 64, V(2), kNone, kNone, kNone, end))) << end;
  EXPECT_FALSE(valid_search(1, op(PAGECAST_OP_ADD, 64, V(2), 0, 0)));
  EXPECT_FALSE(valid_search(6, op(PAGECAST_OP_ADD, 64, V(2), 0, 0)));
  EXPECT_FALSE(valid_search(6, op(PAGECAST_OP_END, 0, kNone, kNone)));
}

TEST(SliceCheck, SearchesHaveTheRegistersOfTheirPlace) {
  EXPECT_FALSE(valid_search(1, op(PAGECAST_OP_SEARCH, 64, 3, kNone, kNone, kNone, 6)));
  EXPECT_FALSE(valid_search(1, op(PAGECAST_OP_SEARCH, 64, V(4), kNone, kNone, kNone, 6)));
  EXPECT_FALSE(valid_search(1, op(PAGECAST_OP_SEARCH, 64, V(2), kNone, kNone, V(4), 6)));
  EXPECT_FALSE(valid_search(5, op(PAGECAST_OP_CARRY, 64, 3, V(3))));
  EXPECT_FALSE(valid_search(5, op(PAGECAST_OP_CARRY, 64, V(1), kNone)));
  EXPECT_FALSE(valid_search(4, op(PAGECAST_OP_UNTIL, 0, kNone, kNone)));
}

TEST(SliceCheck, WhatIsOfSearchesIsInThem) {
  EXPECT_FALSE(valid_search(7, op(PAGECAST_OP_CARRY, 64, V(1), V(3))));
  EXPECT_FALSE(valid_search(0, op(PAGECAST_OP_UNTIL, 0, kNone, V(0))));
  Program p = chain(); // no loops in them
  p.has_loops = 1;
  for (pagecast_op &o : p.ops)
    for (uint16_t *r : {&o.to, &o.a})
      if (*r != kNone && *r >= PAGECAST_VECTOR) *r = static_cast<uint16_t>(*r - PAGECAST_VECTOR + 3);
  p.ops[0].b = 2;
  p.scalars = 8;
  EXPECT_TRUE(slice_valid(p.nest()));
  p.ops[2] = op(PAGECAST_OP_LOOP, 64, V(0), 0, kNone, kNone, 3);
  p.ops[3] = op(PAGECAST_OP_END, 0, kNone, kNone);
  EXPECT_FALSE(slice_valid(p.nest()));
}

TEST(SliceCheck, SearchesAreNotTooDeep) {
  for (unsigned depth = 1; depth <= PAGECAST_MAX_SEARCHES + 1; ++depth) {
    Program p;
    for (unsigned d = 0; d < depth; ++d)
      p.ops.push_back(op(PAGECAST_OP_SEARCH, 64, kNone, kNone, kNone, kNone, 2 * depth - 1 - d));
    for (unsigned d = 0; d < depth; ++d) p.ops.push_back(op(PAGECAST_OP_FOUND, 0, kNone, kNone));
    EXPECT_EQ(slice_valid(p.nest()), depth <= PAGECAST_MAX_SEARCHES) << depth;
  }
}
