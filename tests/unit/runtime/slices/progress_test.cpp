// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slices/progress.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

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

TEST(SliceLead, IsUnboundedWhileNothingIsGivenUp) {
  SliceLead l;
  l.start(100);
  for (uint64_t step = 1; step < 100000; ++step) l.runs(step, 7);
  EXPECT_FALSE(l.is_stale(5000, 7));
  EXPECT_FALSE(l.is_stale(5001, 90));
  EXPECT_EQ(l.end(5001), ~0ull);
}

TEST(SliceLead, IsStaleWhenTooMuchHasGoneSinceTheStepWasLookedAt) {
  SliceLead l;
  l.start(100);
  for (uint64_t step = 1; step <= 1000; ++step) l.runs(step, step / 10); // a page every ten steps
  EXPECT_FALSE(l.is_stale(1, 99));
  EXPECT_TRUE(l.is_stale(1, 101));
  EXPECT_TRUE(l.is_stale(10, 110));
  EXPECT_FALSE(l.is_stale(500, 110)) << "that was looked at when 50 had gone";
}

TEST(SliceLead, HalvesAndRecovers) {
  SliceLead l;
  l.start(100);
  for (uint64_t step = 1; step <= 1000; ++step) l.runs(step, 0);
  EXPECT_TRUE(l.is_stale(20, 400));
  l.back_to(20, 1000);
  EXPECT_EQ(l.end(20), 20u + 1 + 490);
  EXPECT_FALSE(l.is_stale(20, 400)) << "it has not been anywhere yet";
  for (uint64_t step = 21; step < 500; ++step) l.runs(step, 400);
  EXPECT_FALSE(l.is_stale(509, 450));
  EXPECT_EQ(l.end(509), 509u + 1 + 490);
  EXPECT_FALSE(l.is_stale(510, 450)); // a lead later
  EXPECT_EQ(l.end(510), 510u + 1 + 980);
}

TEST(SliceLead, KeepsALeastLead) {
  SliceLead l;
  l.start(1);
  l.runs(1, 0);
  EXPECT_TRUE(l.is_stale(1, 10));
  l.back_to(1, 2);
  EXPECT_EQ(l.end(1), 1 + 1 + SliceLead::kLeast);
}

TEST(SliceLead, IsNeverTooSureOfItself) {
  SliceLead l;
  l.start(64);
  for (uint64_t step = 1; step <= 4000; ++step) l.runs(step, step);
  for (uint64_t step = 1; step <= 4000; step += 37) EXPECT_TRUE(l.is_stale(step, step + 64 + 1)) << step;
}

std::vector<uint64_t> open(const SliceRepeats &repeats, uint64_t from = 0) {
  std::vector<uint64_t> steps;
  for (uint64_t step = from; repeats.next(&step); ++step) steps.push_back(step);
  return steps;
}

using Steps = std::vector<uint64_t>;

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

TEST(SliceSampling, WhatIsOnItsWaySaysNothingOfTheOrder) {
  SliceSampling s;
  s.start(true);
  for (unsigned i = 0; i < 3; ++i) s.ran(true);
  for (unsigned i = 0; i < 100; ++i) EXPECT_FALSE(s.ran(false, true));
  EXPECT_EQ(s.every(), SliceSampling::kMost);
}

TEST(SliceSampling, StepsAreRunAtOnceAsFarAsTheirPagesAreThere) {
  const auto ready_before = [](uint64_t end) { return [end](uint64_t n) { return n < end; }; };
  EXPECT_EQ(SliceSampling::ready(128, 16, ready_before(128)), 128u);
  EXPECT_EQ(SliceSampling::ready(128, 16, ready_before(40)), 33u) << "a page that begins between two looks";
  EXPECT_EQ(SliceSampling::ready(128, 16, ready_before(120)), 113u) << "and behind the last but one";
  EXPECT_EQ(SliceSampling::ready(10, 16, ready_before(5)), 1u);
  EXPECT_EQ(SliceSampling::ready(10, 16, ready_before(10)), 10u);
}

} // namespace
} // namespace pagecast
