// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/watch/proc.h"
#include <csignal>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr uint64_t kMillisecond = 1000000;

struct ThisThread {
  ThisThread() { open = thread.open(getpid(), static_cast<pid_t>(syscall(SYS_gettid))); }
  ~ThisThread() { thread.close(); }
  Thread thread;
  bool open;
};

/// A thread that has run for all of the time is not looked at any further: what the look before said of it is kept.
TEST(Proc, AThreadThatRanAllTheTimeIsTakenToRunStill) {
  ThisThread own;
  ASSERT_TRUE(own.open);
  Look last = own.thread.look();
  ASSERT_TRUE(last.alive);
  EXPECT_EQ('R', last.state);
  ASSERT_GT(last.ran, 0u);
  last.ran = 0; // it has run for all of its time, in as many ns
  for (volatile unsigned i = 0; own.thread.look().ran < 20 * kMillisecond;) i = i + 1;
  const Look now = own.thread.look(last, 20 * kMillisecond);
  EXPECT_TRUE(now.alive);
  EXPECT_EQ('R', now.state);
  EXPECT_GE(now.ran, 20 * kMillisecond);
}

/// The thread of a process that has ended, and one that is waited for, have not run.
TEST(Proc, WhoHasNotRunIsLookedAt) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  Thread thread;
  ASSERT_TRUE(thread.open(child, child));
  while (thread.look().state != 'S') {}
  Look last = thread.look();
  last.state = 'R';
  EXPECT_EQ('S', thread.look(last, 20 * kMillisecond).state);
  kill(child, SIGKILL);
  while (thread.look().state != 'Z') {}
  EXPECT_EQ('Z', thread.look(last, 20 * kMillisecond).state);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(thread.look(last, 20 * kMillisecond).alive);
  thread.close();
}

} // namespace
} // namespace pagecast::speculate
