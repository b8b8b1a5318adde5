// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/state/open_nests.h"

#include "runtime/kernel/os.h"

#include <gtest/gtest.h>

using namespace pagecast;

namespace {

/// Of the table, without the pages at its ends, which it shares with others.
uint64_t table_in_memory() {
  const uint64_t page = os::page_size(), from = reinterpret_cast<uint64_t>(&nest_storage) / page * page + page;
  return os::bytes_in_memory(from, sizeof nest_storage / page * page - page);
}

TEST(OpenNests, TakeNoMemoryBeforeTheyAreClaimed) {
  if (claim_nest() != &nest_table[0]) GTEST_SKIP() << "another test has claimed nests: one test a process, as ctest runs them";
  const uint64_t one = table_in_memory();
  EXPECT_LE(one, sizeof(OpenNest) + 2 * os::page_size());
  OpenNest *second = claim_nest();
  ASSERT_EQ(second, &nest_table[1]);
  EXPECT_EQ(second->state.load(), OpenNest::kClaimed);
  EXPECT_GT(table_in_memory(), one);
  EXPECT_LE(table_in_memory(), 2 * sizeof(OpenNest) + 2 * os::page_size());
}

} // namespace
