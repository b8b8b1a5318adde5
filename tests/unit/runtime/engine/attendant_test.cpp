// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/attendant.h"

#include <atomic>
#include <gtest/gtest.h>

using namespace pagecast;

namespace {

Statistics statistics;
core::Attendance attendance;
Attendant attendant{attendance, statistics};
std::atomic<uint64_t> faulting{0};
enum State : int { kBegins, kCannot, kAttends, kLeft };
std::atomic<int> state{kBegins};

void watch() { attendant.watch(); }

/// Attends the thread `faulting`, works for a while, and then is kept from it. Beside others that may be at once.
void attend() {
  for (uint32_t i = 0; i <= core::Attendance::kInARow; ++i) attendance.faulted(faulting);
  attendant.take_place(os::now_ns());
  state = attendant.attends() ? kAttends : kCannot;
  for (unsigned i = 0; i < 50 && state == kAttends; ++i) attendant.beat(), os::sleep(200'000);
  while (os::attending()) continue;
  attendant.take_place(os::now_ns());
  if (state == kAttends && !attendant.attends()) state = kLeft;
}

TEST(Attendant, AttendsNoLongerWhereItIsKeptFromItsWork) {
  faulting = static_cast<uint64_t>(os::thread_id());
  ASSERT_EQ(os::start_thread("watch", watch), 0);
  ASSERT_EQ(os::start_thread("attend", attend), 0);
  for (unsigned i = 0; i < 20000 && state != kLeft && state != kCannot; ++i) os::sleep(1'000'000);
  if (state == kCannot) GTEST_SKIP() << "a thread may not leave the idle class here";
  EXPECT_EQ(state, kLeft);
  EXPECT_EQ(statistics.attendance.begun, 1u);
  EXPECT_GE(statistics.attendance.disturbed, 1u);
}

} // namespace
