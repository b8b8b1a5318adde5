// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/faults/successions.h"

#include <gtest/gtest.h>
#include <vector>

using namespace pagecast::core;

namespace {

using S = Successions;

/// A program that waits for pages, in a memory of which `absent` says what is not there.
struct Walk {
  std::vector<uint32_t> next = std::vector<uint32_t>(8 * S::kGroup);
  std::vector<uint8_t> used = std::vector<uint8_t>(8);
  std::vector<bool> resident = std::vector<bool>(8 * S::kGroup);
  S successions;
  S::Way way;
  Walk() { successions.attach(next.data(), used.data()); }
  S::Event waits(uint32_t slot) { return successions.waits(way, slot); }
  /// What is asked for, in order.
  std::vector<uint32_t> ask() {
    std::vector<uint32_t> out;
    for (successions.ask(way, S::kMostWindow); way.left;) {
      const uint32_t slot = successions.next(way, [this](uint32_t s) { return !resident[s]; });
      if (slot == S::kNone) break;
      out.push_back(slot);
      successions.asked(way, slot);
    }
    return out;
  }
};

/// A page anywhere; the pages of 0 to 4,095 differ.
uint32_t anywhere(uint32_t i) { return (i * 2749 + 77) % 4096; }

} // namespace

TEST(Successions, WhatWasWaitedForInTurnIsAskedForTheNextTime) {
  Walk walk;
  for (uint32_t slot : {7u, 2u, 9u, 4u, 1u}) EXPECT_EQ(walk.waits(slot), S::kStarted);
  EXPECT_EQ(walk.waits(7), S::kStarted) << "that 7 follows 1 is new";
  EXPECT_EQ(walk.successions.after(1), 7u);
  EXPECT_EQ(walk.waits(2), S::kForeseen);
  const std::vector<uint32_t> asked = walk.ask();
  EXPECT_EQ(asked, (std::vector<uint32_t>{9, 4, 1, 7, 2, 9, 4, 1})) << "it goes round: who asks leaves out what is under way";
}

TEST(Successions, AWindowIsTwiceAsLargeEachTimeThatTheProgramComesToItsMark) {
  Walk walk;
  for (uint32_t i = 0; i < 1000; ++i) walk.waits(anywhere(i));
  walk.way = {};
  walk.waits(anywhere(0));
  uint32_t at = 0, window = S::kFirstWindow;
  for (unsigned turn = 0; turn < 6; ++turn) {
    const std::vector<uint32_t> asked = walk.ask();
    ASSERT_EQ(asked.size(), window);
    for (uint32_t slot : asked) EXPECT_EQ(slot, anywhere(++at));
    EXPECT_EQ(walk.way.mark, asked[window / 2]) << "half is left when the program comes there";
    EXPECT_EQ(walk.waits(walk.way.mark), S::kCame);
    window = std::min(2 * window, S::kMostWindow);
  }
}

TEST(Successions, WhoStraysForLongHasLeftTheWay) {
  Walk walk;
  for (uint32_t i = 0; i < 100; ++i) walk.waits(anywhere(i));
  walk.way = {};
  walk.waits(anywhere(0));
  walk.ask();
  for (uint32_t i = 1; i < S::kStrays; ++i) EXPECT_EQ(walk.waits(5000 + i), S::kStrayed);
  EXPECT_EQ(walk.successions.after(anywhere(0)), anywhere(1)) << "a stray says nothing of what follows";
  EXPECT_EQ(walk.waits(5100), S::kLost);
  EXPECT_EQ(walk.way.mark, S::kNone);
  EXPECT_EQ(walk.way.window, S::kFirstWindow);
  EXPECT_EQ(walk.waits(5101), S::kStarted) << "and begins anew";
  EXPECT_EQ(walk.successions.after(5100), 5101u);
}

TEST(Successions, PagesInMemoryArePassedOverButNotForEver) {
  Walk walk;
  for (uint32_t i = 0; i < 200; ++i) walk.waits(anywhere(i));
  walk.way = {};
  walk.waits(anywhere(0));
  for (uint32_t i = 1; i < 40; ++i) walk.resident[anywhere(i)] = true;
  ASSERT_EQ(walk.ask().front(), anywhere(40));
  walk.way = {};
  walk.waits(anywhere(0));
  for (uint32_t i = 1; i <= S::kPassed; ++i) walk.resident[anywhere(i)] = true;
  EXPECT_TRUE(walk.ask().empty());
}

TEST(Successions, TheTableTakesMemoryWhereSomethingIsKnown) {
  Walk walk;
  EXPECT_EQ(walk.successions.bytes(), 0u);
  walk.waits(1);
  EXPECT_EQ(walk.successions.bytes(), 0u) << "nothing has followed";
  walk.waits(5000);
  walk.waits(2);
  EXPECT_EQ(walk.successions.bytes(), 2 * S::kGroup * sizeof(uint32_t));
  EXPECT_EQ(walk.successions.after(3 * S::kGroup), S::kNone);
}
