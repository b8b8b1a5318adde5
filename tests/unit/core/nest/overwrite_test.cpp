// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/overwrite.h"
#include "core/arithmetic.h"
#include "tests/unit/core/shapes.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

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
  check_overwrites(&s, kPage);
  return s.group[group].overwrites;
}

TEST(Overwrite, LoopsThatJoin) {
  EXPECT_TRUE(overwrites(nest_of({1000}, {output(kBase, {8})})));
  EXPECT_TRUE(overwrites(nest_of({10, 1000}, {output(kBase, {8000, 8})})));
  EXPECT_TRUE(overwrites(nest_of({10, 1000}, {output(kBase, {4000, 8})}))); // rows that overlap
  EXPECT_TRUE(overwrites(nest_of({5, 10, 1000}, {output(kBase, {0, 8000, 8})})));
}

TEST(Overwrite, RunsWithGaps) {
  EXPECT_TRUE(overwrites(nest_of({10, 1000}, {output(kBase, {8008, 8})})));
  EXPECT_TRUE(overwrites(nest_of({4, 10, 1000}, {output(kBase, {90000, 8400, 8})})));
  EXPECT_TRUE(overwrites(nest_of({4, 3, 10, 1000}, {output(kBase, {90000, 0, 8400, 8})})));
  EXPECT_TRUE(overwrites(nest_of({10, 500}, {output(kBase, {4008, 8})})));              // less than a page, narrow margins
  EXPECT_FALSE(overwrites(nest_of({10, 400}, {output(kBase, {4008, 8})})));             // wide ones
  EXPECT_TRUE(overwrites(nest_of({4, 10, 100}, {output(kBase, {816 * 12, 816, 8})})));  // planes that keep to the rows
  EXPECT_FALSE(overwrites(nest_of({4, 10, 100}, {output(kBase, {816 * 12 + 8, 816, 8})})));
  EXPECT_FALSE(overwrites(nest_of({4, 10, 1000}, {output(kBase, {9000, 20000, 8})}))); // interleaved
  EXPECT_FALSE(overwrites(nest_of({10, 1000}, {output(kBase + 80080, {-8008, 8})})));
}

TEST(Overwrite, SingleElementsAndTheOtherDirection) {
  EXPECT_FALSE(overwrites(nest_of({1000}, {output(kBase, {16})})));
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

/// The last step that stores each byte, and the first that stores to each page.
struct Stores {
  std::map<Addr, uint64_t> last;
  std::map<uint64_t, uint64_t> first;
  uint64_t steps = 0;
};

Stores stores_of(const Shape &s, uint64_t strip) {
  Stores all;
  uint64_t index[kMaxLoops] = {};
  const Group &g = s.group[0];
  for (bool more = true; more;) {
    Addr at = g.base;
    for (unsigned k = 0; k < s.loops; ++k) at += index[k] * uint64_t(g.stride[k]);
    for (Addr a = at; a < at + 8; ++a) all.last[a] = all.steps;
    all.first.try_emplace(at / kPage, all.steps);
    more = false;
    for (unsigned k = s.loops; k-- > 0 && !more;) {
      more = ++index[k] < s.trips[k];
      if (!more) index[k] = 0;
      if (k == s.ticked && (!more || index[k] % strip == 0)) ++all.steps;
    }
  }
  return all;
}

/// For each step: of a page that need not be read each byte is stored by steps behind this one; and of the pages not yet
/// begun, all of which that is so are found.
void expect_exact(Shape s, uint64_t strip) {
  check_overwrites(&s, kPage);
  ASSERT_TRUE(s.group[0].overwrites);
  Overwrite o;
  o.start(s, strip, kPage);
  const Stores all = stores_of(s, strip);
  std::map<uint64_t, uint64_t> final_from; // pages whose bytes are all stored: the step that makes the first of them final
  for (auto [page, step] : all.first) {
    uint64_t least_last = ~0ull, bytes = 0;
    for (auto a = all.last.lower_bound(page * kPage); a != all.last.end() && a->first < (page + 1) * kPage; ++a, ++bytes)
      least_last = std::min(least_last, a->second);
    if (bytes == kPage) final_from[page] = least_last;
  }
  ASSERT_FALSE(final_from.empty());
  const Extent whole{round_down(s.group[0].base, kPage) - kPage, (all.first.rbegin()->first + 2) * kPage};
  for (uint64_t now = 0; now <= all.steps + 1; ++now) {
    std::set<uint64_t> unread;
    const Overwrite::Unread u = o.unread(s, 0, now);
    for (Extent left = whole, part = u.first(left); !part.empty(); left.begin = part.end, part = u.first(left))
      for (Addr a = part.begin; a < part.end; a += kPage) unread.insert(a / kPage);
    for (const uint64_t page : unread) EXPECT_TRUE(final_from.count(page) && final_from[page] > now) << now << " " << page;
    for (auto [page, step] : final_from) // not yet begun: always found
      EXPECT_TRUE(all.first.at(page) <= now || unread.count(page)) << now << " " << page;
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

TEST(Overwrite, RunsAheadOfTheProgram) {
  expect_exact(nest_of({12, 1500}, {output(kBase + 400, {12400, 8})}), 128);
  expect_exact(nest_of({5, 4, 1500}, {output(kBase + 408, {60000, 12400, 8})}), 700);
  expect_exact(nest_of({4, 3, 2, 1500}, {output(kBase + 8, {40000, 12800, 0, 8})}), 512); // each row twice
  expect_exact(nest_of({4, 2, 3, 1500}, {output(kBase + 8, {40000, 0, 12800, 8})}), 512); // each plane twice
  for (unsigned ticked : {0u, 1u, 2u}) {
    Shape planes = nest_of({4, 3, 1500}, {output(kBase + 16, {40008, 12800, 8})}, false);
    planes.ticked = ticked;
    expect_exact(planes, 1);
  }
}

/// For each step: of a page that need not be read but for margins each byte is stored by steps behind this one or is in a
/// margin; and of the pages not yet begun, all of which that is so are found.
void expect_exact_but_margins(Shape s, uint64_t strip) {
  check_overwrites(&s, kPage);
  ASSERT_TRUE(s.group[0].overwrites);
  Overwrite o;
  o.start(s, strip, kPage);
  const RowMargins rows = o.row_margins(s, 0);
  ASSERT_TRUE(rows.any());
  const Stores all = stores_of(s, strip);
  std::map<uint64_t, uint64_t> final_from; // pages of which all is stored but margins: the step that makes the first byte final
  for (auto [page, step] : all.first) {
    uint64_t least_last = ~0ull;
    for (Addr a = page * kPage; a < (page + 1) * kPage; ++a) {
      const auto last = all.last.find(a);
      if (last != all.last.end()) least_last = std::min(least_last, last->second);
      else if (rows.offset(a) < rows.span) least_last = 0;
    }
    final_from[page] = least_last;
  }
  unsigned found = 0;
  for (uint64_t now = 0; now <= all.steps + 1; ++now) {
    const Overwrite::Unread u = o.unread(s, 0, now);
    for (auto [page, first] : all.first) {
      const bool covered = final_from.at(page) > now;
      const bool unread = u.but_margins(page * kPage), ahead = covered && first > now;
      EXPECT_TRUE(covered || !unread) << now << " " << page;
      EXPECT_TRUE(unread || !ahead) << now << " " << page;
      found += ahead;
    }
    EXPECT_FALSE(u.but_margins((all.first.begin()->first - 1) * kPage));
    EXPECT_FALSE(u.but_margins((all.first.rbegin()->first + 1) * kPage));
  }
  EXPECT_GT(found, 0u);
}

TEST(Overwrite, MarginsAreAllThatIsKept) {
  expect_exact_but_margins(nest_of({60, 100}, {output(kBase + 8, {816, 8})}), 7);
  expect_exact_but_margins(nest_of({60, 100}, {output(kBase + 8, {816, 8})}), 100);
  expect_exact_but_margins(nest_of({12, 1500}, {output(kBase + 400, {12400, 8})}), 128);
  expect_exact_but_margins(nest_of({4, 3, 30, 100}, {output(kBase + 8, {816 * 32, 0, 816, 8})}), 50); // each plane three times
  expect_exact_but_margins(nest_of({4, 30, 3, 100}, {output(kBase + 8, {816 * 32, 816, 0, 8})}), 50); // each row
  for (unsigned ticked : {0u, 1u, 2u}) {
    Shape planes = nest_of({4, 30, 100}, {output(kBase + 816 + 8, {816 * 32, 816, 8})}, false);
    planes.ticked = ticked;
    expect_exact_but_margins(planes, 1);
  }
}

TEST(Overwrite, WhatIsLeftUnreadButMarginsIsStoredInTime) {
  Shape s = nest_of({3, 40, 100}, {output(kBase + 8, {0, 816, 8})}, false); // a step for each row
  s.ticked = 1;
  check_overwrites(&s, kPage);
  for (uint64_t now = 0; now < 120; ++now) {
    Overwrite o;
    o.start(s, 1, kPage);
    const Overwrite::Unread u = o.unread(s, 0, now);
    uint64_t done = now;
    for (Addr page = kBase; page < kBase + 8 * kPage; page += kPage) {
      if (!u.but_margins(page)) continue;
      o.leave(u, {page, page + kPage});
      for (uint64_t row = 0; row < 40; ++row) { // each row of the page has been stored once more
        const Addr begin = kBase + 8 + row * 816;
        if (begin < page + kPage && begin + 800 > page)
          done = std::max(done, (now - now % 40) + row + (row <= now % 40 ? 41 : 1));
      }
    }
    EXPECT_FALSE(done > now && o.all_stored(done - 1)) << now;
    EXPECT_TRUE(o.all_stored(done + 1)) << now;
  }
}

/// For each step: what is left unread there is stored when the program is past the last step of the next pass over these
/// bytes, and not before.
void expect_stored_in_time(Shape s, uint64_t strip) {
  check_overwrites(&s, kPage);
  Overwrite o;
  const auto steps = touched_by_step(s, strip);
  for (uint64_t now = 0; now < steps.size(); ++now) {
    o.start(s, strip, kPage);
    EXPECT_TRUE(o.all_stored(now));
    const Overwrite::Unread unread = o.unread(s, 0, now);
    const Extent all{kBase - kPage, kBase + (1 << 24)};
    o.leave(unread, all);
    uint64_t done = now;
    for (Extent left = all, part = unread.first(left); !part.empty(); left.begin = part.end, part = unread.first(left))
      for (Addr a = part.begin; a < part.end; a += kPage) {
        uint64_t t = now + 1;
        while (!steps[t][0].count(a / kPage)) ++t;
        while (t < steps.size() && steps[t][0].count(a / kPage)) ++t;
        done = std::max(done, t);
      }
    for (uint64_t t = now; t <= steps.size(); ++t) EXPECT_EQ(o.all_stored(t), t >= done) << now << " " << t;
  }
}

TEST(Overwrite, WhatWasLeftUnreadIsStoredInTime) {
  expect_stored_in_time(nest_of({20000}, {output(kBase, {8})}), 1024);
  expect_stored_in_time(nest_of({20000}, {output(kBase + 1000, {8})}), 700);
  expect_stored_in_time(nest_of({40, 700}, {output(kBase + 8, {5600, 8})}), 64);
  expect_stored_in_time(nest_of({3, 4096}, {output(kBase, {0, 8})}), 1024);
  expect_stored_in_time(nest_of({2, 2, 10, 700}, {output(kBase + 8, {0, 0, 5600, 8})}), 100);
  expect_stored_in_time(nest_of({12, 1500}, {output(kBase + 400, {12400, 8})}), 128);
  expect_stored_in_time(nest_of({5, 4, 1500}, {output(kBase + 408, {60000, 12400, 8})}), 700);
  expect_stored_in_time(nest_of({4, 2, 3, 1500}, {output(kBase + 8, {40000, 0, 12800, 8})}), 512);
  Shape rows = nest_of({40, 700}, {output(kBase, {5600, 8})}, false);
  rows.ticked = 0;
  expect_stored_in_time(rows, 1);
}

TEST(Overwrite, OnlyWhatWasAskedForIsWaitedFor) {
  Shape s = nest_of({4096}, {output(kBase, {8})});
  check_overwrites(&s, kPage);
  Overwrite o;
  o.start(s, 1024, kPage); // four steps of two pages
  o.leave(o.unread(s, 0, 0), {kBase, kBase + 4 * kPage});
  EXPECT_FALSE(o.all_stored(1));
  EXPECT_TRUE(o.all_stored(2));
  o.leave(o.unread(s, 0, 1), {kBase, kBase + 2 * kPage}); // behind the program
  EXPECT_TRUE(o.all_stored(2));
}

TEST(Overwrite, OnceMore) {
  Shape s = nest_of({3, 4096}, {output(kBase, {0, 8})});
  check_overwrites(&s, kPage);
  Overwrite o;
  o.start(s, 1024, kPage); // four steps of two pages a pass
  const Extent all{kBase, kBase + 8 * kPage};
  EXPECT_EQ(o.unread(s, 0, 6).first(all).begin, kBase);
  EXPECT_EQ(o.unread(s, 0, 6).first(all).end, kBase + 4 * kPage);
  EXPECT_EQ(o.unread(s, 0, 6).first({kBase + 4 * kPage, all.end}).begin, kBase + 6 * kPage); // not what is in progress
  EXPECT_EQ(o.unread(s, 0, 10).first(all).begin, kBase + 6 * kPage); // the last pass: what is stored stays
  EXPECT_EQ(o.unread(s, 0, 10).first(all).size(), 2 * kPage);
  EXPECT_TRUE(o.unread(s, 0, 10).first({kBase, kBase + 6 * kPage}).empty());
  EXPECT_TRUE(o.unread(s, 0, 12).first(all).empty());
}

} // namespace
