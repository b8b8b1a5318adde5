// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/faults/attendance.h"

#include <gtest/gtest.h>

using pagecast::core::Attendance;

namespace {

constexpr uint64_t kUs = 1000, kMs = 1000 * kUs, kS = 1000 * kMs;

/// A program whose thread faults again and again, under virtual time.
struct Program {
  Attendance attendance;
  uint64_t now = kMs, cpu = 0, thread = 7;
  uint64_t attended = 0, trials = 0, turns = 0; ///< ns; changes of place

  /// The thread runs for so long, and a fault takes so long, attended or apart.
  void fault(uint64_t runs, uint64_t near, uint64_t far, uint64_t runs_attended = 0) {
    const bool attends = attendance.attends();
    const uint64_t ran = attends && runs_attended ? runs_attended : runs, takes = ran + (attends ? near : far);
    now += takes, cpu += ran;
    attended += attends ? takes : 0;
    attendance.faulted(thread);
    trials += attendance.wants_time(now);
    attendance.decide(now, cpu);
    turns += attendance.attends() != attends;
  }
  /// The same for so long.
  void go_on(uint64_t ns, uint64_t runs, uint64_t near, uint64_t far, uint64_t runs_attended = 0) {
    for (const uint64_t end = now + ns; now < end;) fault(runs, near, far, runs_attended);
  }
};

TEST(Attendance, IsChosenWhereFaultsTakeLess) {
  Program p;
  p.go_on(4 * kS, 10 * kUs, 90 * kUs, 110 * kUs);
  EXPECT_GE(p.attended, 3600 * kMs);
  EXPECT_LE(p.turns, 40u);
}

TEST(Attendance, IsNotWhereTheyTakeMore) {
  Program p;
  p.go_on(4 * kS, 10 * kUs, 110 * kUs, 90 * kUs);
  EXPECT_LE(p.attended, 200 * kMs);
  EXPECT_GT(p.attended, 0u);
}

/// Apart, pages were fetched ahead of the thread, which ran for longer without a fault.
TEST(Attendance, IsNotWhereItLeavesMoreFaults) {
  Program p;
  p.go_on(4 * kS, 200 * kUs, 20 * kUs, 100 * kUs, 30 * kUs);
  EXPECT_LE(p.attended, 200 * kMs);
}

TEST(Attendance, TrialsBecomeSeldom) {
  Program p;
  p.go_on(4 * kS, 10 * kUs, 90 * kUs, 110 * kUs);
  p.trials = 0;
  p.go_on(16 * kS, 10 * kUs, 90 * kUs, 110 * kUs);
  EXPECT_LE(p.trials, 3 * 3 * Attendance::kPairs);
}

TEST(Attendance, AChangeIsSeen) {
  Program p;
  p.go_on(20 * kS, 10 * kUs, 90 * kUs, 110 * kUs);
  p.go_on(Attendance::kMostHold, 10 * kUs, 200 * kUs, 50 * kUs);
  p.attended = 0;
  p.go_on(kS, 10 * kUs, 200 * kUs, 50 * kUs);
  EXPECT_LE(p.attended, 100 * kMs);
}

TEST(Attendance, IsOfOneThreadOnly) {
  Program p;
  for (unsigned i = 0; i < 100'000; ++i) {
    p.thread = i % 20 ? 7 : 8;
    p.fault(10 * kUs, 90 * kUs, 110 * kUs);
  }
  EXPECT_EQ(p.attended, 0u);
}

TEST(Attendance, ThreadsThatAreNotKnownHaveNone) {
  Program p;
  p.thread = 0;
  p.go_on(kS, 10 * kUs, 90 * kUs, 110 * kUs);
  EXPECT_EQ(p.attended, 0u);
}

/// Who is disturbed all the time attends for a small part of it, and for all of it again when that ends.
TEST(Attendance, RestsWhereItIsDisturbed) {
  Program p;
  p.go_on(kS, 10 * kUs, 90 * kUs, 110 * kUs);
  p.attended = 0;
  for (const uint64_t end = p.now + 20 * kS; p.now < end;) {
    p.go_on(kMs, 10 * kUs, 90 * kUs, 110 * kUs);
    if (p.attendance.attends()) p.attendance.disturbed(p.now);
  }
  EXPECT_LE(p.attended, 200 * kMs);
  p.go_on(2 * kS, 10 * kUs, 90 * kUs, 110 * kUs);
  p.attended = 0;
  p.go_on(kS, 10 * kUs, 90 * kUs, 110 * kUs);
  EXPECT_GE(p.attended, 900 * kMs);
}

} // namespace
