// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/watch/hint_log.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace pagecast::speculate::test {
namespace {

struct HintLogTest : ::testing::Test {
  HintLogTest() : fingerprints(HintLog::kFingerprints) { log.attach(fingerprints.data(), HintLog::kFingerprints); }
  std::vector<uint32_t> fingerprints;
  HintLog log;
};

TEST_F(HintLogTest, HasTheBytesThatWereHintedAndNoOthers) {
  log.add(7, 5000, 10000); // pages 1, 2, 3
  for (const uint64_t offset : {4096, 5000, 8192, 12288, 14999}) EXPECT_TRUE(log.has(7, offset)) << offset;
  for (const uint64_t offset : {0, 4095, 16384, 1 << 20}) EXPECT_FALSE(log.has(7, offset)) << offset;
  EXPECT_FALSE(log.has(8, 5000));
}

TEST_F(HintLogTest, AnEmptyRangeIsItsPage) {
  log.add(7, 0, 0);
  EXPECT_TRUE(log.has(7, 0));
  EXPECT_FALSE(log.has(7, 4096));
}

TEST_F(HintLogTest, NamesAreApart) {
  log.add_path("/data/a");
  EXPECT_TRUE(log.has_path("/data/a"));
  EXPECT_FALSE(log.has_path("/data/b"));
}

TEST_F(HintLogTest, ForgetsAllAtOnce) {
  log.add(7, 0, 1 << 20);
  log.add_path("/data/a");
  log.clear();
  EXPECT_FALSE(log.has(7, 4096));
  EXPECT_FALSE(log.has_path("/data/a"));
}

TEST_F(HintLogTest, ManyHintsAreSeldomLostAndNeverMadeUp) {
  unsigned lost = 0, made_up = 0;
  for (uint64_t inode = 1; inode <= 100000; inode++) log.add(inode, 0, 4096);
  for (uint64_t inode = 1; inode <= 100000; inode++) lost += !log.has(inode, 0);
  for (uint64_t inode = 100001; inode <= 300000; inode++) made_up += log.has(inode, 0);
  EXPECT_LT(lost, 10000u);
  EXPECT_LE(made_up, 1u);
}

} // namespace
} // namespace pagecast::speculate::test
