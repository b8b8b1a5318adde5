// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/release_trial.h"
#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

constexpr uint32_t kMemory = 8192; ///< pages
using Trial = ReleaseTrial<4>;

/// A nest that passes over pages of a group, in a memory that is full; behind it, another reference.
class Walk {
public:
  Walk(Trial &trial, unsigned group) : trial_(trial), group_(group) {}
  /// One page is passed, and goes if it is released. True: it was.
  bool pass(uint32_t slot) {
    const bool pays = trial_.pays(group_);
    trial_.passed(group_, slot, gone_);
    ++gone_;
    return pays;
  }
  bool wait_for(uint32_t slot) { return trial_.faulted(slot, gone_, kMemory); }

private:
  Trial &trial_;
  unsigned group_;
  uint64_t gone_ = 0;
};

} // namespace

TEST(ReleaseTrial, WhatNobodyComesBackToIsReleasedForEver) {
  Trial trial;
  Walk walk(trial, 1);
  for (uint32_t page = 0; page < 1000000; ++page) ASSERT_TRUE(walk.pass(page));
}

TEST(ReleaseTrial, WhatIsInUseIsKept) {
  Trial trial;
  Walk walk(trial, 1);
  uint32_t released = 0;
  constexpr uint32_t kPages = 1000000;
  for (uint32_t page = 0; page < kPages; ++page) {
    const bool gone = walk.pass(page);
    released += gone;
    if (gone && page >= 100 && page % 2) walk.wait_for(page - 100);
  }
  EXPECT_LT(released, kPages / 50);
  EXPECT_GT(released, 0u);
  EXPECT_TRUE(trial.pays(2)) << "another group's do";
}

TEST(ReleaseTrial, ALaterSweepIsNoRegret) {
  Trial trial;
  Walk walk(trial, 1);
  for (uint32_t sweep = 0; sweep < 8; ++sweep)
    for (uint32_t page = 0; page < 10 * kMemory; ++page) {
      ASSERT_TRUE(walk.pass(page));
      ASSERT_FALSE(walk.wait_for((page + kMemory) % (10 * kMemory)));
    }
}

TEST(ReleaseTrial, OneInThirtyMayBeRegretted) {
  Trial trial;
  Walk walk(trial, 1);
  uint32_t regretted = 0;
  for (uint32_t page = 0; page < 200000; ++page) {
    ASSERT_TRUE(walk.pass(page));
    if (page >= 100 && page % 30 == 0) regretted += walk.wait_for(page - 100);
  }
  EXPECT_GT(regretted, 200000u / 30 / Trial::kSample / 2);
}

TEST(ReleaseTrial, OneInEightMayNot) {
  Trial trial;
  Walk walk(trial, 1);
  uint32_t released = 0;
  for (uint32_t page = 0; page < 200000; ++page) {
    released += walk.pass(page);
    if (page >= 100 && page % 8 == 0) walk.wait_for(page - 100);
  }
  EXPECT_LT(released, 200000u / 5);
}

/// One in 40 is regretted: few, until nine in ten are seen to have gained nothing.
TEST(ReleaseTrial, PagesThatAreAskedForAgainInTimeDoNotSpeakForIt) {
  for (const bool rescues : {false, true}) {
    Trial trial;
    Walk walk(trial, 1);
    uint32_t released = 0;
    for (uint32_t page = 0; page < 200000; ++page) {
      released += walk.pass(page);
      if (page < 100) continue;
      if (page % 40 == 0) walk.wait_for(page - 100);
      else if (rescues && page % 10) trial.rescued(page - 100);
    }
    if (rescues) EXPECT_LT(released, 200000u / 5);
    else EXPECT_EQ(released, 200000u);
  }
}

TEST(ReleaseTrial, ReleasesThatPayAgainAreTriedSoon) {
  Trial trial;
  Walk walk(trial, 1);
  uint32_t page = 0;
  while (trial.pays(1) && page < 100000) {
    walk.pass(page);
    if (page >= 100) walk.wait_for(page - 100);
    ++page;
  }
  ASSERT_FALSE(trial.pays(1));
  uint32_t kept = 0;
  while (!trial.pays(1)) walk.pass(page++), ++kept;
  EXPECT_LT(kept, 2 * Trial::kFirstPause * Trial::kSample);
  for (uint32_t more = 0; more < 100000; ++more) ASSERT_TRUE(walk.pass(page++));
}

} // namespace pagecast::core::test
