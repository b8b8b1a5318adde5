// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/faults/surroundings.h"

#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

constexpr uint32_t kMemory = 8000; ///< pages

/// Takes the samples 100, 101, ... with a page going for each fault.
uint64_t take_all(Surroundings &around, uint64_t gone = 0) {
  for (uint32_t n = 0; n < Surroundings::kSamples; ++gone)
    if (around.wants_sample()) around.sample(100 + n++, gone);
  return gone;
}

void want(Surroundings &around, uint32_t samples) {
  for (uint32_t n = 0; n < samples; ++n) around.fault(100 + n);
}

/// Nothing was wanted, so that pages are read alone; then the samples are taken again.
uint64_t leave_off(Surroundings &around) {
  const uint64_t gone = take_all(around) + kMemory;
  around.judge(gone, kMemory, 0);
  EXPECT_FALSE(around.pays());
  return take_all(around, gone);
}

TEST(Surroundings, AreReadWhereSamplesOfThemAreWanted) {
  Surroundings around;
  EXPECT_TRUE(around.pays()) << "until something is known";
  const uint64_t gone = leave_off(around);
  want(around, Surroundings::kSamples * 3 / 4);
  around.judge(gone, kMemory, 0);
  EXPECT_TRUE(around.pays()) << "at once: most have been wanted";
}

TEST(Surroundings, AreNotWhereFewSamplesAre) {
  Surroundings around;
  const uint64_t gone = take_all(around);
  want(around, Surroundings::kSamples / 2 - 1);
  around.judge(gone + kMemory, kMemory, 0);
  EXPECT_FALSE(around.pays());
}

TEST(Surroundings, HalfOfTheSamplesAreWaitedFor) {
  Surroundings around;
  const uint64_t gone = leave_off(around);
  want(around, Surroundings::kSamples / 2);
  around.judge(gone, kMemory, 0);
  EXPECT_FALSE(around.pays()) << "others may be wanted yet";
  around.judge(gone + kMemory / Surroundings::kMemoryShare, kMemory, 0);
  EXPECT_TRUE(around.pays());
}

TEST(Surroundings, AreWorthNothingWherePagesThatGoAreWantedAsMuch) {
  Surroundings around;
  const uint64_t gone = take_all(around), after = gone + kMemory / Surroundings::kMemoryShare;
  want(around, Surroundings::kSamples / 2);
  around.judge(after, kMemory, 0.5 / kMemory * Surroundings::kMemoryShare);
  EXPECT_FALSE(around.pays());
}

TEST(Surroundings, AChangeIsSeen) {
  Surroundings around;
  uint64_t gone = leave_off(around);
  want(around, Surroundings::kSamples);
  around.judge(gone, kMemory, 0);
  ASSERT_TRUE(around.pays());
  gone = take_all(around, gone);
  around.judge(gone + kMemory, kMemory, 0);
  EXPECT_FALSE(around.pays());
}

TEST(Surroundings, SamplesThatComeTooSeldomAreForgotten) {
  Surroundings around;
  for (uint32_t slot = 0; slot < Surroundings::kSamples / 2; ++slot) around.sample(slot, 0);
  around.judge(2 * kMemory, kMemory, 0);
  for (uint32_t slot = 0; slot < Surroundings::kSamples / 2; ++slot) around.fault(slot);
  const uint64_t gone = take_all(around, 2 * kMemory);
  around.judge(gone + kMemory, kMemory, 0);
  EXPECT_FALSE(around.pays()) << "otherwise half of the samples were wanted";
}

TEST(Surroundings, BlocksFitMemory) {
  EXPECT_EQ(Surroundings::block(1 << 20), Surroundings::kMostPages);
  EXPECT_EQ(Surroundings::block(16384), 8u);
  EXPECT_EQ(Surroundings::block(6144), 2u) << "a power of two";
  EXPECT_EQ(Surroundings::block(100), 1u);
}

} // namespace
} // namespace pagecast::core::test
