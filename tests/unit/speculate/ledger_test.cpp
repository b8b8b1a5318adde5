// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/watch/ledger.h"

#include <gtest/gtest.h>

namespace pagecast::speculate::test {
namespace {

constexpr uint64_t kFile = 7, kBlock = Ledger::kBlock, kSize = 100 * kBlock;

void read(Ledger &ledger, uint64_t first, uint64_t blocks) {
  Ledger::Reading reading{kFile, first * kBlock, blocks * kBlock, {}};
  ledger.begin(&reading, kSize);
  ledger.end(reading, blocks * kBlock);
}

TEST(Ledger, HintsThatAreReadAreRightAndOthersAreInError) {
  Ledger ledger;
  ledger.hinted(kFile, 0, 3 * kBlock);
  ledger.fetching(kFile, 0, 2 * kBlock, false);
  ledger.fetching(kFile, 0, 2 * kBlock, true);
  read(ledger, 0, 1);
  const AccountCounts counts = ledger.counts();
  EXPECT_EQ(1, counts.blocks_hinted);
  EXPECT_EQ(2, counts.blocks_in_error);
  EXPECT_EQ(1, counts.fully);
  EXPECT_EQ(1, counts.unused);
  EXPECT_EQ(0, counts.hints_in_error) << "of one some was read";
}

TEST(Ledger, WhatTheProgramHasWrittenIsItsOwn) {
  Ledger ledger;
  ledger.wrote(kFile, 10, 2 * kBlock - 10); // blocks 0 and 1
  read(ledger, 0, 1);
  read(ledger, 1, 2); // one that is its own, and one that is not
  AccountCounts counts = ledger.counts();
  EXPECT_EQ(2, counts.reads);
  EXPECT_EQ(1, counts.reads_own);
  EXPECT_EQ(2, counts.blocks_own);
  ledger.hinted(kFile, 0, kBlock);
  read(ledger, 0, 1);
  counts = ledger.counts();
  EXPECT_EQ(1, counts.blocks_hinted);
  EXPECT_EQ(2, counts.blocks_own) << "a block that was hinted counts as that";
}

TEST(Ledger, WhatIsMappedIsNotJudged) {
  Ledger ledger;
  ledger.hinted(kFile, 0, 4 * kBlock);
  ledger.hinted(kFile, 8 * kBlock, kBlock);
  ledger.fetching(kFile, 0, 4 * kBlock, false);
  ledger.mapped(kFile, kBlock, 2 * kBlock);
  const AccountCounts counts = ledger.counts();
  EXPECT_EQ(3, counts.blocks_in_error);
  EXPECT_EQ(2, counts.unused);
  EXPECT_EQ(1, counts.hints_in_error);
  ledger.mapped(kFile + 1, 0, kSize);
  EXPECT_EQ(3, ledger.counts().blocks_in_error) << "that is another file";
}

} // namespace
} // namespace pagecast::speculate::test
