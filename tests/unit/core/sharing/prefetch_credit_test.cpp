// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/prefetch_credit.h"

#include <gtest/gtest.h>

namespace pagecast::core {
namespace {

/// So many prefetches, of which `harmful` in a hundred are. Returns how many were made.
unsigned prefetch(PrefetchCredit *credit, unsigned count, unsigned harmful) {
  unsigned made = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (!credit->has_any()) {
      credit->refused();
      continue;
    }
    ++made;
    if (i * harmful / 100 != (i + 1) * harmful / 100) credit->harmed();
    else credit->used();
  }
  return made;
}

TEST(PrefetchCredit, PrefetchesThatAreMostlyUsedGoOn) {
  PrefetchCredit credit;
  EXPECT_EQ(prefetch(&credit, 10000, 40), 10000u);
}

TEST(PrefetchCredit, PrefetchesThatAreMostlyHarmfulAreRefusedAndTriedAgainSeldom) {
  PrefetchCredit credit;
  EXPECT_LE(prefetch(&credit, 1000, 80), 250u);
  EXPECT_LE(prefetch(&credit, 100000, 80), 1000u);
}

TEST(PrefetchCredit, WhoDoesGoodAgainIsServedAgain) {
  PrefetchCredit credit;
  prefetch(&credit, 2000, 100);
  prefetch(&credit, 5000, 0);
  EXPECT_EQ(prefetch(&credit, 1000, 0), 1000u);
}

} // namespace
} // namespace pagecast::core
