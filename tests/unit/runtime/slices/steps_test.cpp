// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slices/steps.h"

#include <gtest/gtest.h>

namespace pagecast {
namespace {

SliceCarried with(uint64_t value) {
  SliceCarried c{};
  c.value[0] = value;
  c.known = 1;
  return c;
}

TEST(SliceState, TellsWhatTheStepBeforeHandedOn) {
  static SliceState s;
  s.start();
  EXPECT_EQ(s.before(0).known, 0u) << "nothing was run";
  for (uint64_t step = 0; step < 10; ++step) s.after(step, with(100 + step));
  EXPECT_EQ(s.before(0).known, 0u);
  for (uint64_t step = 1; step <= 10; ++step) EXPECT_EQ(s.before(step).value[0], 99 + step);
  EXPECT_EQ(s.before(11).known, 0u);
  s.start();
  EXPECT_EQ(s.before(5).known, 0u) << "of another nest";
}

TEST(SliceState, KeepsTheLastSteps) {
  static SliceState s;
  s.start();
  for (uint64_t step = 0; step < 1000; ++step) s.after(step, with(step));
  EXPECT_EQ(s.before(1000).value[0], 999u);
  const uint64_t oldest = 1001 - SliceState::kKept;
  EXPECT_EQ(s.before(oldest).value[0], oldest - 1);
  EXPECT_EQ(s.before(oldest - 1).known, 0u);
  EXPECT_EQ(s.back_to(950, 1000), 950u);
  EXPECT_EQ(s.back_to(3, 1000), oldest) << "as far as it can";
}

TEST(SliceState, GoesNowhereWithoutKnowing) {
  static SliceState s;
  s.start();
  EXPECT_EQ(s.back_to(3, 70), 70u);
  s.after(500, with(1));
  EXPECT_EQ(s.before(501).value[0], 1u);
  EXPECT_EQ(s.back_to(400, 501), 501u);
}

TEST(SliceState, StepsThatWereLeftOutAreNotKnown) {
  static SliceState s;
  s.start();
  for (uint64_t step = 0; step < 50; ++step) s.after(step, with(step));
  s.after(90, with(90)); // behind a jump
  EXPECT_EQ(s.before(91).value[0], 90u);
  EXPECT_EQ(s.before(50).known, 0u);
  EXPECT_EQ(s.before(60).known, 0u);
}

TEST(SliceState, StepsCanBeRunAgain) {
  static SliceState s;
  s.start();
  for (uint64_t step = 0; step < 50; ++step) s.after(step, with(step));
  s.after(20, with(1000));
  EXPECT_EQ(s.before(21).value[0], 1000u);
  EXPECT_EQ(s.before(50).value[0], 49u);
}

} // namespace
} // namespace pagecast
