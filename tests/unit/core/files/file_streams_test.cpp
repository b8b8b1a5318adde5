// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/files/file_streams.h"

#include <gtest/gtest.h>
#include <vector>

namespace pagecast::core::test {
namespace {

constexpr uint64_t kBlock = 2u << 20, kStep = 256u << 10, kFar = 1ull << 40;

/// Requests of `steps` for a stream from `at` on, as a filter leaves them: what was asked for already is not requested again.
struct Program {
  Addr at = 0, asked = 0;
  Addr read = 0; ///< blocks up to here
  uint64_t blocks = 0;
  void step(FileStreams &streams, Addr limit = kFar) {
    const Extent step{std::max(at, asked), at + kStep};
    at += kStep;
    if (step.begin >= step.end) return;
    const FileStreams::Widened w = streams.widen(step, limit);
    EXPECT_GE(w.whole, step.begin);
    EXPECT_GE(w.end, step.end);
    EXPECT_GE(w.end, w.whole);
    if (w.end > w.whole) {
      EXPECT_EQ(w.whole % kBlock, 0u);
      EXPECT_TRUE(w.end % kBlock == 0 || w.end == limit);
    }
    if (!w.blocks.empty()) {
      EXPECT_EQ(w.blocks.begin % kBlock, 0u);
      EXPECT_TRUE(w.blocks.end % kBlock == 0 || w.blocks.end == limit);
      EXPECT_TRUE(blocks == 0 || w.blocks.begin == read) << "each once, in order";
      read = w.blocks.end;
    }
    EXPECT_TRUE(w.end == w.whole || read >= w.end);
    blocks += (w.blocks.size() + kBlock - 1) / kBlock;
    asked = w.end;
  }
};

/// Streams in 256 MiB that each made 64 steps, of which they took turns.
std::vector<Program> in_turns(unsigned n) {
  FileStreams streams;
  streams.start(kBlock, 256u << 20);
  std::vector<Program> p(n);
  for (unsigned i = 0; i < n; ++i) p[i].at = (i + 1) * (1ull << 32);
  for (unsigned step = 0; step < 64; ++step)
    for (Program &each : p) each.step(streams);
  return p;
}

TEST(FileStreams, BlocksThatAStreamEntersAreAskedForAsAWhole) {
  FileStreams streams;
  streams.start(kBlock, 256u << 20);
  Program p{kBlock + kStep / 2};
  for (unsigned i = 0; i < 7; ++i) p.step(streams);
  EXPECT_EQ(p.blocks, 0u) << "it began within one";
  EXPECT_EQ(p.asked, 2 * kBlock - kStep / 2);
  p.step(streams);
  EXPECT_EQ(p.blocks, 2u);
  EXPECT_EQ(p.asked, 3 * kBlock);
  EXPECT_EQ(p.read, 4 * kBlock) << "and one more";
  for (unsigned i = 0; i < 80; ++i) p.step(streams);
  EXPECT_EQ(p.blocks, 12u);
}

TEST(FileStreams, NothingIsAskedForBehindTheEnd) {
  FileStreams streams;
  streams.start(kBlock, 256u << 20);
  const Addr end = 5 * kBlock + 3 * kStep + 4096;
  Program p{kBlock};
  while (p.at + kStep <= end) p.step(streams, end);
  EXPECT_EQ(p.asked, end);
  EXPECT_EQ(p.read, end);
}

TEST(FileStreams, StreamsBesideEachOtherAreToldApart) {
  for (const Program &each : in_turns(9))
    EXPECT_EQ(each.blocks, 8u) << "all but the first, in which it is not known yet, and one more";
}

TEST(FileStreams, MoreThanThereIsMemoryForAreLeftAsTheyAre) {
  for (const Program &each : in_turns(20)) EXPECT_EQ(each.blocks, 0u);
  FileStreams none;
  none.start(kBlock, 20u << 20);
  Program alone{kBlock};
  for (unsigned i = 0; i < 64; ++i) alone.step(none);
  EXPECT_EQ(alone.blocks, 0u) << "no room for three blocks";
}

TEST(FileStreams, SomebodyElseMaySeeToThem) {
  FileStreams streams;
  streams.start(kBlock, 256u << 20);
  EXPECT_EQ(streams.alive(), 0u);
  for (Addr at = kBlock; at < 9 * kBlock; at += kStep)
    for (const Addr stream : std::initializer_list<Addr>{at, at + (1ull << 32), at + (2ull << 32)}) {
      EXPECT_EQ(streams.goes_on({stream, stream + kStep}), at != kBlock);
      streams.pass({stream, stream + kStep});
      EXPECT_FALSE(streams.goes_on({stream, stream + kStep})) << "that is over";
    }
  EXPECT_EQ(streams.alive(), 3u);
  for (uint64_t i = 0; i < FileStreams::kRecent; ++i) streams.pass({9 * kBlock + i * kStep, 9 * kBlock + (i + 1) * kStep});
  EXPECT_EQ(streams.alive(), 1u) << "the others are forgotten";
}

TEST(FileStreams, PagesHereAndThereAreNone) {
  FileStreams streams;
  streams.start(kBlock, 256u << 20);
  for (uint64_t i = 0; i < 1000; ++i) {
    const Addr at = (i * 7919 % 1000 + 1) * 3 * kBlock;
    const FileStreams::Widened w = streams.widen({at, at + 4096}, kFar);
    EXPECT_EQ(w.whole, at + 4096);
    EXPECT_EQ(w.end, at + 4096);
  }
}

TEST(FileStreams, WhatWasAskedForOnceIsNotWidenedAgain) {
  FileStreams streams;
  streams.start(kBlock, 256u << 20);
  Program p{kBlock};
  for (unsigned i = 0; i < 9; ++i) p.step(streams);
  EXPECT_EQ(p.asked, 3 * kBlock);
  const FileStreams::Widened w = streams.widen({2 * kBlock + 4096, 2 * kBlock + 8192}, kFar); // it has gone meanwhile
  EXPECT_EQ(w.whole, 2 * kBlock + 8192);
  EXPECT_EQ(w.end, 2 * kBlock + 8192);
  for (unsigned i = 0; i < 8; ++i) p.step(streams);
  EXPECT_EQ(p.asked, 4 * kBlock) << "and the stream goes on";
}

} // namespace
} // namespace pagecast::core::test
