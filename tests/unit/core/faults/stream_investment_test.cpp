// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/faults/stream_investment.h"

#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

constexpr uint32_t kWindow = 64;
constexpr uint32_t kFirst = StreamInvestment::kFirstCredit * kWindow;

/// Pages are settled, of which one in `every` was wasted, until nothing is fetched any more. Returns how many.
uint32_t settle(StreamInvestment &streams, uint32_t pages, uint32_t every) {
  for (uint32_t i = 1; i <= pages; ++i)
    if (i % every) streams.used();
    else if (streams.wasted()) return i;
  return pages;
}

/// Streams would have asked for pages, and so many of eight were faulted on, until they are fetched or `pages` are through.
uint32_t watch(StreamInvestment &streams, uint32_t pages, uint32_t missed_of_8) {
  uint32_t i = 0;
  for (; i < pages && !streams.pays(); ++i) {
    streams.forgone();
    if (i % 8 < missed_of_8) streams.missed();
  }
  return i;
}

void rest(StreamInvestment &streams, uint32_t faults) {
  for (uint32_t i = 0; i < faults; ++i) streams.fault();
}

TEST(StreamInvestment, PagesThatAreUsedPay) {
  StreamInvestment streams{kWindow};
  EXPECT_EQ(settle(streams, 100000, 4), 100000u) << "one in four is wasted";
  EXPECT_TRUE(streams.pays());
}

TEST(StreamInvestment, WastedPagesEndIt) {
  StreamInvestment streams{kWindow};
  EXPECT_EQ(settle(streams, 1000, 2), 2 * kFirst) << "each two cost one of the credit, but for the last";
  EXPECT_FALSE(streams.pays());
  EXPECT_FALSE(streams.wasted()) << "it says so once";
}

TEST(StreamInvestment, TheEndsOfStreamsDoNot) {
  StreamInvestment streams{kWindow};
  for (int stream = 0; stream < 100; ++stream) {
    settle(streams, 8 * kWindow, ~0u);
    settle(streams, 2 * kWindow, 1);
  }
  EXPECT_TRUE(streams.pays()) << "a stream of ten windows, of which two were for nothing";
}

TEST(StreamInvestment, ItPaysAgainWherePagesAreMissed) {
  StreamInvestment streams{kWindow};
  settle(streams, 1000, 2);
  EXPECT_EQ(watch(streams, 1000, 8), 1000u) << "it rests first";
  rest(streams, StreamInvestment::kFirstRest);
  EXPECT_EQ(watch(streams, 1000, 7), 65u);
  EXPECT_TRUE(streams.pays());
}

TEST(StreamInvestment, PagesThatComeOtherwiseAreNotMissed) {
  StreamInvestment streams{kWindow};
  settle(streams, 1000, 2);
  for (int turn = 0; turn < 5; ++turn) {
    rest(streams, StreamInvestment::kFirstRest << turn);
    EXPECT_EQ(watch(streams, 1000, 4), 1000u) << "turn " << turn;
  }
}

TEST(StreamInvestment, ARestIsTwiceAsLongEachTime) {
  StreamInvestment streams{kWindow};
  for (int turn = 0; turn < 5; ++turn) {
    settle(streams, 1000, 2);
    rest(streams, (StreamInvestment::kFirstRest << turn) - 1);
    EXPECT_EQ(watch(streams, 100, 8), 100u) << "turn " << turn;
    rest(streams, 1);
    EXPECT_EQ(watch(streams, 100, 8), 65u) << "turn " << turn;
  }
}

TEST(StreamInvestment, ALongTimeThatPaidMakesRestsShort) {
  StreamInvestment streams{kWindow};
  for (int turn = 0; turn < 3; ++turn) {
    settle(streams, 1000, 2);
    rest(streams, StreamInvestment::kFirstRest << turn);
    watch(streams, 100, 8);
  }
  settle(streams, 10000, ~0u);
  settle(streams, 10000, 1);
  rest(streams, StreamInvestment::kFirstRest);
  EXPECT_EQ(watch(streams, 100, 8), 65u);
}

} // namespace
} // namespace pagecast::core::test
