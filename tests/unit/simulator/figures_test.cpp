// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shape of the thesis's figures 5.6, 5.8 and 5.13, as counts. The thesis gives no parameters but the 428
// pages, the ten outer iterations and the three ratios; the bands below are around what its text says.
#include "simulator/figures.h"
#include <gtest/gtest.h>

namespace pagecast::simulator {
namespace {

constexpr core::Schedule kSingle = core::Schedule::kSingle, kNested = core::Schedule::kNested,
                         kContinuous = core::Schedule::kContinuous;
constexpr bool kSequential = true, kApart = false;

Report core_run(double ratio, bool sequential, core::Schedule s) { return run_rows(ratio, sequential, Hints::kCore, s); }
Report original(double ratio, bool sequential) { return run_rows(ratio, sequential, Hints::kOriginal, kSingle); }

double saved(const Report &by, const Report &than) { return 1 - double(by.cycles) / double(than.cycles); }

TEST(Figures, TheLoopTouches428Pages) {
  const Report r = core_run(kRatioLarger, kSequential, kContinuous);
  EXPECT_EQ(r.prefetched_hits + r.late + r.not_prefetched, 428u);
  EXPECT_EQ(r.not_prefetched, 0u);
  EXPECT_EQ(r.cycles, kFigureRows * kFigureColumns + r.stall_cycles);
}

TEST(Figures, F56aOriginalStallsOncePerOuterIteration) {
  const Report r = original(kRatioLarger, kSequential);
  EXPECT_EQ(r.stalls, 10u);
  for (uint64_t n : r.outer_stalls) EXPECT_EQ(n, 1u);
  EXPECT_EQ(core_run(kRatioLarger, kSequential, kSingle).stalls, 10u);
}

TEST(Figures, F56bNestedWithoutAnOuterOffsetIsSingle) {
  const Report nested = core_run(kRatioLarger, kSequential, kNested);
  const Report single = core_run(kRatioLarger, kSequential, kSingle);
  EXPECT_EQ(nested.outer_stalls, single.outer_stalls);
  EXPECT_EQ(nested.outer_stall_cycles, single.outer_stall_cycles);
  EXPECT_EQ(nested.cycles, original(kRatioLarger, kSequential).cycles);
}

TEST(Figures, F56dNestedSavesNearlyAThird) {
  const Report nested = core_run(kRatioTwoThirds, kSequential, kNested);
  const Report before = original(kRatioTwoThirds, kSequential);
  EXPECT_EQ(before.stalls, 10u);
  EXPECT_GT(saved(nested, before), 0.28);
  EXPECT_LT(saved(nested, before), 0.38);
  EXPECT_GT(nested.steady_min, 0u) << "the pipeline is only partially drained";
  EXPECT_EQ(core_run(kRatioTwoThirds, kSequential, kSingle).steady_min, 0u);
}

TEST(Figures, F56fNestedSavesAboutAFifth) {
  const Report nested = core_run(kRatioTwoNeeded, kSequential, kNested);
  const Report before = original(kRatioTwoNeeded, kSequential);
  EXPECT_GE(before.stalls, 3u);
  EXPECT_LE(before.stalls, 6u) << "blocks that reach into the next rows: the thesis sees five stalls, not ten";
  EXPECT_GT(saved(nested, before), 0.15);
  EXPECT_LT(saved(nested, before), 0.25);
  EXPECT_LT(nested.stall_cycles, core_run(kRatioTwoNeeded, kSequential, kSingle).stall_cycles / 5);
}

TEST(Figures, F58NestedDoesNotMindTheLayout) {
  for (double ratio : {kRatioTwoThirds, kRatioTwoNeeded}) {
    const Report apart = core_run(ratio, kApart, kNested);
    const Report sequential = core_run(ratio, kSequential, kNested);
    EXPECT_LT(apart.wasted, 20u);
    EXPECT_NEAR(double(apart.cycles), double(sequential.cycles), 0.02 * double(sequential.cycles));
  }
}

TEST(Figures, F58cdOriginalWastesUpToTwiceWhatItNeeds) {
  const Report c = original(kRatioTwoThirds, kApart), d = original(kRatioTwoNeeded, kApart);
  EXPECT_GT(c.wasted, 150u);
  EXPECT_GT(d.wasted, 800u); // "approximately 900"
  EXPECT_LT(d.wasted, 1000u);
  EXPECT_EQ(c.stalls, 10u);
  EXPECT_EQ(d.stalls, 10u);
}

TEST(Figures, F58efSingleWastesNothingAndStallsOncePerOuterIteration) {
  for (double ratio : {kRatioTwoThirds, kRatioTwoNeeded}) {
    const Report r = core_run(ratio, kApart, kSingle);
    EXPECT_EQ(r.wasted, 0u);
    EXPECT_EQ(r.outer_stalls, std::vector<uint64_t>(10, 1));
  }
  EXPECT_EQ(core_run(kRatioTwoThirds, kApart, kSingle).steady_max, core_run(kRatioTwoNeeded, kApart, kSingle).steady_max)
      << "the curves are identical: both fetch one row";
}

TEST(Figures, F513ContinuousStallsOnceWhateverTheLatencyAndTheLayout) {
  for (double ratio : {kRatioLarger, kRatioTwoThirds, kRatioTwoNeeded})
    for (bool sequential : {kSequential, kApart}) {
      SCOPED_TRACE(ratio);
      const Report r = core_run(ratio, sequential, kContinuous);
      EXPECT_EQ(r.stalls, 1u);
      EXPECT_EQ(r.outer_stalls[0], 1u);
      EXPECT_LE(r.stall_cycles, uint64_t(double(kFigureColumns) / ratio) + 1) << "one latency";
      EXPECT_LT(r.wasted, 20u);
      EXPECT_GT(double(r.steady_min), 0.95 * r.steady_mean - 1) << "nearly constant";
      EXPECT_LT(double(r.steady_max), 1.05 * r.steady_mean + 1);
      EXPECT_LE(r.cycles, core_run(ratio, sequential, kNested).cycles);
    }
}

TEST(Figures, TheTableRunsEveryCase) {
  for (const FigureCase &c : figure_cases()) EXPECT_GE(run_figure(c).prefetched_hits + run_figure(c).late, 428u);
}

} // namespace
} // namespace pagecast::simulator
