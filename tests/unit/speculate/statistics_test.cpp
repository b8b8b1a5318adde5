// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/report/statistics.h"
#include <gtest/gtest.h>

namespace pagecast::speculate {
namespace {

TEST(Statistics, DilationComparesWhatAReadTakes) {
  Statistics s;
  s.reads = 100;
  s.copy_seconds = 0.03;
  s.original_reads = 50;
  s.original_seconds = 0.005;
  EXPECT_DOUBLE_EQ(3, dilation_of(s));
}

TEST(Statistics, DilationIsNotKnownWithoutReadsOfBoth) {
  Statistics s;
  EXPECT_EQ(0, dilation_of(s));
  s.reads = 100;
  s.copy_seconds = 0.03;
  EXPECT_EQ(0, dilation_of(s)) << "the program has not read beside its copies";
  s.reads = 0;
  s.original_reads = 50;
  s.original_seconds = 0.005;
  EXPECT_EQ(0, dilation_of(s)) << "the copies have not read";
}

} // namespace
} // namespace pagecast::speculate
