// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams against a memory that is imagined: what was asked for is there, the mark is not, and the program faults on
// what is not there. Pages are of one byte, but where it says otherwise.
#include "core/faults/fault_streams.h"

#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

namespace pagecast::core::test {
namespace {

constexpr int64_t kLow = 1000, kHigh = 101000;

class Memory {
public:
  explicit Memory(uint64_t pages = 1 << 20, unsigned shift = 0) : streams(shift), pages_(pages), shift_(shift) {}
  void touch(int64_t place) {
    const int64_t page = place >> shift_;
    if (there.count(page)) return;
    ++faults;
    marks += held.erase(page);
    there.insert(page);
    streams.fault(place, kLow << shift_, kHigh << shift_, pages_);
    ASSERT_TRUE(streams.is_valid());
    for (unsigned i = 0; i < FaultStreams::kMost; ++i) ask(i);
    ASSERT_TRUE(streams.is_valid());
  }
  FaultStreams streams;
  std::set<int64_t> there, held;
  unsigned faults = 0, marks = 0, asked = 0;

private:
  void ask(unsigned i) {
    Stream &s = streams[i];
    while (!s.free() && s.left) {
      const int64_t page = s.next >> shift_;
      ASSERT_GE(page, kLow);
      ASSERT_LT(page, kHigh);
      if (!there.count(page)) {
        ++asked;
        if (s.unmarked == 0 && s.mark == Stream::kNoMark) s.mark = s.next, held.insert(page);
        else there.insert(page);
      }
      streams.asked(i, 1);
    }
  }
  uint64_t pages_;
  unsigned shift_;
};

TEST(FaultStreams, SequentialFaultsOnceAWindow) {
  Memory m;
  for (int64_t p = 5000; p < 25000; ++p) m.touch(p);
  EXPECT_EQ(m.faults - m.marks, 3u) << "two to be remembered, the third begins the stream";
  EXPECT_LE(m.marks, 20000u / FaultStreams::kMostWindow + 8);
}

TEST(FaultStreams, Backward) {
  Memory m;
  for (int64_t p = 25000; p > 5000; --p) m.touch(p);
  EXPECT_EQ(m.faults - m.marks, 3u);
  EXPECT_LE(m.marks, 20000u / FaultStreams::kMostWindow + 8);
}

TEST(FaultStreams, ColumnsOfAMatrix) {
  Memory m;
  for (int64_t p = kLow; p < kHigh; p += 37) m.touch(p);
  EXPECT_EQ(m.faults - m.marks, 4u);
  EXPECT_LE(m.marks, 100000u / 37 / FaultStreams::kMostWindowApart + 8);
}

constexpr unsigned kShift = 12;
constexpr int64_t kLowest = kLow << kShift, kHighest = kHigh << kShift;

TEST(FaultStreams, ColumnsOfRowsThatAreNotWholePages) {
  for (const int64_t row : {7000, 12136, 48000, 300008})
    for (const bool down : {false, true}) {
      Memory m(1 << 20, kShift);
      std::set<int64_t> touched;
      const int64_t rows = (kHighest - kLowest) / row;
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t place = kLowest + (down ? rows - 1 - i : i) * row + 16;
        m.touch(place);
        touched.insert(place >> kShift);
      }
      EXPECT_EQ(m.faults - m.marks, 4u) << row;
      EXPECT_LE(m.marks, rows / FaultStreams::kMostWindowApart + 8) << row;
      EXPECT_LE(m.there.size() + m.held.size(), touched.size() + 1) << "pages in between are left alone: " << row;
    }
}

TEST(FaultStreams, ColumnsOfAnImageAndItsCopy) { // a walk upwards in each, and the columns of which it is one
  Memory m(1 << 20, kShift);
  constexpr int64_t row = 7000, rows = 2000, second = 50000ll << kShift;
  for (int64_t x = 0; x < 20; ++x)
    for (int64_t y = rows; y-- > 0;) m.touch(kLowest + y * row + x), m.touch(kLowest + second + y * row + x);
  EXPECT_LE(m.faults - m.marks, 2u * 20);
  EXPECT_LE(m.asked, 2u * rows + 4u * FaultStreams::kMostWindowApart);
}

TEST(FaultStreams, RecordsOfWhichNowThisNowThatIsRead) { // their pages are evenly apart, the places in them are not
  Memory m(1 << 20, kShift);
  std::mt19937 random(5);
  for (int64_t p = kLow; p < kHigh; p += 37) m.touch((p << kShift) + int64_t(random() % 4096));
  EXPECT_EQ(m.faults - m.marks, 4u);
}

// A library goes down four rows at a time, and from there into the page behind. Their pages look evenly apart for some rows.
TEST(FaultStreams, PagesThatLookEvenWhereAStreamGoesThroughTheRowsAreNone) {
  constexpr int64_t kRow = 24000, kPage = 4096, kFirst = (kLow << 12) + 1000;
  Memory m(1 << 20, 12);
  for (int64_t row = 0; row < 8000; row += 4) {
    for (int64_t r = row; r < row + 4; ++r) m.touch(kFirst + r * kRow);
    for (int64_t r = row; r < row + 4; ++r)
      if (const int64_t place = kFirst + r * kRow, behind = (place & -kPage) + kPage; behind < place + 1792) m.touch(behind);
    for (unsigned i = 0; i < FaultStreams::kMost; ++i)
      ASSERT_TRUE(m.streams[i].free() || m.streams[i].stride % kPage != 0) << m.streams[i].stride << " at row " << row;
  }
}

TEST(FaultStreams, RandomPlacesAskForNextToNothing) {
  Memory m(1 << 20, kShift);
  std::mt19937_64 random(1);
  for (unsigned i = 0; i < 20000; ++i) m.touch(kLowest + int64_t(random() % uint64_t(kHighest - kLowest)) / 8 * 8);
  EXPECT_LT(m.asked, m.faults / 50);
}

TEST(FaultStreams, SeveralSideBySide) {
  Memory m;
  const int64_t rows = 8, row = (kHigh - kLow) / rows;
  for (int64_t i = 0; i < row; ++i)
    for (int64_t r = 0; r < rows; ++r) m.touch(r % 2 ? kLow + r * row + i : kLow + (r + 1) * row - 1 - i);
  EXPECT_LE(m.faults - m.marks, 3u * rows);
  EXPECT_EQ(m.there.size(), uint64_t(kHigh - kLow));
}

TEST(FaultStreams, ThreadsThatTakeTurnsAtRandom) {
  Memory m;
  std::mt19937 random(3);
  const unsigned threads = 6;
  int64_t at[threads];
  for (unsigned t = 0; t < threads; ++t) at[t] = kLow + 15000 * int64_t(t);
  for (unsigned i = 0; i < 60000; ++i) m.touch(at[random() % threads]++);
  EXPECT_LE(m.faults - m.marks, 4u * threads);
}

TEST(FaultStreams, RandomFaultsAskForNextToNothing) {
  Memory m;
  std::mt19937 random(1);
  for (unsigned i = 0; i < 20000; ++i) m.touch(kLow + int64_t(random() % uint64_t(kHigh - kLow)));
  EXPECT_LT(m.asked, m.faults / 50);
}

TEST(FaultStreams, RandomFaultsDoNotDriveTheStreamsThatWentBefore) { // rows that are filled in order, and read at random
  Memory m(20000);
  for (int64_t i = 0; i < 1000; ++i)
    for (int64_t row = 0; row < FaultStreams::kMost; ++row) m.touch(kLow + row * 3000 + i);
  std::mt19937 random(1);
  m.asked = m.faults = 0;
  for (unsigned i = 0; i < 20000; ++i) {
    const auto page = kLow + int64_t(random() % uint64_t(kHigh - kLow));
    m.there.erase(page); // what was there or asked for has been evicted
    m.touch(page);
  }
  EXPECT_LT(m.asked, m.faults / 5);
}

TEST(FaultStreams, MemoryBoundsTheWindows) {
  Memory m(64);
  for (int64_t p = 5000; p < 6000; ++p) {
    m.touch(p);
    ASSERT_LE(m.there.size() + m.held.size(), uint64_t(p - 5000 + 1 + 64));
  }
  EXPECT_EQ(m.faults - m.marks, 3u);
}

TEST(FaultStreams, NothingBeyondTheRegion) { // Memory::ask asserts the bounds
  Memory m;
  for (int64_t p = kHigh - 20; p < kHigh; ++p) m.touch(p);
  EXPECT_EQ(m.there.size() + m.held.size(), 20u);
  for (int64_t p = kLow + 20; p >= kLow; --p) m.touch(p);
}

TEST(FaultStreams, GoesOnWhereTheProgramOvertookIt) {
  FaultStreams s{0};
  for (int64_t p = 5000; p < 5002; ++p) EXPECT_EQ(s.fault(p, kLow, kHigh, 1000).stream, FaultStreams::kNone);
  const auto began = s.fault(5002, kLow, kHigh, 1000);
  EXPECT_TRUE(began.started);
  for (int64_t p = 5003; p < 5010; ++p) { // nothing was asked for, for lack of memory
    const auto found = s.fault(p, kLow, kHigh, 1000);
    EXPECT_EQ(found.stream, began.stream);
    EXPECT_FALSE(found.started);
    EXPECT_EQ(s[found.stream].next, p + 1);
  }
}

TEST(FaultStreams, ForgetsAFreedRegion) {
  FaultStreams s{0};
  for (int64_t p = 5000; p < 5003; ++p) s.fault(p, kLow, kHigh, 1000);
  EXPECT_EQ(s.live(), 1u);
  s.forget(kLow, kHigh);
  EXPECT_EQ(s.live(), 0u);
  EXPECT_EQ(s.fault(5003, kLow, kHigh, 1000).stream, FaultStreams::kNone) << "the faults are forgotten, too";
  EXPECT_TRUE(s.is_valid());
}

TEST(FaultStreams, TheLeastUsedMakesRoom) {
  FaultStreams s{0};
  for (int64_t n = 0; n <= int64_t(FaultStreams::kMost); ++n)
    for (int64_t p = 0; p < 3; ++p) {
      const auto found = s.fault(kLow + n * 3000 + n * n + p, kLow, kHigh, 1000); // not evenly apart
      if (p < 2) continue;
      EXPECT_EQ(found.replaced.free(), n < int64_t(FaultStreams::kMost));
      if (!found.replaced.free()) { EXPECT_EQ(found.replaced.passed, kLow + 2); }
    }
}

} // namespace
} // namespace pagecast::core::test
