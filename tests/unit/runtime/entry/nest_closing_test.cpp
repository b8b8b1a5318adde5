// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nests that are closed by the end of their last strip, as programs go through them: one after the other, in recursions, and
// left by jumps. The frames are addresses only: deeper ones are lower.
#include "tests/unit/runtime/running_engine.h"

#include "core/nest/entry_backoff.h"
#include "runtime/entry/nest_entry.h"
#include "runtime/entry/nests.h"
#include "runtime/slicer/slicer.h"
#include "runtime/state/open_nests.h"

#include <algorithm>
#include <unistd.h>
#include <vector>

using namespace pagecast;

namespace {

constexpr uint64_t kRows = 3, kRowBytes = 16u << 20, kColumns = kRowBytes / 8;
constexpr unsigned kDepth = 8; ///< nests that a thread may have open

const void *frame(uint64_t depth) { return reinterpret_cast<const void *>((uint64_t{1} << 40) - 64 * depth); }

/// for (row...) for (column...) sum += region[row][column]
struct Nest {
  explicit Nest(const char *region, bool closes = true) {
    const uint64_t values[] = {kRows, kColumns, address(region), kRowBytes, 8};
    for (unsigned i = 0; i < 5; ++i) words[i] = {values[i], 0, 0};
    description.abi = PAGECAST_ABI_VERSION;
    description.loops = 2;
    description.ticked = 1;
    description.strips = description.groups = 1;
    description.group = &group;
    description.word = words;
    description.cache = &cache;
    description.closes = closes;
  }
  /// The pager has seen the last of it. Leaving a nest wakes nobody, so that the pager may be asleep since the nest was entered.
  ~Nest() {
    for (const OpenNest &open : nest_table)
      while (open.state == OpenNest::kClosing) let_the_pager_look();
  }
  Nest(const Nest &) = delete;
  static void let_the_pager_look() {
    engine.poke();
    usleep(100);
  }
  pagecast_ticket *enter(uint64_t depth) {
    // What is closing is the pager's until it has seen that.
    const auto is_free = [](const OpenNest &open) { return open.state == OpenNest::kFree; };
    while (std::none_of(std::begin(nest_table), std::end(nest_table), is_free)) let_the_pager_look();
    return pagecast_do_enter(&description, nullptr, frame(depth)).ticket;
  }

  pagecast_group group{.flags = PAGECAST_READS, .element = 8, .lo = 0, .hi = 8, .line = 0, .column = 0, .name = "region"};
  pagecast_word words[5];
  uint64_t cache = 0;
  pagecast_nest description{};
};

void go_through_row(pagecast_ticket *ticket) {
  for (uint64_t at = std::min(ticket->strip, kColumns), end; (end = pagecast_do_next(at, kColumns, ticket)) != at;) at = end;
}

void begin_row(pagecast_ticket *ticket) { ASSERT_GT(pagecast_do_next(ticket->strip, kColumns, ticket), ticket->strip); }

const OpenNest &nest_of(const pagecast_ticket *ticket) {
  for (const OpenNest &open : nest_table)
    if (&open.ticket == ticket) return open;
  ADD_FAILURE() << "no nest has this ticket";
  return nest_table[0];
}

bool is_open(const pagecast_ticket *ticket) { return nest_of(ticket).state == OpenNest::kOpen; }

char *large_region() {
  char *region = map(kRows * kRowBytes);
  EXPECT_EQ(engine.add(address(region), kRows * kRowBytes), 0);
  nests_start(&engine);
  return region;
}

/// The nest is open until its last row has ended, and not longer.
void go_through_all_rows(pagecast_ticket *ticket) {
  for (unsigned row = 0; row < kRows; ++row) {
    ASSERT_TRUE(is_open(ticket)) << row;
    go_through_row(ticket);
  }
  EXPECT_FALSE(is_open(ticket));
}

/// As many nests can be opened, one inside the other, as a thread may have: none was left behind.
void expect_all_closed(Nest &nest) {
  std::vector<pagecast_ticket *> open;
  for (unsigned i = 0; i < kDepth; ++i) {
    open.push_back(nest.enter(1000 + i));
    ASSERT_NE(open.back(), nullptr) << i;
  }
  EXPECT_EQ(nest.enter(1000 + kDepth), nullptr);
  for (const pagecast_ticket *ticket : open) EXPECT_TRUE(is_open(ticket));
  pagecast_do_exit(open.front()); // with all inside
  for (const pagecast_ticket *ticket : open) EXPECT_FALSE(is_open(ticket));
}

} // namespace

TEST(NestClosing, TheLastStripOfTheLastRowCloses) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const char *region = large_region();
  Nest nest(region), other(region, false);
  for (unsigned again = 0; again < 100; ++again) {
    pagecast_ticket *ticket = nest.enter(1);
    ASSERT_NE(ticket, nullptr);
    go_through_all_rows(ticket);
  }
  pagecast_ticket *ticket = other.enter(1);
  ASSERT_NE(ticket, nullptr);
  for (unsigned row = 0; row < kRows + 2; ++row) go_through_row(ticket);
  EXPECT_TRUE(is_open(ticket)) << "its end is told";
  pagecast_do_exit(ticket);
  EXPECT_FALSE(is_open(ticket));
  expect_all_closed(nest);
}

TEST(NestClosing, ARecursionClosesItsOwn) {
  START_ENGINE(ReleasePolicy::kBuffered);
  Nest nest(large_region());
  pagecast_ticket *outer = nest.enter(1);
  ASSERT_NE(outer, nullptr);
  go_through_row(outer);
  begin_row(outer);
  pagecast_ticket *inner = nest.enter(2);
  ASSERT_NE(inner, nullptr);
  ASSERT_NE(inner, outer);
  go_through_all_rows(inner);
  EXPECT_TRUE(is_open(outer));
  go_through_row(outer);
  EXPECT_TRUE(is_open(outer));
  go_through_row(outer);
  EXPECT_FALSE(is_open(outer));
  expect_all_closed(nest);
}

TEST(NestClosing, AJumpOutOfAnInnerNestTakesItAlongAtTheOuterOnesEnd) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const char *region = large_region();
  Nest nest(region), called(region), deeper(region, false);
  pagecast_ticket *outer = nest.enter(1), *inner = called.enter(2), *innermost = deeper.enter(3);
  ASSERT_TRUE(outer && inner && innermost);
  begin_row(inner);
  begin_row(innermost); // longjmp(): back in the first frame
  for (unsigned row = 0; row < kRows; ++row) go_through_row(outer);
  EXPECT_FALSE(is_open(outer));
  EXPECT_FALSE(is_open(inner));
  EXPECT_FALSE(is_open(innermost));
  expect_all_closed(nest);
}

TEST(NestClosing, AfterAJumpTheSameNestBeginsAnew) {
  START_ENGINE(ReleasePolicy::kBuffered);
  Nest nest(large_region());
  for (unsigned i = 0; i < 3 * kDepth; ++i) {
    pagecast_ticket *left = nest.enter(1 + i % 2);
    ASSERT_NE(left, nullptr) << i;
    go_through_row(left); // and jumps
  }
  pagecast_ticket *ticket = nest.enter(1);
  ASSERT_NE(ticket, nullptr);
  go_through_all_rows(ticket);
  expect_all_closed(nest);
}

TEST(NestClosing, ANestOfTheSameFrameGoesOn) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const char *region = large_region();
  Nest first(region), second(region), third(region);
  pagecast_ticket *a = first.enter(1), *b = second.enter(1), *c = third.enter(1);
  ASSERT_TRUE(a && b && c);
  go_through_all_rows(a);
  EXPECT_TRUE(is_open(b) && is_open(c));
  go_through_all_rows(c);
  EXPECT_TRUE(is_open(b));
  go_through_all_rows(b);
  expect_all_closed(first);
}

TEST(NestClosing, TheLastTickCloses) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const char *region = large_region();
  for (unsigned ticked = 0; ticked < 2; ++ticked) {
    Nest nest(region), other(region, false);
    nest.description.strips = other.description.strips = 0;
    nest.description.ticked = other.description.ticked = ticked;
    const uint64_t ticks = ticked ? kRows * kColumns : kRows;
    for (unsigned again = 0; again < 20; ++again) {
      pagecast_ticket *ticket = nest.enter(1);
      ASSERT_NE(ticket, nullptr);
      for (uint64_t i = 0; i + 1 < ticks; ++i) __pagecast_tick(0, 0, ticket);
      ASSERT_TRUE(is_open(ticket)) << ticked;
      if (again % 4 == 0) usleep(2000); // the pager's time to say that nothing is left for it to be woken for
      __pagecast_tick(0, 0, ticket);
      ASSERT_FALSE(is_open(ticket)) << ticked;
    }
    pagecast_ticket *ticket = other.enter(1);
    ASSERT_NE(ticket, nullptr);
    for (uint64_t i = 0; i < ticks + 2; ++i) __pagecast_tick(0, 0, ticket);
    EXPECT_TRUE(is_open(ticket)) << "its end is told";
    pagecast_do_exit(ticket);
    expect_all_closed(nest);
  }
}

TEST(NestClosing, ATickClosesWhatAJumpLeftOpenInside) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const char *region = large_region();
  Nest nest(region), called(region);
  nest.description.strips = nest.description.ticked = 0;
  pagecast_ticket *outer = nest.enter(1), *inner = called.enter(2);
  ASSERT_TRUE(outer && inner);
  begin_row(inner); // longjmp(): back in the first frame
  for (unsigned row = 0; row < kRows; ++row) __pagecast_tick(0, 0, outer);
  EXPECT_FALSE(is_open(outer));
  EXPECT_FALSE(is_open(inner));
  expect_all_closed(nest);
}

namespace {

/// Enters the nest and leaves it at once. False: the entry was passed over.
bool leave_early(Nest &nest) {
  pagecast_ticket *ticket = nest.enter(1);
  if (ticket) pagecast_do_exit(ticket);
  return ticket;
}

} // namespace

TEST(NestClosing, WhatIsLeftEarlyTimeAfterTimeIsPassedOver) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const char *region = large_region();
  Nest nest(region), other(region);
  for (unsigned i = 0; i < core::EntryBackoff::kEnough; ++i) ASSERT_TRUE(leave_early(nest)) << i;
  for (unsigned i = 0; i < core::EntryBackoff::kFirstGap; ++i) {
    const pagecast_opened opened = pagecast_do_enter(&nest.description, nullptr, frame(1));
    ASSERT_EQ(opened.ticket, nullptr) << i;
    ASSERT_EQ(opened.count, kColumns) << "all iterations in one go";
  }
  EXPECT_TRUE(leave_early(other)) << "another nest of the same data";
  pagecast_ticket *probe = nest.enter(1);
  ASSERT_NE(probe, nullptr);
  EXPECT_EQ(engine.statistics.nests_passed_over, core::EntryBackoff::kFirstGap);
  go_through_all_rows(probe);
  for (unsigned i = 0; i < core::EntryBackoff::kEnough; ++i) ASSERT_TRUE(leave_early(nest)) << "the probe went on";
  expect_all_closed(other);
}

TEST(NestClosing, WhatGoesOnIsNeverPassedOver) {
  START_ENGINE(ReleasePolicy::kBuffered);
  Nest nest(large_region());
  for (unsigned i = 0; i < 3 * core::EntryBackoff::kEnough; ++i) {
    pagecast_ticket *ticket = nest.enter(1);
    ASSERT_NE(ticket, nullptr) << i;
    begin_row(ticket);
    pagecast_do_exit(ticket);
  }
  EXPECT_EQ(engine.statistics.nests_passed_over, 0u);
}

TEST(NestClosing, APassedOverEntryClosesWhatItsFrameLeftOpen) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const char *region = large_region();
  Nest nest(region), deeper(region);
  for (unsigned i = 0; i < core::EntryBackoff::kEnough; ++i) ASSERT_TRUE(leave_early(nest)) << i;
  const pagecast_ticket *left = deeper.enter(2); // and jumps
  ASSERT_NE(left, nullptr);
  EXPECT_EQ(nest.enter(1), nullptr);
  EXPECT_FALSE(is_open(left));
}

TEST(NestClosing, ASlicerThatComesLateFindsAnotherNestOrNone) {
  START_ENGINE(ReleasePolicy::kBuffered);
  Nest nest(large_region()); // without a slice, where it saw one with a slice open
  pagecast_ticket *ticket = nest.enter(1);
  ASSERT_NE(ticket, nullptr);
  OpenNest &open = pagecast::nest_of(ticket);
  EXPECT_FALSE(slicer_serve(engine, open));
  EXPECT_EQ(open.slices_run, 0u);
  EXPECT_EQ(open.slicing, 0u) << "or it could not be closed";
  pagecast_do_exit(ticket);
  expect_all_closed(nest);
  EXPECT_FALSE(slicer_serve(engine, open));
}
