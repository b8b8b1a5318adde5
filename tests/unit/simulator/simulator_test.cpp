// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/disk.h"
#include "simulator/memory.h"
#include "simulator/simulator.h"
#include "simulator/workload.h"
#include <gtest/gtest.h>

namespace pagecast::simulator {
namespace {

Machine machine(uint32_t frames) {
  Machine m;
  m.frames = frames;
  m.max_io = 64 << 10;
  return m;
}

TEST(Disk, LatencyIsParallelAndBandwidthIsNot) {
  Disk parallel(100, 0), queued(100, 2);
  EXPECT_EQ(parallel.request(0, 4096), 100u);
  EXPECT_EQ(parallel.request(0, 4096), 100u);
  EXPECT_EQ(queued.request(0, 4096), 2148u);
  EXPECT_EQ(queued.request(0, 4096), 4196u);
  EXPECT_EQ(queued.request(10000, 4096), 12148u);
  EXPECT_EQ(queued.bytes(), 3u * 4096);
}

TEST(Memory, IsExactLruWithReleasedPagesFirst) {
  Memory m(3);
  std::vector<uint64_t> gone;
  const auto evicted = [&](const Frame &f) { gone.push_back(f.page); };
  for (uint64_t page : {1, 2, 3}) m.allocate(page, 0, evicted);
  m.touch(*m.find(1));
  m.allocate(4, 0, evicted);
  m.release(*m.find(1), 0);
  m.allocate(5, 0, evicted);
  EXPECT_EQ(gone, (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(m.find(2), nullptr);
}

TEST(Memory, PagesInFlightStay) {
  Memory m(2);
  std::vector<uint64_t> gone;
  const auto evicted = [&](const Frame &f) { gone.push_back(f.page); };
  m.allocate(1, 0, evicted)->arrives = 50;
  m.allocate(2, 0, evicted)->arrives = 10;
  EXPECT_EQ(m.allocate(3, 5, evicted), nullptr);
  EXPECT_NE(m.allocate(3, 20, evicted), nullptr);
  EXPECT_EQ(gone, std::vector<uint64_t>{2});
}

TEST(Walker, VisitsEveryIterationInOrder) {
  const core::Shape s = rows(3, 5, false);
  uint64_t n = 0;
  for (Walker w(s); !w.done(); w.next(), ++n) {
    EXPECT_EQ(w.address(0), kArrays + n / 5 * 5 * 8 * 10 + n % 5 * 8);
    EXPECT_EQ(w.begins(0), n % 5 == 0);
  }
  EXPECT_EQ(n, 15u);
  core::Shape empty = rows(3, 0, true);
  EXPECT_TRUE(Walker(empty).done());
}

TEST(Simulator, WithoutHintsEveryPageStalls) {
  Machine m = machine(100);
  m.hints = Hints::kNone;
  const Report r = simulate(sweeps(2, 200, m.page), m);
  EXPECT_EQ(r.stalls, 400u);
  EXPECT_EQ(r.not_prefetched, 400u);
  EXPECT_EQ(r.stall_cycles, 400u * m.latency);
}

TEST(Simulator, HintsHideNearlyAllOfIt) {
  const Machine m = machine(600);
  const Report r = simulate(sweeps(5, 1000, m.page), m);
  EXPECT_EQ(r.not_prefetched, 0u);
  EXPECT_LE(r.late, 10u);
  EXPECT_LT(r.stall_cycles, r.cycles / 20);
}

TEST(Simulator, ReleasesKeepAPrefixForTheNextSweep) {
  Machine m = machine(600);
  const Report with = simulate(sweeps(5, 1000, m.page), m);
  m.release = false;
  const Report without = simulate(sweeps(5, 1000, m.page), m);
  EXPECT_GT(without.bytes, 5u * 990 * m.page) << "LRU loses every page just before it is wanted again";
  EXPECT_LT(with.bytes, 5u * 600 * m.page);
  EXPECT_EQ(with.wasted, 0u);
}

TEST(Simulator, ASlowDiskDoesNotRaiseTheDistanceForEver) {
  Machine m = machine(4096);
  m.bandwidth = 4; // half of what the program can use
  m.queue_bytes = 20000 * 4;
  m.release = false;
  const Report r = simulate(sweeps(1, 3000, m.page), m);
  EXPECT_LT(r.steady_mean, 200) << "a quarter of memory would be 1024";
  EXPECT_LT(r.steady_max, 500u) << "what it takes to find out that more does not help";
  const double best = 3000.0 * double(m.page) / m.bandwidth;
  EXPECT_LT(double(r.cycles), 1.05 * best) << "and yet the disk is busy all the time";
}

TEST(Simulator, MatvecKeepsTheVector) {
  Machine m = machine(1024);
  const Report r = simulate(matvec(3, 40, 1 << 16), m); // 40 rows of 64 pages, a vector of 64 pages
  EXPECT_LT(r.bytes, 3u * (40 * 64 + 64 + 1) * m.page);
  EXPECT_EQ(r.not_prefetched, 0u);
}

TEST(Simulator, ColumnWalksAreFetchedOnce) {
  Machine m = machine(4096);
  const Report r = simulate(columns(200, 4096), m);
  EXPECT_EQ(r.bytes, 200u * 8 * m.page);
  EXPECT_LT(r.stall_cycles, r.cycles / 4);
}

TEST(Simulator, TooLittleMemoryForOneStepIsNoWorseThanNoHints) {
  Machine m = machine(64);
  const core::Shape s = columns(200, 256);
  const Report hinted = simulate(s, m);
  m.hints = Hints::kNone;
  EXPECT_LE(hinted.cycles, simulate(s, m).cycles);
}

TEST(Simulator, IsDeterministic) {
  const Machine m = machine(300);
  const core::Shape s = matvec(2, 20, 1 << 15);
  const Report a = simulate(s, m), b = simulate(s, m);
  EXPECT_EQ(a.cycles, b.cycles);
  EXPECT_EQ(a.fetched, b.fetched);
}

} // namespace
} // namespace pagecast::simulator
