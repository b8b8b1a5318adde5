// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/files/read_around.h"

#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

constexpr uint64_t kMs = 1000000, kRow = 24000;
using Verdict = FaultMix::Verdict;

/// Faults down a column of rows of `row` bytes.
void column(FaultMix &mix, unsigned faults, uint64_t row, bool foreseen) {
  for (unsigned i = 0; i < faults; ++i) mix.fault(1000 + i * row, row, foreseen);
}

TEST(FaultMix, AColumnIsReadApartWhileThatBringsTheProgramFurther) {
  FaultMix mix;
  column(mix, 500, kRow, false);
  EXPECT_EQ(mix.verdict(false, 100 * kMs, 100 << 20), Verdict::kApart) << "around: 1 GB/s";
  column(mix, 5000, kRow, true);
  EXPECT_EQ(mix.verdict(true, 100 * kMs, 20 << 20), Verdict::kApart) << "50,000 rows a second: 1.2 GB/s";
  column(mix, 4000, kRow, true);
  EXPECT_EQ(mix.verdict(true, 100 * kMs, 16 << 20), Verdict::kAround) << "40,000: 0.96 GB/s";
}

TEST(FaultMix, APassInOrderIsTheKernels) {
  FaultMix mix;
  for (unsigned i = 0; i < 1000; ++i) mix.fault(i * FaultMix::kMapped, FaultMix::kMapped, false);
  EXPECT_EQ(mix.verdict(false, 100 * kMs, 64 << 20), Verdict::kAround);
  for (unsigned i = 1000; i > 0; --i) mix.fault(i * FaultMix::kMapped - 8, FaultMix::kMapped, false);
  EXPECT_EQ(mix.verdict(false, 100 * kMs, 64 << 20), Verdict::kAround) << "backward";
}

TEST(FaultMix, PlacesInNoOrderAreLeftAlone) {
  FaultMix mix;
  column(mix, 400, kRow, false);
  for (unsigned i = 0; i < 400; ++i) mix.fault(i * 7919 * 4096, 0, false);
  EXPECT_EQ(mix.verdict(false, 100 * kMs, 64 << 20), Verdict::kAround);
}

TEST(FaultMix, WhereNothingIsReadNothingIsChanged) {
  FaultMix mix;
  column(mix, 500, kRow, false);
  EXPECT_EQ(mix.verdict(false, 100 * kMs, 0), Verdict::kAround);
}

TEST(FaultMix, StreamsThatBeginAgainAndAgainForeseeNothing) {
  FaultMix mix;
  column(mix, 500, kRow, false);
  EXPECT_EQ(mix.verdict(true, 100 * kMs, 2 << 20), Verdict::kAround);
}

TEST(FaultMix, WhatWasSlowerIsTriedAgainEverMoreSeldom) {
  FaultMix mix;
  unsigned tried[3] = {};
  for (unsigned i = 0, apart = 0; i < 400; ++i) {
    tried[i < 20 ? 0 : i < 200 ? 1 : 2] += apart;
    column(mix, 500, kRow, apart != 0);
    apart = mix.verdict(apart != 0, 100 * kMs, 100 << 20) == Verdict::kApart; // 0.12 GB/s apart, 1 around
  }
  EXPECT_GE(tried[0], 3u);
  EXPECT_LE(tried[1], 4u);
  EXPECT_LE(tried[2], 1u);
  for (bool apart = false; !apart;) {
    column(mix, 500, kRow, false);
    apart = mix.verdict(false, 100 * kMs, 100 << 20) == Verdict::kApart;
  }
  column(mix, 5000, kRow, true);
  EXPECT_EQ(mix.verdict(true, 100 * kMs, 20 << 20), Verdict::kApart) << "it is faster now";
  column(mix, 500, kRow, true);
  EXPECT_EQ(mix.verdict(true, 100 * kMs, 20 << 20), Verdict::kAround);
  column(mix, 500, kRow, false);
  EXPECT_EQ(mix.verdict(false, 100 * kMs, 100 << 20), Verdict::kAround) << "one verdict's rest";
  column(mix, 500, kRow, false);
  EXPECT_EQ(mix.verdict(false, 100 * kMs, 100 << 20), Verdict::kApart);
}

TEST(FaultMix, FewFaultsOrLittleTimeProveNothing) {
  FaultMix mix;
  column(mix, FaultMix::kEnough - 1, kRow, false);
  EXPECT_EQ(mix.verdict(false, 1000 * kMs, 64 << 20), Verdict::kGoOn);
  column(mix, 1, kRow, false);
  EXPECT_EQ(mix.verdict(false, kMs, 64 << 20), Verdict::kGoOn);
  EXPECT_EQ(mix.verdict(false, 100 * kMs, 64 << 20), Verdict::kApart) << "the count went on";
}

} // namespace
} // namespace pagecast::core::test
