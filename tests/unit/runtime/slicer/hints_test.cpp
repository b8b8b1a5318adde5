// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of the ranges that a slice finds.
#include "tests/unit/runtime/running_engine.h"

#include "runtime/slicer/hints.h"
#include "runtime/state/open_nests.h"

using namespace pagecast;

namespace {

constexpr uint64_t kColumns = 64, kRowBytes = 64 << 10; ///< so that columns have a page of each row

/// A nest whose slice goes down columns of a matrix.
struct Columns {
  Columns() : open(*claim_nest()) {
    description.group = &group;
    open.description = &description;
    open.range_stage[0] = 1;
    open.trail.start(os::page_size(), engine.max_io(), 0);
    open.coalescer.start(engine.max_io() / 2);
  }
  void go_down(uint64_t matrix) {
    SliceHints hints(engine, open, nullptr, 0);
    for (uint64_t row = 0; row < kColumns; ++row)
      EXPECT_TRUE(hints.range(0, matrix + row * kRowBytes, matrix + row * kRowBytes + 8));
  }
  pagecast_group group{.flags = PAGECAST_READS, .element = 8, .lo = 0, .hi = 8, .line = 0, .column = 0, .name = "matrix"};
  pagecast_nest description{};
  OpenNest &open;
};

} // namespace

TEST(SliceHints, WhatIsInMemoryDoesNotWaitForNeighbours) {
  START_ENGINE(ReleasePolicy::kBuffered);
  char *matrix = map(kColumns * kRowBytes);
  ASSERT_EQ(engine.add(address(matrix), kColumns * kRowBytes), 0);
  Columns here, gone;
  engine.residency().set({address(matrix), address(matrix) + kColumns * kRowBytes});
  here.go_down(address(matrix));
  EXPECT_TRUE(here.open.coalescer.empty()) << "the oldest of those that wait is looked for where there is no room for more";
  engine.residency().clear({address(matrix), address(matrix) + kColumns * kRowBytes});
  gone.go_down(address(matrix));
  EXPECT_FALSE(gone.open.coalescer.empty());
}
