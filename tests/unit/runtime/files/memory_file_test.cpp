// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory in a file with the real kernel, on /var/tmp.
#include "runtime/files/memory_file.h"

#include "runtime/kernel/disk.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_memory_file.h"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>

using namespace pagecast;

namespace {

constexpr uint64_t kPages = 600;

class MemoryFileTest : public testing::Test {
protected:
  void SetUp() override {
    char why[1024];
    if (file_.start("/var/tmp", 0, why, sizeof why)) GTEST_SKIP() << why;
    at_ = static_cast<char *>(os::map_memory(kPages * page_, false));
    ASSERT_NE(at_, nullptr);
    region_.base = address(0);
    region_.bytes = kPages * page_;
    region_.first_slot = kSlot;
    region_.kind = Region::kOwnFile;
  }
  void TearDown() override {
    if (at_) munmap(at_, kPages * page_);
  }
  uint64_t address(uint64_t page) const { return reinterpret_cast<uint64_t>(at_) + page * page_; }
  uint64_t take(bool fresh) { return file_.take(address(0), kPages * page_, kSlot, fresh); }
  bool in_file(uint64_t page) const {
    os::Mapping m;
    return os::mappings(address(page), address(page + 1), &m, 1) == 1 && !m.plain();
  }

  static constexpr uint32_t kSlot = 256;
  const uint64_t page_ = os::page_size();
  MemoryFile file_;
  FileRegion region_;
  char *at_ = nullptr;
};

TEST_F(MemoryFileTest, ContentsMoveAndTheRestIsZero) {
  memset(at_ + 3 * page_, 'a', page_);
  memset(at_ + 500 * page_, 'b', 10 * page_);
  ASSERT_EQ(take(true), kPages * page_);
  EXPECT_TRUE(in_file(0) && in_file(kPages - 1));
  for (uint64_t p = 0; p < kPages; ++p) ASSERT_EQ(at_[p * page_ + 7], p == 3 ? 'a' : p >= 500 && p < 510 ? 'b' : 0) << p;
}

TEST_F(MemoryFileTest, ClearedAndGivenBackPagesAreZero) {
  memset(at_, 'a', kPages * page_);
  ASSERT_EQ(take(false), kPages * page_);
  file_.clear(region_, address(10), address(20));
  EXPECT_TRUE(file_.give_back(region_, address(20), address(30)));
  EXPECT_TRUE(in_file(10));
  EXPECT_FALSE(in_file(20));
  for (uint64_t p = 0; p < kPages; ++p) ASSERT_EQ(at_[p * page_], p >= 10 && p < 30 ? 0 : 'a') << p;
  EXPECT_EQ(file_.take(address(20), 10 * page_, kSlot + 10, true), 10 * page_) << "their room again";
  EXPECT_EQ(at_[25 * page_], 0);
}

TEST_F(MemoryFileTest, WhatIsNotPlainStays) {
  ASSERT_EQ(mprotect(at_ + 5 * page_, page_, PROT_READ), 0);
  EXPECT_EQ(take(true), 0u);
  EXPECT_FALSE(in_file(0));
}

TEST_F(MemoryFileTest, WithOtherThreadsOnlyWhatIsNewAndUntouchedMoves) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) std::this_thread::yield();
  });
  EXPECT_EQ(take(false), 0u);
  at_[page_] = 1;
  EXPECT_EQ(take(true), 0u);
  EXPECT_EQ(file_.take(address(2), 10 * page_, kSlot, true), 10 * page_);
  stop = true;
  other.join();
}

TEST_F(MemoryFileTest, WithAQueueForIoOnlyWhatIsNewAndUntouchedMoves) {
  Disk disk; // an io_uring, as a program's own
  if (disk.start(8)) GTEST_SKIP() << "no io_uring";
  EXPECT_EQ(take(false), 0u);
  at_[page_] = 1;
  EXPECT_EQ(take(true), 0u);
  EXPECT_EQ(file_.take(address(2), 10 * page_, kSlot, true), 10 * page_);
  disk.stop();
  EXPECT_EQ(file_.take(address(12), 10 * page_, kSlot + 10, false), 10 * page_);
}

TEST_F(MemoryFileTest, ACopyIsTheChilds) {
  FileRegions regions;
  memset(at_, 'a', kPages * page_);
  ASSERT_EQ(take(false), kPages * page_);
  ASSERT_TRUE(regions.start() && regions.insert(region_));
  ASSERT_EQ(mprotect(at_ + 7 * page_, page_, PROT_READ), 0);
  ASSERT_EQ(file_.copy(regions), 0);
  memset(at_, 'b', page_);                // after the copy
  ASSERT_EQ(file_.take_over(regions), 0); // as the child would
  EXPECT_EQ(at_[0], 'a');
  EXPECT_EQ(at_[(kPages - 1) * page_], 'a');
  os::Mapping m[8];
  ASSERT_EQ(os::mappings(address(0), address(kPages), m, 8), 3u);
  EXPECT_EQ(m[1].begin, address(7));
  EXPECT_EQ(m[1].protection, PROT_READ);
  EXPECT_EQ(m[2].protection, PROT_READ | PROT_WRITE);
}

} // namespace
