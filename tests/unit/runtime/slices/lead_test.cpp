// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slices/lead.h"

#include <gtest/gtest.h>

namespace pagecast {
namespace {

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

// However many marks there were, one that counts is never younger than what it stands for.
TEST(SliceLead, IsNeverTooSureOfItself) {
  SliceLead l;
  l.start(64);
  for (uint64_t step = 1; step <= 4000; ++step) l.runs(step, step);
  for (uint64_t step = 1; step <= 4000; step += 37) EXPECT_TRUE(l.is_stale(step, step + 64 + 1)) << step;
}

} // namespace
} // namespace pagecast
