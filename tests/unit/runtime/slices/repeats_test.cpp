// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slices/repeats.h"

#include <gtest/gtest.h>

#include <vector>

using namespace pagecast;

namespace {

std::vector<uint64_t> open(const SliceRepeats &repeats, uint64_t from = 0) {
  std::vector<uint64_t> steps;
  for (uint64_t step = from; repeats.next(&step); ++step) steps.push_back(step);
  return steps;
}

using Steps = std::vector<uint64_t>;

} // namespace

TEST(SliceRepeats, StepsAreRunAgainUntilTheyHaveEnded) {
  SliceRepeats repeats;
  repeats.start();
  EXPECT_EQ(open(repeats), Steps());
  for (uint64_t step = 5; step <= 8; ++step) repeats.ran(step, step == 6);
  EXPECT_EQ(open(repeats), (Steps{5, 7, 8}));
  EXPECT_EQ(open(repeats, 8), (Steps{8}));
  repeats.ran(7, true);
  EXPECT_EQ(open(repeats), (Steps{5, 8}));
}

TEST(SliceRepeats, ThoseThatTheProgramHasPassedAreForgotten) {
  SliceRepeats repeats;
  for (uint64_t step = 10; step < 20; ++step) repeats.ran(step, false);
  repeats.pass(17);
  EXPECT_EQ(open(repeats), (Steps{17, 18, 19}));
  repeats.ran(12, false);
  EXPECT_EQ(open(repeats), (Steps{17, 18, 19}));
  repeats.pass(1000);
  EXPECT_EQ(open(repeats), Steps());
  repeats.ran(1001, false);
  EXPECT_EQ(open(repeats), (Steps{1001}));
}

TEST(SliceRepeats, OnlySoManyAreRemembered) {
  SliceRepeats repeats;
  for (uint64_t step = 0; step < 2 * SliceRepeats::kMost; ++step) repeats.ran(step, false);
  EXPECT_EQ(open(repeats).size(), SliceRepeats::kMost);
  EXPECT_EQ(open(repeats, SliceRepeats::kMost), Steps());
}
