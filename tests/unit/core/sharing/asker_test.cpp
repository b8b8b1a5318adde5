// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/asker.h"

#include <gtest/gtest.h>

namespace pagecast::core {
namespace {

using Who = Asker::Who;
using Answer = Asker::Answer;
constexpr uint64_t kMs = 1'000'000;

TEST(Asker, AsksNothingItselfWhileItIsServed) {
  Asker a;
  a.open(true, 5 * kMs);
  EXPECT_EQ(a.who(Answer::kNone, true, 6 * kMs), Who::kNobody) << "the helper has time to answer";
  for (uint64_t ms = 7; ms < 1000; ms += 31) EXPECT_EQ(a.who(Answer::kServed, true, ms * kMs), Who::kHelper);
}

TEST(Asker, WhoSharesWithNobodyAsksForItselfOnceItHasTheAnswer) {
  Asker a;
  a.open(true, 0);
  EXPECT_EQ(a.who(Answer::kNone, true, kMs), Who::kNobody);
  for (uint64_t ms = 2; ms < 1000; ms += 31) EXPECT_EQ(a.who(Answer::kDeclined, true, ms * kMs), Who::kProcess);
  EXPECT_EQ(a.who(Answer::kServed, true, 1001 * kMs), Who::kHelper) << "another has come with whom it shares";
  EXPECT_EQ(a.who(Answer::kDeclined, false, 1002 * kMs), Who::kProcess);
}

TEST(Asker, TheProcessAsksWhenNoAnswerComesInTimeUntilOneDoes) {
  Asker a;
  a.open(true, 0);
  EXPECT_EQ(a.who(Answer::kNone, true, kAnswerNs), Who::kNobody);
  EXPECT_EQ(a.who(Answer::kNone, true, kAnswerNs + 1), Who::kProcess);
  EXPECT_EQ(a.who(Answer::kServed, true, kAnswerNs + 2), Who::kHelper);
  EXPECT_EQ(a.who(Answer::kNone, true, kAnswerNs + 3), Who::kProcess);
}

TEST(Asker, TheProcessAsksWhenTheHelperHasGone) {
  Asker a;
  a.open(true, 0);
  EXPECT_EQ(a.who(Answer::kServed, true, kMs), Who::kHelper);
  EXPECT_EQ(a.who(Answer::kServed, false, 2 * kMs), Who::kNobody) << "it may be that it is only started";
  EXPECT_EQ(a.who(Answer::kServed, false, 50 * kMs), Who::kProcess);
}

TEST(Asker, TheProcessAsksForWhatCouldNotBeLaidOpen) {
  Asker a;
  a.open(true, 0);
  EXPECT_EQ(a.who(Answer::kServed, true, kMs), Who::kHelper);
  a.open(false, 2 * kMs);
  EXPECT_EQ(a.who(Answer::kServed, true, 2 * kMs), Who::kProcess) << "an answer of the nest before";
}

} // namespace
} // namespace pagecast::core
