// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Margins of rows: what is saved is what comes back, byte by byte.
#include "runtime/memory/margins.h"

#include "runtime/kernel/os.h"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <vector>

using namespace pagecast;

namespace {

constexpr uint64_t kPages = 64, kPlenty = 1 << 20;

class MarginsTest : public testing::Test {
protected:
  void SetUp() override {
    memory =
        static_cast<unsigned char *>(mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    std::mt19937 random(1);
    for (uint64_t i = 0; i < kPages * page; ++i) memory[i] = static_cast<unsigned char>(random());
  }
  void TearDown() override { munmap(memory, kPages * page); }
  uint64_t at(uint64_t offset) const { return reinterpret_cast<uint64_t>(memory) + offset; }
  core::Extent pages(uint64_t first, uint64_t count) const { return {at(first * page), at((first + count) * page)}; }
  core::Extent all() const { return pages(0, kPages); }

  /// What fill() makes of the page, against memory: margins are there, all else is as it was.
  void expect_filled(const Margins &margins, const core::RowMargins &rows, uint64_t number) {
    std::vector<char> made(page, 0x55);
    margins.fill(rows, pages(number, 1), made.data());
    for (uint64_t i = 0; i < page; ++i) {
      const bool margin = rows.offset(at(number * page + i)) >= rows.span;
      ASSERT_EQ(static_cast<unsigned char>(made[i]), margin ? memory[number * page + i] : 0x55) << number << " " << i;
    }
  }

  const uint64_t page = os::page_size();
  unsigned char *memory = nullptr;
};

TEST_F(MarginsTest, WhatIsSavedComesBack) {
  for (const auto &[offset, stride, span] : std::vector<std::array<uint64_t, 3>>{
           {8, 816, 800}, {5 * 848 + 8, 848, 832}, {24, 19600, 19200}, {3000, 4120, 4096}, {40, 513, 500}}) {
    Margins margins;
    const core::RowMargins rows{at(offset), stride, span};
    margins.expect(rows, all(), all(), kPlenty);
    EXPECT_FALSE(margins.has(rows, at(0)));
    margins.save(all());
    for (uint64_t i = 0; i < kPages; ++i) {
      ASSERT_TRUE(margins.has(rows, at(i * page)));
      expect_filled(margins, rows, i);
    }
    const core::RowMargins later{at(offset + 3 * stride), stride, span}; // the same ones
    EXPECT_TRUE(margins.has(later, at(0)));
    expect_filled(margins, later, 1);
    EXPECT_FALSE(margins.has({at(offset + 8), stride, span}, at(0)));
    EXPECT_FALSE(margins.has({at(offset), stride, span - 1}, at(0)));
    margins.forget(pages(3, 1));
    EXPECT_EQ(margins.bytes(), 0u);
    EXPECT_FALSE(margins.has(rows, at(0)));
  }
}

TEST_F(MarginsTest, RowsThatNobodyComesToAgainAreSavedNoMore) {
  Margins margins;
  const core::RowMargins rows{at(8), 816, 800};
  margins.expect(rows, all(), all(), kPlenty);
  for (uint32_t i = 0; i < Margins::kPatience; ++i) margins.save(all());
  EXPECT_TRUE(margins.has(rows, at(0)));
  margins.save(pages(5, 1));
  EXPECT_FALSE(margins.has(rows, at(0))) << "page 5 would be what it was before";
  EXPECT_EQ(margins.bytes(), 0u);
  margins.save(all());
  EXPECT_FALSE(margins.has(rows, at(0)));

  margins.expect(rows, all(), all(), kPlenty); // but somebody does
  for (uint32_t i = 0; i < 2 * Margins::kPatience; ++i) margins.save(all());
  expect_filled(margins, rows, 5);
  margins.expect(rows, all(), all(), kPlenty);
  margins.save(all());
  EXPECT_TRUE(margins.has(rows, at(0))) << "each time that it is heard of the count begins anew";
}

TEST_F(MarginsTest, TheLastThatWasSavedCounts) {
  Margins margins;
  const core::RowMargins rows{at(8), 816, 800};
  margins.expect(rows, all(), all(), kPlenty);
  margins.save(all());
  memset(memory + 3 * page, 7, page);
  margins.save(pages(3, 1));
  expect_filled(margins, rows, 3);
  mprotect(memory + 3 * page, page, PROT_NONE);
  margins.save(pages(2, 3)); // what cannot be read is not there, nor what was copied with it
  EXPECT_FALSE(margins.has(rows, at(3 * page)));
  EXPECT_TRUE(margins.has(rows, at(5 * page)));
  mprotect(memory + 3 * page, page, PROT_READ | PROT_WRITE);
}

TEST_F(MarginsTest, OnlyTheRangeThatWasExpected) {
  Margins margins;
  const core::RowMargins rows{at(8), 816, 800};
  margins.expect(rows, pages(4, 4), all(), kPlenty);
  margins.save(all());
  EXPECT_FALSE(margins.has(rows, at(3 * page)));
  EXPECT_TRUE(margins.has(rows, at(4 * page)));
  const uint64_t before = margins.bytes();
  margins.expect(rows, pages(8, 4), all(), kPlenty);
  EXPECT_GT(margins.bytes(), before);
  EXPECT_FALSE(margins.has(rows, at(8 * page)));
  margins.save(pages(8, 1));
  EXPECT_TRUE(margins.has(rows, at(8 * page)));
}

TEST_F(MarginsTest, MemoryIsForRowsThatComeRound) {
  Margins margins;
  const core::RowMargins once{at(8), 816, 800}, often{at(8), 1224, 1200};
  margins.expect(once, all(), all(), kPlenty);
  const uint64_t of_one = margins.bytes();
  for (unsigned i = 0; i < 2; ++i) margins.expect(often, all(), all(), kPlenty);
  margins.save(all());
  EXPECT_TRUE(margins.has(once, at(0)));
  margins.expect(often, all(), all(), kPlenty);
  EXPECT_FALSE(margins.has(once, at(0)));
  EXPECT_TRUE(margins.has(often, at(0)));
  margins.expect(once, all(), all(), of_one); // there is no room
  margins.save(all());
  EXPECT_FALSE(margins.has(once, at(0)));
  margins.expect(once, all(), all(), kPlenty);
  margins.save(all());
  EXPECT_TRUE(margins.has(once, at(0)));
}

} // namespace
