// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slices/window.h"

#include <gtest/gtest.h>

#include <random>

namespace pagecast {
namespace {

TEST(SliceWindow, IsFullUntilTheProgramHasPassed) {
  SliceWindow w;
  w.start(100);
  w.add(3, 60);
  EXPECT_FALSE(w.full());
  w.add(4, 40);
  EXPECT_TRUE(w.full());
  w.pass(3); // the program is in step 3: it may not have used its pages yet
  EXPECT_EQ(w.pages(), 100u);
  w.pass(4);
  EXPECT_EQ(w.pages(), 40u);
  EXPECT_FALSE(w.full());
  w.pass(5);
  EXPECT_EQ(w.pages(), 0u);
}

TEST(SliceWindow, TheStepThatTheProgramIsInHasNoLead) {
  EXPECT_EQ(SliceWindow::end(7, 1, false), 9u); // up to and with step 8
  EXPECT_EQ(SliceWindow::end(7, 1, true), 9u);
  EXPECT_EQ(SliceWindow::end(7, 40, false), 38u);
  EXPECT_EQ(SliceWindow::end(7, 40, true), 48u);
}

TEST(SliceWindow, StepsThatAskForNothingCostNothing) {
  SliceWindow w;
  w.start(1);
  for (uint64_t step = 0; step < 1000; ++step) w.add(step, 0);
  EXPECT_FALSE(w.full());
}

TEST(SliceWindow, StepsThatAreRunLaterButComeBeforeLetGoOfAll) {
  SliceWindow w;
  w.start(100);
  w.add(3, 20);
  w.add(40, 60); // a probe beyond a gap
  w.back_to(5);
  w.add(5, 10);
  EXPECT_EQ(w.pages(), 90u);
  w.pass(4);
  EXPECT_EQ(w.pages(), 70u);
  w.pass(6);
  EXPECT_EQ(w.pages(), 0u) << "the program need not come to step 40 for that";
}

TEST(SliceWindow, ThePageThatAProbeAsksForLateHoldsUpNoOthers) {
  SliceWindow w;
  w.start(640); // in parts of 10
  w.add(40, 9); // a probe beyond a gap
  w.back_to(5);
  w.add(40, 1); // what it had left to wait for neighbours
  for (uint64_t step = 5; step < 9; ++step) w.add(step, 160);
  EXPECT_TRUE(w.full());
  w.pass(9);
  EXPECT_EQ(w.pages(), 0u) << "the program need not come to step 40 for what steps 5 to 8 asked for";
}

/// Against an exact account: never less, and more by two parts at most.
TEST(SliceWindow, CountsManySmallSteps) {
  for (const uint64_t most : {1u, 7u, 1000u, 100000u}) {
    std::mt19937 draw(static_cast<unsigned>(most));
    SliceWindow w;
    w.start(most);
    std::vector<uint64_t> asked;
    uint64_t program = 0, exact = 0;
    for (unsigned i = 0; i < 20000; ++i) {
      while (w.full()) {
        ASSERT_LE(program, asked.size()) << "full of what has been passed";
        if (program < asked.size()) exact -= asked[program];
        w.pass(++program);
      }
      asked.push_back(draw() % 5);
      exact += asked.back();
      w.add(asked.size() - 1, asked.back());
      ASSERT_GE(w.pages(), exact);
      ASSERT_LE(w.pages(), exact + 2 * (most / 64 + 5));
    }
  }
}

} // namespace
} // namespace pagecast
