// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/watch/proc.h"
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
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
  Look last;
  do last = own.thread.look();
  while (last.alive && last.ran == 0); // a process that has just begun has run for nothing until the first tick
  ASSERT_TRUE(last.alive);
  EXPECT_EQ('R', last.state);
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

/// Copies die with the thread that they were cloned from, which may end before its process does.
TEST(Proc, AThreadThatHasEndedIsToldFromOneThatRuns) {
  Thread ended;
  std::atomic<pid_t> number = 0;
  std::atomic<bool> may_end = false;
  std::thread one([&] {
    number = static_cast<pid_t>(syscall(SYS_gettid));
    while (!may_end) std::this_thread::yield();
  });
  while (number == 0) std::this_thread::yield();
  ASSERT_TRUE(ended.open(getpid(), number));
  EXPECT_FALSE(ended.is_ending());
  may_end = true;
  one.join();
  while (ended.look().alive) std::this_thread::yield(); // it is joined before it has quite gone
  EXPECT_TRUE(ended.is_ending());
  ended.close();
}

/// How many files this process has open.
unsigned open_files() {
  unsigned count = 0;
  for (int number = 0; number < 256; number++) count += fcntl(number, F_GETFD) >= 0;
  return count;
}

/// The file that tells them is opened once, however often they are asked for, and closed with the others.
TEST(Proc, ReadsOfAThreadAreCounted) {
  const unsigned files = open_files();
  ThisThread own;
  ASSERT_TRUE(own.open);
  const uint64_t before = own.thread.reads(), again = own.thread.reads();
  EXPECT_GT(again, before) << "to ask is to read";
  int ends[2];
  ASSERT_EQ(0, pipe(ends));
  char byte = 0;
  for (int i = 0; i < 10; i++) {
    ASSERT_EQ(1, write(ends[1], &byte, 1));
    ASSERT_EQ(1, read(ends[0], &byte, 1));
  }
  EXPECT_EQ(10 + again - before, own.thread.reads() - again);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(files + 4, open_files());
  own.thread.close();
  EXPECT_EQ(files, open_files());
}

/// What has run for less than a tick of the clock by which the kernel charges time is told, too.
TEST(Proc, ProcessorTimeIsToldInNanoseconds) {
  if (access("/proc/self/schedstat", R_OK)) GTEST_SKIP() << "this kernel tells it in ticks only";
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended;
  ASSERT_EQ(0, waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT));
  EXPECT_GT(usage_of(child).seconds, 0);
  waitpid(child, nullptr, 0);
}

} // namespace
} // namespace pagecast::speculate
