// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/file_reads.h"

#include <gtest/gtest.h>

using pagecast::core::FileReads;

namespace {

constexpr uint64_t kKiB = 1u << 10, kMiB = 1u << 20;

TEST(FileReads, WhatThePagerAsksForIsNotOfFilesThoughSomeIsCountedTwice) {
  FileReads reads;
  uint64_t all = 0, asked = 0;
  for (int i = 0; i < 1000; ++i) {
    asked += 2 * kMiB;
    EXPECT_EQ(reads.update(all, asked, asked), 0u); // it has not been made yet
    all += 2 * kMiB + 40 * kKiB;
    if (i % 50 == 49) all += 300 * kKiB; // tried, and made, in a burst
    EXPECT_EQ(reads.update(all, asked, asked), 0u);
  }
}

TEST(FileReads, AFileThatBeginsToBeReadIsSeenSoonAndInWhole) {
  FileReads reads;
  uint64_t all = 0;
  EXPECT_EQ(reads.update(all, 0, 0), 0u);
  EXPECT_EQ(reads.update(all += 300 * kKiB, 0, 0), 300 * kKiB); // nothing was paged
  const uint64_t asked = 100 * kMiB, before = reads.update(all += asked, asked, asked);
  EXPECT_EQ(before, 300 * kKiB);
  const uint64_t begun = reads.update(all += 8 * kMiB, asked, asked);
  EXPECT_EQ(begun - before, 8 * kMiB - FileReads::kMostCredit);
  EXPECT_EQ(reads.update(all += 8 * kMiB, asked, asked) - begun, 8 * kMiB);
}

TEST(FileReads, AChildOfAForkCountsFromItsOwnBegin) {
  FileReads reads(5000 * kMiB); // the parent's pager asked for so much
  EXPECT_EQ(reads.update(0, 5000 * kMiB, 0), 0u);
  EXPECT_EQ(reads.update(8 * kMiB, 5000 * kMiB, 0), 8 * kMiB);
  EXPECT_EQ(reads.update(10 * kMiB, 5002 * kMiB, 2 * kMiB), 8 * kMiB);
}

TEST(FileReads, BesidePagingAFileIsCountedButForTheEighth) {
  FileReads reads;
  uint64_t all = 0, asked = 0, out = 0;
  for (int i = 0; i < 100; ++i) {
    asked += kMiB;
    all += 2 * kMiB;
    out = reads.update(all, asked, asked);
  }
  EXPECT_EQ(out, 100 * kMiB - 100 * kMiB / FileReads::kPart);
}

TEST(FileReads, ThePagersOwnCodeIsNoFileOfTheProgram) {
  FileReads reads;
  uint64_t all = 2 * kMiB, asked = 0, thread = 0;
  EXPECT_EQ(reads.update(all, asked, thread), 2 * kMiB); // before paging, by the program
  all += 430 * kKiB, thread += 430 * kKiB;
  EXPECT_EQ(reads.update(all, asked, thread), 2 * kMiB);
  for (int i = 0; i < 100; ++i) {
    asked += 100 * kKiB, thread += 100 * kKiB, all += 100 * kKiB;
    EXPECT_EQ(reads.update(all, asked, thread), 2 * kMiB);
  }
  const uint64_t seen = reads.update(all += 8 * kMiB, asked, thread);
  EXPECT_GE(seen, 10 * kMiB - FileReads::kMostCredit);
}

} // namespace
