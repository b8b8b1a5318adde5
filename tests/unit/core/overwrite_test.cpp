// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/overwrite.h"
#include "shapes.h"

#include <gtest/gtest.h>

using namespace pagecast::core;
using namespace pagecast::core::test;

namespace {

Group output(Addr base, std::initializer_list<int64_t> strides) {
  Group g = array(base, strides);
  g.reads = false;
  g.writes = g.overwrites = true;
  return g;
}

bool overwrites(Shape s, unsigned group = 0) {
  check_overwrites(&s);
  return s.group[group].overwrites;
}

TEST(Overwrite, LoopsThatJoin) {
  EXPECT_TRUE(overwrites(nest_of({1000}, {output(kBase, {8})})));
  EXPECT_TRUE(overwrites(nest_of({10, 1000}, {output(kBase, {8000, 8})})));
  EXPECT_TRUE(overwrites(nest_of({10, 1000}, {output(kBase, {4000, 8})}))); // rows that overlap
  EXPECT_TRUE(overwrites(nest_of({5, 10, 1000}, {output(kBase, {0, 8000, 8})})));
}

TEST(Overwrite, GapsAndTheOtherDirection) {
  EXPECT_FALSE(overwrites(nest_of({1000}, {output(kBase, {16})})));
  EXPECT_FALSE(overwrites(nest_of({10, 1000}, {output(kBase, {8008, 8})})));
  EXPECT_FALSE(overwrites(nest_of({1000, 10}, {output(kBase, {8, 8000})}))); // columns: none is filled at once
  EXPECT_FALSE(overwrites(nest_of({1000}, {output(kBase + 8000, {-8})})));
  EXPECT_FALSE(overwrites(nest_of({10, 0}, {output(kBase, {8, 8})})));
  EXPECT_FALSE(overwrites(nest_of({1ull << 61, 8}, {output(kBase, {64, 8})}))); // around the address space
}

TEST(Overwrite, WhatIsReadElsewhere) {
  const auto beside = [](Addr read, int64_t stride = 8) {
    return overwrites(nest_of({1000}, {array(read, {stride}), output(kBase, {8})}), 1);
  };
  EXPECT_TRUE(beside(kBase + 8000));
  EXPECT_TRUE(beside(kBase - 8000));
  EXPECT_FALSE(beside(kBase + 7992));
  EXPECT_FALSE(beside(kBase - 7992));
  EXPECT_TRUE(beside(kBase - 8, -8));
  EXPECT_FALSE(beside(kBase + 15000, -8));
  EXPECT_FALSE(beside(kBase + 8000, INT64_MAX)); // no range of addresses: it may be anywhere
  Shape dropped = nest_of({1000}, {array(kBase + 80, {8}), output(kBase, {8})});
  dropped.group[0].indirect = true; // no hints for it, but it reads
  EXPECT_FALSE(overwrites(dropped, 1));
}

/// For each step: a page that need not be read is stored to, altogether, by steps behind this one, and the pages
/// that will only be stored to behind it are all found but for the ones at the ends.
void expect_exact(Shape s, uint64_t strip) {
  check_overwrites(&s);
  ASSERT_TRUE(s.group[0].overwrites);
  Overwrite o;
  o.start(s, strip, kPage);
  const auto steps = touched_by_step(s, strip);
  const std::set<uint64_t> all = all_pages(steps);
  std::set<uint64_t> inner = all;
  Addr end = s.group[0].base + 8;
  for (unsigned k = 0; k < s.loops; ++k) end += uint64_t(s.group[0].stride[k]) * (s.trips[k] - 1);
  if (s.group[0].base % kPage) inner.erase(inner.begin());
  if (end % kPage) inner.erase(std::prev(inner.end()));
  for (uint64_t now = 0; now <= steps.size() + 1; ++now) {
    std::set<uint64_t> later;
    for (uint64_t t = now + 1; t < steps.size(); ++t) later.insert(steps[t][0].begin(), steps[t][0].end());
    std::set<uint64_t> unread;
    for (const Extent &part : o.unread(s, 0, now).part)
      for (Addr a = part.begin; a < part.end; a += kPage) unread.insert(a / kPage);
    for (const uint64_t page : unread) {
      EXPECT_TRUE(inner.count(page)) << now;
      EXPECT_TRUE(later.count(page)) << now;
      EXPECT_FALSE(now < steps.size() && steps[now][0].count(page)) << now;
    }
    for (const uint64_t page : inner) { // not yet begun in the first pass: always found
      bool begun = false;
      for (uint64_t t = 0; t <= now && t < steps.size(); ++t) begun |= steps[t][0].count(page) != 0;
      EXPECT_TRUE(begun || !later.count(page) || unread.count(page)) << now << " " << page;
    }
  }
}

TEST(Overwrite, PagesAheadOfTheProgram) {
  expect_exact(nest_of({20000}, {output(kBase, {8})}), 1024);
  expect_exact(nest_of({20000}, {output(kBase + 1000, {8})}), 700);
  expect_exact(nest_of({40, 700}, {output(kBase + 8, {5600, 8})}), 64);
  Shape inside = nest_of({40, 700, 3}, {output(kBase + 8, {5600, 8, 0})}); // stored three times each
  inside.ticked = 1;
  expect_exact(inside, 64);
  Shape rows = nest_of({40, 700}, {output(kBase, {5600, 8})}, false);
  rows.ticked = 0;
  expect_exact(rows, 1);
}

/// For each step: what is left unread there is stored when the program is past the last step of the next pass over these
/// pages that touches one of them, and not before.
void expect_stored_in_time(Shape s, uint64_t strip) {
  check_overwrites(&s);
  Overwrite o;
  const auto steps = touched_by_step(s, strip);
  for (uint64_t now = 0; now < steps.size(); ++now) {
    o.start(s, strip, kPage);
    EXPECT_TRUE(o.all_stored(s, now));
    const Overwrite::Unread unread = o.unread(s, 0, now);
    o.leave(s, 0, now, {0, ~0ull}, unread);
    uint64_t done = now;
    for (const Extent &part : unread.part)
      for (Addr a = part.begin; a < part.end; a += kPage) {
        uint64_t t = now + 1;
        while (!steps[t][0].count(a / kPage)) ++t;
        while (t < steps.size() && steps[t][0].count(a / kPage)) ++t;
        done = std::max(done, t);
      }
    for (uint64_t t = now; t <= steps.size(); ++t) EXPECT_EQ(o.all_stored(s, t), t >= done) << now << " " << t;
  }
}

TEST(Overwrite, WhatWasLeftUnreadIsStoredInTime) {
  expect_stored_in_time(nest_of({20000}, {output(kBase, {8})}), 1024);
  expect_stored_in_time(nest_of({20000}, {output(kBase + 1000, {8})}), 700);
  expect_stored_in_time(nest_of({40, 700}, {output(kBase + 8, {5600, 8})}), 64);
  expect_stored_in_time(nest_of({3, 4096}, {output(kBase, {0, 8})}), 1024);
  expect_stored_in_time(nest_of({2, 2, 10, 700}, {output(kBase + 8, {0, 0, 5600, 8})}), 100);
  Shape rows = nest_of({40, 700}, {output(kBase, {5600, 8})}, false);
  rows.ticked = 0;
  expect_stored_in_time(rows, 1);
}

TEST(Overwrite, OnlyWhatWasAskedForIsWaitedFor) {
  Shape s = nest_of({4096}, {output(kBase, {8})});
  check_overwrites(&s);
  Overwrite o;
  o.start(s, 1024, kPage); // four steps of two pages
  o.leave(s, 0, 0, {kBase, kBase + 4 * kPage}, o.unread(s, 0, 0));
  EXPECT_FALSE(o.all_stored(s, 1));
  EXPECT_TRUE(o.all_stored(s, 2));
  o.leave(s, 0, 1, {kBase, kBase + 2 * kPage}, o.unread(s, 0, 1)); // behind the program
  EXPECT_TRUE(o.all_stored(s, 2));
}

TEST(Overwrite, OnceMore) {
  Shape s = nest_of({3, 4096}, {output(kBase, {0, 8})});
  check_overwrites(&s);
  Overwrite o;
  o.start(s, 1024, kPage); // four steps of two pages a pass
  EXPECT_EQ(o.unread(s, 0, 6).part[0].begin, kBase);
  EXPECT_EQ(o.unread(s, 0, 6).part[0].end, kBase + 4 * kPage);
  EXPECT_EQ(o.unread(s, 0, 6).part[1].begin, kBase + 6 * kPage);
  EXPECT_TRUE(o.unread(s, 0, 10).part[0].empty()); // the last pass: what is stored stays
  EXPECT_EQ(o.unread(s, 0, 10).part[1].begin, kBase + 6 * kPage);
  EXPECT_TRUE(o.unread(s, 0, 12).part[1].empty());
}

} // namespace
