// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reads.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace pagecast;

namespace {

constexpr uint64_t kAt = 1ull << 40;

class ReadsTest : public testing::Test {
protected:
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
    ReadUnderWay direct(kAt + 4096, kAt + 8192, direct_), plain(kAt + (1 << 20), kAt + (2 << 20), plain_);
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
  EXPECT_FALSE(direct_reads_under_way(kAt, kAt + 4096));
}

TEST_F(ReadsTest, TooManyAreNotNoted) {
  std::vector<std::unique_ptr<ReadUnderWay>> reads;
  do reads.push_back(std::make_unique<ReadUnderWay>(kAt, kAt + 4096, direct_));
  while (reads.back()->noted() && reads.size() < 1000);
  EXPECT_FALSE(reads.back()->noted());
  reads.front()->finish();
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
