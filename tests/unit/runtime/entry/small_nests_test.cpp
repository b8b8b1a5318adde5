// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small nests over rows of arrays that do not fit: what is absent is asked for at the entry, and a nest whose rows are in memory
// is passed over in the end.
#include "tests/unit/runtime/running_engine.h"

#include "core/nest/companions.h"
#include "core/nest/entry_backoff.h"
#include "runtime/entry/nest_entry.h"
#include "runtime/entry/nests.h"
#include "runtime/state/open_nests.h"

#include <cstring>
#include <unistd.h>
#include <vector>

using namespace pagecast;

namespace {

constexpr uint64_t kPage = 4096, kTrips = 300, kArrayBytes = 16u << 20, kRowBytes = 2 * kPage;
constexpr unsigned kArrays = 4;

/// for (k < 300) ... array[a] + k ..., for some arrays
struct Nest {
  explicit Nest(unsigned groups, uint32_t flags = PAGECAST_READS | PAGECAST_WRITES) : group(groups), word(1 + 2 * groups) {
    for (pagecast_group &g : group) g = {flags, 8, 0, 8, 0, 0, "array"};
    word[0] = {kTrips, 0, 0};
    description.abi = PAGECAST_ABI_VERSION;
    description.loops = description.strips = 1;
    description.groups = groups;
    description.group = group.data();
    description.word = word.data();
    description.cache = &cache;
  }
  void enter(const std::vector<const char *> &rows) {
    for (unsigned g = 0; g < rows.size(); ++g) word[1 + 2 * g] = {address(rows[g]), 0, 0}, word[2 + 2 * g] = {8, 0, 0};
    const pagecast_opened opened = pagecast_do_enter(&description, nullptr, &description);
    EXPECT_EQ(opened.ticket, nullptr) << "it is not opened";
    EXPECT_EQ(opened.count, kTrips);
  }
  bool is_passed_over() const { return core::EntryBackoff(cache >> PAGECAST_WORD_SITE).passes_over(); }
  uint64_t prefetched() {
    expect_valid();
    return engine.statistics.site[engine.statistics.sites_of(&description)].prefetched;
  }

  std::vector<pagecast_group> group;
  std::vector<pagecast_word> word;
  uint64_t cache = 0;
  pagecast_nest description{};
};

/// Arrays one behind the other, of which the first ones are not in memory any more: nothing is released.
struct Arrays {
  Arrays() {
    EXPECT_EQ(engine.add(address(memory), kArrays * kArrayBytes), 0);
    nests_start(&engine);
    memset(memory, 1, kArrays * kArrayBytes);
  }
  const char *row(unsigned array, uint64_t number) const { return memory + array * kArrayBytes + number * kRowBytes; }
  /// The first row from `number` on that is on the disk alone: some of the first ones may have stayed, or be on their way there.
  uint64_t absent(unsigned array, uint64_t number) const {
    const Region region = engine.look_up(address(memory));
    while (engine.state_of(region, address(row(array, number))) != PageState::kAbsent) ++number;
    return number;
  }
  /// Waits until the row is in memory, or on its way.
  void expect_asked(unsigned array, uint64_t number) const {
    for (unsigned n = 0; n < 20000 && !engine.residency().test(address(row(array, number))); ++n) engine.poke(), usleep(100);
    EXPECT_TRUE(engine.residency().test(address(row(array, number)))) << "array " << array << ", row " << number;
  }
  char *memory = map(kArrays * kArrayBytes);
};

TEST(SmallNests, AbsentRowsAreAskedForTogether) {
  START_ENGINE(ReleasePolicy::kNone);
  Arrays arrays;
  Nest nest(2);
  const uint64_t missed = engine.statistics.not_prefetched;
  const uint64_t first = arrays.absent(0, 5), second = arrays.absent(1, 900);
  nest.enter({arrays.row(0, first), arrays.row(1, second)});
  arrays.expect_asked(0, first);
  arrays.expect_asked(1, second);
  EXPECT_EQ(nest.prefetched(), 2u);
  EXPECT_EQ(arrays.row(0, first)[9], 1);
  EXPECT_EQ(arrays.row(1, second)[9], 1);
  expect_valid();
  EXPECT_EQ(engine.statistics.not_prefetched, missed);
}

TEST(SmallNests, RowsThatFollowAtAConstantDistanceAreAskedForAsWell) {
  START_ENGINE(ReleasePolicy::kNone);
  Arrays arrays;
  Nest first(1), second(2);
  for (uint64_t turn = 0; turn < core::Companions::kSure; ++turn) {
    const uint64_t at = 40 + turn * turn;
    first.enter({arrays.row(0, at)});
    second.enter({arrays.row(0, at), arrays.row(1, at)});
    arrays.expect_asked(1, at);
  }
  EXPECT_EQ(first.prefetched(), 0u) << "one row alone is left to faults and their streams";
  uint64_t last = 1000;
  for (uint64_t before = 0; before != last;) before = last, last = arrays.absent(1, arrays.absent(0, last));
  first.enter({arrays.row(0, last)});
  arrays.expect_asked(1, last);
  EXPECT_EQ(first.prefetched(), 2u);
}

TEST(SmallNests, RowsThatTheNextNestStoresToAreBroughtWritable) {
  START_ENGINE(ReleasePolicy::kNone);
  Arrays arrays;
  Nest reads(2, PAGECAST_READS), stores(2);
  for (uint64_t turn = 0; turn < core::Companions::kSure; ++turn) {
    const std::vector<const char *> rows{arrays.row(0, 40 + turn * turn), arrays.row(1, 30 + turn)};
    reads.enter(rows);
    stores.enter(rows);
  }
  const uint64_t first = arrays.absent(0, 1000), second = arrays.absent(1, 900);
  reads.enter({arrays.row(0, first), arrays.row(1, second)});
  arrays.expect_asked(0, first);
  arrays.expect_asked(1, second);
  expect_valid();
  const uint64_t before = engine.statistics.protect_faults;
  const_cast<char *>(arrays.row(0, first))[9] = const_cast<char *>(arrays.row(1, second))[9] = 2;
  expect_valid();
  EXPECT_EQ(engine.statistics.protect_faults, before) << "the first store to it is no fault";
}

TEST(SmallNests, EntriesWhoseRowsAreInMemoryArePassedOver) {
  START_ENGINE(ReleasePolicy::kNone);
  Arrays arrays;
  Nest nest(2);
  const uint64_t last = kArrayBytes / kRowBytes - 1;
  // What was stored last may have gone again while the rest was written, and the disk may be busy.
  nest.enter({arrays.row(kArrays - 1, last), arrays.row(kArrays - 1, last - 1)});
  arrays.expect_asked(kArrays - 1, last);
  arrays.expect_asked(kArrays - 1, last - 1);
  unsigned entries = 0;
  for (; entries < 10 * core::EntryBackoff::kEnough && !nest.is_passed_over(); ++entries) {
    nest.enter({arrays.row(kArrays - 1, last), arrays.row(kArrays - 1, last - 1)});
    expect_valid(); // the pager has seen to what was asked
  }
  EXPECT_TRUE(nest.is_passed_over());
  EXPECT_GE(entries + 1, core::EntryBackoff::kEnough);
}

} // namespace
