// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs that were recorded, made again: where members meet, what the disk joins, and what is asked for under each scheme.
#include "simulator/sharing/arm.h"
#include "simulator/sharing/replay.h"
#include <gtest/gtest.h>

namespace pagecast::simulator {
namespace {

constexpr uint64_t kPage = 4096, kBlock = 32 << 10, kPagesOfBlock = kBlock / kPage;

/// So many pages from `first` on, one after the other.
RecordedReference pages(uint64_t first, uint64_t count, core::Stored stored = core::Stored::kNo) {
  RecordedReference out{stored, {}};
  out.reference.first = int64_t(first * kPage);
  out.reference.span = kPage;
  out.reference.loops = 1;
  out.reference.trips[0] = count;
  out.reference.stride[0] = int64_t(kPage);
  return out;
}

RecordedEntry entry(uint32_t member, uint32_t phase, uint64_t begin, uint64_t end, RecordedReference touched) {
  return {member, phase, begin, end, {touched}};
}

/// Each of the members sweeps over the same blocks, or over as many of its own.
RecordedRun sweeps(uint32_t members, uint64_t blocks, bool is_shared) {
  RecordedRun run{members, (is_shared ? 1 : members) * blocks * kBlock, {}};
  for (uint32_t m = 0; m < members; ++m)
    run.entries.push_back(entry(m, 0, 0, 1000, pages(is_shared ? 0 : m * blocks * kPagesOfBlock, blocks * kPagesOfBlock)));
  return run;
}

RunMachine machine(uint64_t frames) {
  RunMachine m;
  m.block = kBlock;
  m.cache = frames * kBlock;
  m.rate = 480 << 20;
  return m;
}

uint64_t references(const RunReport &r) { return r.counts.hits + r.counts.late + r.counts.misses; }

TEST(Legs, ThoseWhoMeetHaveAllBeenThere) {
  RecordedRun run{2, 1 << 20, {}};
  run.entries = {entry(0, 0, 0, 10, pages(0, 1)), entry(1, 0, 2, 12, pages(0, 1)), entry(0, 1, 20, 30, pages(0, 1)),
                 entry(1, 1, 40, 50, pages(0, 1))};
  const std::vector<Leg> legs = legs_of(run, 2);
  ASSERT_EQ(legs.size(), 2u); // nobody had one open at 35, but the second had not been in this leg
  EXPECT_EQ(legs[0].pause, 8u);
  EXPECT_EQ(legs[1].of[1].size(), 1u);
}

TEST(Legs, WhoIsBehindInWhatOthersHaveDoneHasNotMetThem) {
  RecordedRun run{2, 1 << 20, {}};
  run.entries = {entry(0, 0, 0, 10, pages(0, 1)),  entry(1, 0, 5, 15, pages(0, 1)),  entry(0, 0, 12, 25, pages(0, 1)),
                 entry(1, 0, 30, 40, pages(0, 1)), entry(0, 1, 50, 60, pages(0, 1)), entry(1, 1, 50, 60, pages(0, 1))};
  const std::vector<Leg> legs = legs_of(run, 2);
  ASSERT_EQ(legs.size(), 2u); // nobody has one open at 28, but the second is one behind
  EXPECT_EQ(legs[0].of[1].size(), 2u);
  EXPECT_EQ(legs[0].pause, 10u);
}

TEST(Legs, ANestHasItsPartOfTheProcessors) {
  RecordedRun run{4, 1 << 20, {}};
  for (uint32_t m = 0; m < 4; ++m) run.entries.push_back(entry(m, 0, 0, 1000, pages(0, 1)));
  EXPECT_EQ(legs_of(run, 2)[0].of[0][0].micros, 500u);
  EXPECT_EQ(legs_of(run, 8)[0].of[0][0].micros, 1000u);
}

TEST(Steps, TogetherTheyTouchWhatTheEntryDoes) {
  const std::vector<Step> steps = steps_of(entry(0, 0, 0, 1, pages(3, 100, core::Stored::kAll)), kPage, 1 << 20);
  uint64_t next = 3;
  for (const Step &step : steps)
    for (const PageTouch &t : step) {
      EXPECT_EQ(t.page, next++);
      EXPECT_EQ(t.stored, core::Stored::kAll);
    }
  EXPECT_EQ(next, 103u);
  EXPECT_EQ(steps.size(), 12u);
}

TEST(Arm, WhatWaitsAndFollowsEachOtherIsOneRequest) {
  Arm arm(1000, 1 << 20);
  bool is_write;
  EXPECT_TRUE(arm.take(&is_write).empty());
  arm.read({0, kBlock, 0}, false);
  arm.read({5 * kBlock, kBlock, 5}, false);
  arm.read({2 * kBlock, kBlock, 2}, true);
  arm.read({kBlock, kBlock, 1}, false);
  const std::vector<Arm::Request> run = arm.take(&is_write); // the one that is waited for, with its neighbours
  ASSERT_EQ(run.size(), 3u);
  EXPECT_FALSE(is_write);
  EXPECT_EQ(run[0].token, 0u);
  EXPECT_EQ(arm.micros(run), 1000 + 3 * kBlock * 1'000'000 / (1 << 20));
  arm.write({0, kBlock, 9});
  EXPECT_EQ(arm.take(&is_write)[0].token, 9u); // they take turns
  EXPECT_TRUE(is_write);
  EXPECT_EQ(arm.take(&is_write)[0].token, 5u);
  EXPECT_EQ(arm.reads(), 2u);
  EXPECT_EQ(arm.writes(), 1u);
}

TEST(Replay, WithoutASchemeEachPageIsARequestAndEachBlockIsReadOnce) {
  const RunReport r = replay(sweeps(1, 40, false), machine(8), {SchemeKind::kNone});
  EXPECT_EQ(r.requests, 40 * kPagesOfBlock);
  EXPECT_EQ(references(r), r.requests);
  EXPECT_EQ(r.disk_reads, 40u);
  EXPECT_EQ(r.disk_bytes, 40 * kBlock);
  const uint64_t disk = 40 * (1000 + kBlock * 1'000'000 / (480 << 20)), processor = r.requests * 100;
  EXPECT_GE(r.micros, disk + processor); // it waits for one after the other
  EXPECT_LE(r.micros, disk + processor + 40 * 50 + 2000);
}

TEST(Replay, IndependentJoinsRequestsAndIsFaster) {
  const RunReport none = replay(sweeps(4, 40, false), machine(64), {SchemeKind::kNone}),
                  alone = replay(sweeps(4, 40, false), machine(64), {SchemeKind::kIndependent});
  EXPECT_EQ(none.disk_bytes, alone.disk_bytes);
  EXPECT_LT(alone.disk_reads, none.disk_reads / 2);
  EXPECT_LT(alone.micros, none.micros / 2);
}

TEST(Replay, AHelperReadsForThoseWhoShare) {
  const RunReport live = replay(sweeps(8, 100, true), machine(32), {SchemeKind::kLive});
  EXPECT_EQ(live.teams, 1u);
  EXPECT_GT(live.meetings, 8u * 9);
  EXPECT_EQ(live.disk_bytes, 100 * kBlock) << "each block once, for all of them";
  EXPECT_LT(live.disk_reads, 60u);
  EXPECT_EQ(live.counts.unused, 0u);
}

TEST(Replay, WhoSharesWithNobodyHasNoHelper) {
  const RunReport live = replay(sweeps(8, 20, false), machine(32), {SchemeKind::kLive});
  EXPECT_EQ(live.teams, 0u);
  EXPECT_EQ(live.disk_bytes, 8 * 20 * kBlock);
}

TEST(Replay, WhoSharesWithNobodyHasRequestsAsLargeAsUnderIndependent) {
  constexpr uint32_t kMembers = 8, kArrays = 3, kBlocks = 20;
  RecordedRun run{kMembers, kMembers * kArrays * kBlocks * kBlock, {}};
  for (uint32_t m = 0; m < kMembers; ++m) {
    run.entries.push_back(entry(m, 0, 0, 1000, pages(m * kBlocks * kPagesOfBlock, kBlocks * kPagesOfBlock)));
    for (uint32_t a = 1; a < kArrays; ++a)
      run.entries.back().references.push_back(pages((a * kMembers + m) * kBlocks * kPagesOfBlock, kBlocks * kPagesOfBlock));
  }
  const RunReport live = replay(run, machine(24), {SchemeKind::kLive}),
                  independent = replay(run, machine(24), {SchemeKind::kIndependent});
  EXPECT_EQ(live.teams, 0u);
  EXPECT_LE(live.disk_reads, independent.disk_reads * 21 / 20);
  EXPECT_LE(live.micros, independent.micros * 21 / 20);
}

TEST(Replay, WhatWasStoredIsWrittenAndReadAnew) {
  RecordedRun run{2, 8 * kBlock, {}};
  run.entries = {entry(0, 0, 0, 10, pages(0, 32, core::Stored::kSome)), entry(1, 0, 0, 10, pages(32, 32, core::Stored::kSome)),
                 entry(0, 1, 20, 30, pages(0, 64)), entry(1, 1, 20, 30, pages(0, 64))};
  const RunReport r = replay(run, machine(8), {SchemeKind::kNone});
  EXPECT_EQ(r.requests, 64 + 2 * 64u);
  EXPECT_GE(r.disk_writes, 2u);
  run.entries.resize(2);
  EXPECT_EQ(replay(run, machine(8), {SchemeKind::kNone}).requests, 64u);
}

TEST(Replay, MemoryOfItsOwnKeepsWhatWasUsedLast) {
  RecordedRun run{1, 8 * kBlock, {}};
  run.entries = {entry(0, 0, 0, 10, pages(0, 64)), entry(0, 1, 20, 30, pages(0, 64))};
  RunMachine m = machine(4);
  EXPECT_EQ(replay(run, m, {SchemeKind::kNone}).requests, 64u);
  m.memory = 32 * kPage;
  EXPECT_EQ(replay(run, m, {SchemeKind::kNone}).requests, 128u);
}

TEST(Replay, TheSameRunAgainIsTheSame) {
  const RunReport a = replay(sweeps(7, 50, true), machine(16), {SchemeKind::kAdaptive}),
                  b = replay(sweeps(7, 50, true), machine(16), {SchemeKind::kAdaptive});
  EXPECT_EQ(a.micros, b.micros);
  EXPECT_EQ(a.counts.hits, b.counts.hits);
}

TEST(Replay, EveryPageComesUnderEveryScheme) {
  for (const bool is_shared : {false, true})
    for (const uint32_t members : {1u, 3u, 8u})
      for (const SchemeKind kind :
           {SchemeKind::kNone, SchemeKind::kIndependent, SchemeKind::kReserved, SchemeKind::kAdaptive, SchemeKind::kLive}) {
        RunMachine m = machine(4);
        const RunReport r = replay(sweeps(members, 24, is_shared), m, {kind});
        EXPECT_GE(r.disk_bytes, (is_shared ? 1 : members) * 24 * kBlock);
        EXPECT_EQ(r.counts.misses + r.counts.prefetches, r.disk_bytes / kBlock);
        EXPECT_EQ(references(r), r.requests);
      }
}

} // namespace
} // namespace pagecast::simulator
