// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/files/read_around.h"

#include <gtest/gtest.h>

namespace pagecast::core::test {
namespace {

constexpr uint64_t kAll = ~0ull;
using Verdict = ReadAround::Verdict;

/// So many samples, alike.
void look(ReadAround &a, unsigned samples, uint64_t before, uint64_t now, uint64_t touched) {
  while (samples--) a.look(before, now, touched);
}

TEST(ReadAround, PagesThatNobodyTouchesAndThatPushOthersOutAreNotWorthReading) {
  ReadAround a;
  look(a, 8, 0, kAll, 1);
  EXPECT_EQ(a.verdict(false), Verdict::kGoOn) << "nothing has gone: memory takes them";
  look(a, 8, 0, kAll, 1);
  look(a, 8, kAll, 0, 0);
  EXPECT_EQ(a.verdict(false), Verdict::kAlone);
  EXPECT_EQ(a.verdict(false), Verdict::kGoOn) << "a new count";
}

TEST(ReadAround, AFileThatIsGoneThroughIsReadAhead) {
  ReadAround a;
  look(a, 16, 0, kAll, kAll);
  look(a, 4, 0, kAll, 0); // where the program is still to come
  look(a, 20, kAll, 0, 0);
  EXPECT_EQ(a.verdict(false), Verdict::kGoOn);
}

TEST(ReadAround, AFewPagesProveNothing) {
  ReadAround a;
  look(a, 7, 0, kAll, 0);
  look(a, 7, kAll, 0, 0);
  EXPECT_EQ(a.verdict(false), Verdict::kGoOn);
  look(a, 1, 0, kAll, 0);
  EXPECT_EQ(a.verdict(false), Verdict::kAlone) << "they count together";
}

TEST(ReadAround, SamplesThatComeWholeAreGoneThrough) {
  ReadAround a;
  look(a, 15, 0, kAll, kAll);
  EXPECT_EQ(a.verdict(true), Verdict::kGoOn);
  look(a, 1, 0, kAll, kAll);
  EXPECT_EQ(a.verdict(true), Verdict::kAround);
  look(a, 100, 0, 1ull << 17 | 1ull << 40, kAll);
  look(a, 10, 0, kAll, kAll);
  EXPECT_EQ(a.verdict(true), Verdict::kGoOn) << "some pages here and there";
}

} // namespace
} // namespace pagecast::core::test
