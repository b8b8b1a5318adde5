// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/profile/data_sets.h"
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <random>
#include <unistd.h>

namespace pagecast::profile::test {
namespace {

struct DataSetsTest : testing::Test {
  DataSetsTest() { EXPECT_TRUE(sets.start(1000)); }
  DataSets sets;
};

TEST_F(DataSetsTest, MappingsAreFoundByTheirAddresses) {
  sets.map(1000, 2000, 500, 7);
  sets.map(3000, 4000, 0, 8);
  ASSERT_TRUE(sets.find(1999, 1999, 2000));
  EXPECT_EQ(sets.find(1999, 1999, 2000)->data_set, 7u);
  EXPECT_EQ(sets.find(2500, 2500, 3001)->data_set, 8u) << "what the range comes to";
  EXPECT_FALSE(sets.find(2000, 2000, 3000));
}

TEST_F(DataSetsTest, WhatIsMappedAnewOrMovedTakesItsPlace) {
  sets.map(1000, 4000, 0, 1);
  sets.map(2000, 3000, 0, 2);
  EXPECT_EQ(sets.find(3500, 3500, 3501)->offset, 2000u) << "the rest goes on where it was";
  EXPECT_EQ(sets.find(2500, 2500, 2501)->data_set, 2u);
  sets.move(2000, 3000, 8000, 2000);
  EXPECT_FALSE(sets.find(2500, 2500, 2501));
  EXPECT_EQ(sets.find(9999, 9999, 10000)->data_set, 2u) << "it has grown";
}

TEST_F(DataSetsTest, TheyAreWhatAMapOfEachByteSays) {
  std::mt19937 random(32);
  std::map<uint64_t, std::pair<uint32_t, uint64_t>> bytes; // data set and offset of each
  for (unsigned round = 0; round < 3000; ++round) {
    const uint64_t begin = random() % 200, end = begin + 1 + random() % 50, to = random() % 200, offset = random() % 1000;
    const auto erase = [&](uint64_t a, uint64_t b) { bytes.erase(bytes.lower_bound(a), bytes.lower_bound(b)); };
    switch (random() % 3) {
    case 0:
      sets.map(begin, end, offset, round);
      for (uint64_t b = begin; b < end; ++b) bytes[b] = {round, offset + b - begin};
      break;
    case 1:
      sets.unmap(begin, end);
      erase(begin, end);
      break;
    case 2: {
      const auto first = bytes.find(begin);
      sets.move(begin, end, to, end - begin);
      if (first == bytes.end()) break;
      const auto [set, from] = first->second;
      erase(begin, end);
      for (uint64_t b = 0; b < end - begin; ++b) bytes[to + b] = {set, from + b};
    }
    }
    for (uint64_t b = 0; b < 260; ++b) {
      const Mapped *found = sets.find(b, b, b + 1);
      ASSERT_EQ(found != nullptr, bytes.count(b) != 0) << round << " " << b;
      if (!found) continue;
      ASSERT_EQ(std::pair(found->data_set, found->offset + (b - found->begin)), bytes[b]) << round << " " << b;
    }
  }
}

TEST_F(DataSetsTest, FilesAreTheSameHoweverTheyAreOpened) {
  FILE *large = tmpfile(), *small = tmpfile();
  ASSERT_EQ(ftruncate(fileno(large), 5000), 0);
  ASSERT_EQ(ftruncate(fileno(small), 999), 0);
  EXPECT_EQ(sets.of(fileno(large)), kNoDataSet) << "it has no name any more";
  EXPECT_EQ(sets.of(fileno(small)), kNoDataSet);
  char name[] = "/tmp/pagecast-data-set-XXXXXX";
  const int fd = mkstemp(name), again = dup(fd);
  ASSERT_EQ(ftruncate(fd, 5000), 0);
  const uint32_t number = sets.of(fd);
  ASSERT_NE(number, kNoDataSet);
  EXPECT_EQ(sets.of(again), number);
  EXPECT_STREQ(sets[number].path, name);
  EXPECT_EQ(sets[number].bytes, 5000u);
  unlink(name);
  close(fd);
  close(again);
  fclose(large);
  fclose(small);
}

} // namespace
} // namespace pagecast::profile::test
