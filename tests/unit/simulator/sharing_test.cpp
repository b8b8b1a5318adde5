// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shapes of PACT 2008's figures 2, 3 and 13 to 15, and how phases are shared out.
#include "simulator/sharing/schemes.h"
#include <gtest/gtest.h>

#include <set>

namespace pagecast::simulator {
namespace {

constexpr Scheme kNone{SchemeKind::kNone}, kIndependent{SchemeKind::kIndependent}, kAdaptive{SchemeKind::kAdaptive},
    kLive{SchemeKind::kLive};

IoMachine with(uint32_t processors) {
  IoMachine m;
  m.processors = processors;
  return m;
}

double saved(const Program &program, const IoMachine &m, const Scheme &by, const Scheme &than) {
  return 1 - double(run_shared(program, m, by).micros) / double(run_shared(program, m, than).micros);
}

/// The mean over the four programs.
double mean_saved(const IoMachine &m, const Scheme &by, const Scheme &than) {
  double sum = 0;
  for (const Program &program : shared_programs()) sum += saved(program, m, by, than);
  return sum / 4;
}

Phase phase_of(uint32_t sets, uint32_t shared, uint32_t own) {
  Phase phase;
  phase.sets = sets;
  phase.shared = shared;
  phase.own = own;
  phase.first_own = sets * shared;
  phase.micros = 50'000;
  return phase;
}

Program program_of(const Phase &phase) {
  return {"one phase", {phase}, phase.sets * phase.shared + phase.own * phase.iterations};
}

TEST(Sharing, SpeedupsWithoutPrefetchingAreBelowTheProcessors) { // figure 2
  for (const Program &program : shared_programs()) {
    const double one = double(run_shared(program, with(1), kNone).micros);
    const double at16 = one / double(run_shared(program, with(16), kNone).micros);
    EXPECT_GT(at16, 6) << program.name;
    EXPECT_LT(at16, 14.5) << program.name;
  }
}

TEST(Sharing, IndependentPrefetchingTurnsWorseThanNone) { // figure 3 (a)
  EXPECT_GT(mean_saved(with(1), kIndependent, kNone), 0.2);
  EXPECT_GT(mean_saved(with(8), kIndependent, kNone), 0.05);
  EXPECT_LT(mean_saved(with(15), kIndependent, kNone), 0);
  EXPECT_LT(mean_saved(with(16), kIndependent, kNone), 0);
}

TEST(Sharing, HarmfulPrefetchesGrowWithTheProcessors) { // figure 3 (b)
  for (const Program &program : shared_programs()) {
    const double few = run_shared(program, with(4), kIndependent).harmful(),
                 many = run_shared(program, with(16), kIndependent).harmful();
    EXPECT_LT(few, 0.05) << program.name;
    EXPECT_GT(many, 0.2) << program.name;
  }
}

TEST(Sharing, AdaptiveAndLiveGainWithSixteen) { // figure 13
  EXPECT_GT(mean_saved(with(16), kAdaptive, kNone), 0.08);
  EXPECT_GT(mean_saved(with(16), kAdaptive, kIndependent), 0.1);
  EXPECT_GT(mean_saved(with(16), kLive, kNone), 0.15);
}

TEST(Sharing, LiveIsNeverBehindTheOthersAndHarmsLittle) {
  for (const Program &program : shared_programs())
    for (const uint32_t processors : {8u, 16u}) {
      const SharedReport live = run_shared(program, with(processors), kLive);
      for (const Scheme &other : {kNone, kIndependent, kAdaptive, Scheme{SchemeKind::kReserved}})
        EXPECT_LE(double(live.micros), 1.02 * double(run_shared(program, with(processors), other).micros)) << program.name;
      EXPECT_LT(live.harmful(), 0.06) << program.name;
    }
}

TEST(Sharing, GainsShrinkWithTheCacheAndWithIoNodes) { // figures 14 and 15
  double before = 1;
  for (const uint32_t cache : {150u, 200u, 300u}) {
    IoMachine m = with(16);
    m.cache = cache;
    const double now = mean_saved(m, kAdaptive, kIndependent);
    EXPECT_LT(now, before) << cache;
    before = now;
  }
  IoMachine two = with(16);
  two.nodes = 2;
  EXPECT_LT(mean_saved(two, kAdaptive, kIndependent), mean_saved(with(16), kAdaptive, kIndependent));
}

TEST(Sharing, TheSameRunAgainIsTheSame) {
  const Program program = shared_programs()[1];
  const SharedReport a = run_shared(program, with(7), kLive), b = run_shared(program, with(7), kLive);
  EXPECT_EQ(a.micros, b.micros);
  EXPECT_EQ(a.counts.harmful_inter, b.counts.harmful_inter);
}

TEST(Sharing, EveryReadIsMadeOnceUnderEveryScheme) {
  for (const Program &program :
       {program_of(phase_of(2, 90, 3)), program_of(phase_of(1, 40, 0)), program_of(phase_of(1, 0, 20))}) {
    const Phase &phase = program.phases[0];
    const uint64_t reads = uint64_t(phase.iterations) * (phase.shared + phase.own);
    for (const Scheme &scheme : {kNone, kIndependent, kAdaptive, kLive, Scheme{SchemeKind::kReserved}})
      for (const uint32_t processors : {1u, 2u, 5u, 16u}) {
        const SharedReport r = run_shared(program, with(processors), scheme);
        EXPECT_EQ(r.counts.hits + r.counts.late + r.counts.misses, reads);
        EXPECT_EQ(r.counts.misses + r.counts.prefetches, r.disk_reads);
      }
  }
}

TEST(Sharing, OneProcessorWithoutACacheWaitsForEachBlock) {
  const Program program = program_of(phase_of(1, 0, 10));
  const SharedReport r = run_shared(program, with(1), kNone);
  EXPECT_EQ(r.micros, 480 * (35'000ull + 5'000 + 50'000));
}

TEST(Teams, AHelperTakesAProcessorFromItsClusterUnlessItIsBeside) {
  const Phase phase = phase_of(2, 100, 0);
  const auto adaptive = make_teams(program_of(phase), phase, with(8), kAdaptive);
  ASSERT_EQ(adaptive.size(), 2u) << "one for each set";
  for (const Team &team : adaptive) EXPECT_EQ(team.reads.size(), 3u);
  for (const Team &team : make_teams(program_of(phase), phase, with(8), kLive)) EXPECT_EQ(team.reads.size(), 4u);
  EXPECT_EQ(make_teams(program_of(phase), phase, with(4), kAdaptive).size(), 4u) << "two members are too few";
  EXPECT_TRUE(make_teams(program_of(phase), phase, with(4), kAdaptive)[0].is_independent);
  EXPECT_EQ(make_teams(program_of(phase), phase, with(8), Scheme{SchemeKind::kReserved})[0].reads.size(), 7u);
}

TEST(Teams, AnIntervalIsTheUnionOfWhatItsMembersRead) {
  const Phase phase = phase_of(1, 100, 1);
  const Team team = make_teams(program_of(phase), phase, with(9), kAdaptive).at(0);
  ASSERT_EQ(team.reads.size(), 8u);
  EXPECT_EQ(team.step, 10u);
  for (size_t k = 0; k < team.foretold.size(); ++k) {
    const std::set<uint32_t> foretold(team.foretold[k].begin(), team.foretold[k].end());
    EXPECT_EQ(foretold.size(), team.foretold[k].size()) << "each block once";
    std::set<uint32_t> read;
    for (size_t p = 0; p < team.reads.size(); ++p)
      for (size_t i = team.begin_of(p, k); i < team.begin_of(p, k + 1); ++i) read.insert(team.reads[p][i].block);
    EXPECT_EQ(foretold, read);
  }
}

TEST(Teams, IntervalsOfLiveFitTheCache) {
  const Phase phase = phase_of(1, 600, 0);
  Scheme scheme = kLive;
  scheme.interval = 1;
  for (const Team &team : make_teams(program_of(phase), phase, with(8), scheme))
    for (const auto &blocks : team.foretold) EXPECT_LE(blocks.size(), 75u);
}

} // namespace
} // namespace pagecast::simulator
