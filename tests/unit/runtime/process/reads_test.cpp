// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/reads.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <new>
#include <optional>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace pagecast;

namespace {

constexpr uint64_t kAt = 1ull << 40;

class ReadsTest : public testing::Test {
public:
  void SetUp() override {
    char path[] = "/var/tmp/reads-test-XXXXXX";
    direct_ = mkostemp(path, O_DIRECT);
    if (direct_ < 0) GTEST_SKIP() << "/var/tmp takes no direct I/O";
    unlink(path);
    plain_ = open("/dev/null", O_RDONLY);
  }
  void TearDown() override {
    close(direct_);
    close(plain_);
  }
  int direct_ = -1, plain_ = -1;
};

TEST_F(ReadsTest, OnlyDirectOnesKeepABlockFromBeingPaged) {
  {
    std::optional<ReadUnderWay> reads[2]; // the stack grows down
    reads[1].emplace(kAt + 4096, kAt + 8192, direct_);
    reads[0].emplace(kAt + (1 << 20), kAt + (2 << 20), plain_);
    EXPECT_TRUE(direct_reads_under_way(kAt, kAt + (4 << 20)));
    EXPECT_FALSE(direct_reads_under_way(kAt, kAt + 4096));
    EXPECT_FALSE(direct_reads_under_way(kAt + 8192, kAt + (4 << 20)));
  }
  EXPECT_FALSE(direct_reads_under_way(kAt, kAt + (4 << 20)));
}

TEST_F(ReadsTest, TheyMoveWithTheirPages) {
  ReadUnderWay read(kAt + 4096, kAt + 8192, direct_);
  reads_moved(kAt, kAt + (1 << 20), kAt * 2);
  EXPECT_FALSE(direct_reads_under_way(kAt, kAt + (1 << 20)));
  EXPECT_TRUE(direct_reads_under_way(kAt * 2 + 4096, kAt * 2 + 4097));
  EXPECT_FALSE(direct_reads_under_way(kAt * 2 + 8192, kAt * 2 + (1 << 20)));
}

TEST_F(ReadsTest, WhoEndedInTheMiddleIsForgotten) {
  alignas(ReadUnderWay) static char left[sizeof(ReadUnderWay)];
  std::thread([&] { new (left) ReadUnderWay(kAt, kAt + 4096, direct_); }).join(); // as if cancelled
  // Who joined it may still find it in the kernel for a moment.
  for (unsigned i = 0; i < 5000 && direct_reads_under_way(kAt, kAt + 4096); ++i) usleep(1000);
  EXPECT_FALSE(direct_reads_under_way(kAt, kAt + 4096));
}

sigjmp_buf before_read;
uint64_t buffer_left = 0;

/// Reads with a buffer, and is left by a jump in the middle.
__attribute__((noinline)) void read_and_jump(int fd) {
  ReadUnderWay read(kAt, kAt + 4096, fd);
  buffer_left = reinterpret_cast<uint64_t>(read.take_buffer(1 << 16));
  siglongjmp(before_read, 1);
}

bool is_mapped(uint64_t at) {
  unsigned char there;
  return mincore(reinterpret_cast<void *>(at), 1, &there) == 0;
}

TEST_F(ReadsTest, WhatAJumpLeavesIsForgottenWhenItsThreadReadsNext) {
  static unsigned times; // a jump keeps it
  for (times = 0; times < 200; ++times)
    if (sigsetjmp(before_read, 0) == 0) read_and_jump(direct_);
  EXPECT_TRUE(direct_reads_under_way(kAt, kAt + 4096));
  EXPECT_TRUE(is_mapped(buffer_left));
  {
    const ReadUnderWay next(2 * kAt, 2 * kAt + 4096, direct_);
    EXPECT_TRUE(next.noted());
    EXPECT_FALSE(direct_reads_under_way(kAt, kAt + 4096));
    EXPECT_FALSE(is_mapped(buffer_left));
  }
}

ReadsTest *test = nullptr;
bool seen = false;

void read_in_handler(int) {
  const ReadUnderWay inner(2 * kAt, 2 * kAt + 4096, test->direct_);
  seen = direct_reads_under_way(kAt, kAt + 4096) && direct_reads_under_way(2 * kAt, 2 * kAt + 4096);
}

/// A handler's reads let the one go on that it has interrupted; on its own stack, which may be above that or below, too.
TEST_F(ReadsTest, HandlersReadInTheMiddleOfReads) {
  test = this;
  constexpr size_t kStack = 1 << 18;
  auto *below = static_cast<char *>(mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  alignas(16) char above[1 << 16];
  for (const int flags : {0, SA_ONSTACK})
    for (char *stack : {below, above}) {
      stack_t handlers{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof above};
      ASSERT_EQ(sigaltstack(&handlers, nullptr), 0);
      struct sigaction action{};
      action.sa_handler = read_in_handler;
      action.sa_flags = flags;
      sigaction(SIGUSR1, &action, nullptr);
      [&]() __attribute__((noinline)) {
        ReadUnderWay outer(kAt, kAt + 4096, direct_);
        raise(SIGUSR1);
        EXPECT_TRUE(seen);
        EXPECT_TRUE(direct_reads_under_way(kAt, kAt + 4096));
        EXPECT_FALSE(direct_reads_under_way(2 * kAt, 2 * kAt + 4096));
      }();
      EXPECT_FALSE(direct_reads_under_way(kAt, kAt + 4096));
    }
  stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
  munmap(below, kStack);
}

TEST_F(ReadsTest, TooManyAreNotNoted) {
  std::optional<ReadUnderWay> reads[1000]; // on the stack, downwards, as always
  unsigned n = 1000;
  do reads[--n].emplace(kAt, kAt + 4096, direct_);
  while (reads[n]->noted() && n > 0);
  ASSERT_FALSE(reads[n]->noted());
  reads[999]->finish();
  EXPECT_TRUE(ReadUnderWay(kAt, kAt + 4096, direct_).noted());
}

TEST_F(ReadsTest, ThreadsNoteAndForgetSideBySide) {
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= 4; ++t)
    threads.emplace_back([this, t] {
      for (unsigned i = 0; i < 2000; ++i) {
        const uint64_t at = kAt * (t + 1);
        ReadUnderWay read(at, at + 4096, direct_);
        ASSERT_TRUE(read.noted());
        ASSERT_TRUE(direct_reads_under_way(at, at + 4096));
        read.finish();
        ASSERT_FALSE(direct_reads_under_way(at, at + 4096));
      }
    });
  for (std::thread &t : threads) t.join();
}

} // namespace
