// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room in real files, asked for through a real ring.
#include "runtime/store/local_store.h"
#include "runtime/store/preallocation.h"

#include <gtest/gtest.h>
#include <memory>
#include <sys/stat.h>

using namespace pagecast;

namespace {

constexpr uint64_t kExtent = Room::kExtent, kEnd = 64 * kExtent;

class PreallocationTest : public testing::Test {
protected:
  void SetUp() override {
    char why[400];
    store_.start(disk_, "/var/tmp");
    Store *const stores[] = {&store_};
    if (fork_files_->start(stores, 1, 0, why, sizeof why)) GTEST_SKIP() << why;
    if (disk_.start(8)) GTEST_SKIP() << "no io_uring";
    disk_errors_.start("/var/tmp", &counts_);
    preallocation_.start(*fork_files_, disk_errors_);
  }
  void TearDown() override { disk_.stop(); }

  /// As a write to the extent's first page would.
  bool have_room(uint64_t extent, uint64_t end = kEnd) { return preallocation_.have_room(0, extent * kExtent, 4096, end); }
  void settle() {
    while (preallocation_.busy()) {
      Disk::Completion done;
      disk_.submit();
      disk_.wait(1000000);
      if (disk_.completions(&done, 1)) preallocation_.done(done.result);
    }
  }
  /// How many extents are reserved from the first one on.
  uint64_t reserved() const {
    uint64_t n = 0;
    while (fork_files_->room(0).has_extent(n)) ++n;
    return n;
  }

  std::unique_ptr<ForkFiles> fork_files_ = std::make_unique<ForkFiles>();
  Disk disk_;
  LocalStore store_;
  DiskErrorCounts counts_;
  DiskErrors disk_errors_;
  Preallocation preallocation_;
};

TEST_F(PreallocationTest, WhatIsNeededComesWithTheDisksAnswer) {
  EXPECT_FALSE(have_room(5));
  EXPECT_TRUE(preallocation_.busy());
  EXPECT_FALSE(have_room(5));
  settle();
  EXPECT_TRUE(have_room(5));
  EXPECT_FALSE(preallocation_.busy()) << "one extent alone foretells nothing";
  EXPECT_FALSE(fork_files_->room(0).has_extent(6));
  struct stat file;
  ASSERT_EQ(fstat(store_.fd(0), &file), 0);
  EXPECT_GE(static_cast<uint64_t>(file.st_blocks) * 512, kExtent);
}

TEST_F(PreallocationTest, AWriteAcrossTwoExtentsWaitsForBoth) {
  EXPECT_FALSE(preallocation_.have_room(0, 2 * kExtent - 4096, 8192, kEnd));
  settle();
  EXPECT_TRUE(preallocation_.have_room(0, 2 * kExtent - 4096, 8192, kEnd));
}

TEST_F(PreallocationTest, WritesInOrderFindRoomAheadOfThem) {
  unsigned waits = 0;
  for (uint64_t e = 0; e < 48; ++e) {
    const bool at_once = have_room(e);
    waits += !at_once;
    settle();
    EXPECT_TRUE(have_room(e)) << e;
    settle();
    EXPECT_LE(reserved(), e + 1 + 12) << e;
  }
  EXPECT_EQ(waits, 2u);
  EXPECT_GE(reserved(), 52u);
}

TEST_F(PreallocationTest, NothingIsReservedBeyondTheEnd) {
  const uint64_t end = 20 * kExtent - 4096;
  for (uint64_t e = 0; e < 20; ++e) {
    for (unsigned attempt = 0; attempt < 2 && !have_room(e, end); ++attempt) settle();
    settle();
  }
  EXPECT_EQ(reserved(), 20u);
}

TEST_F(PreallocationTest, AFailureAheadIsNoErrorAndOfWhatIsNeededItIs) {
  for (uint64_t e = 0; e < 2; ++e) have_room(e), settle();
  ASSERT_TRUE(have_room(1));
  ASSERT_TRUE(preallocation_.busy());
  preallocation_.done(-ENOSPC); // before the disk says otherwise
  EXPECT_TRUE(preallocation_.busy()) << "what it got is given back";
  EXPECT_EQ(counts_.no_room, 0u);
  Disk::Completion done[2];
  disk_.submit();
  for (unsigned n = 0; n < 2;) {
    disk_.wait(1000000);
    n += disk_.completions(done, 2);
  }
  preallocation_.done(0);
  EXPECT_FALSE(fork_files_->room(0).has_extent(2));
  EXPECT_TRUE(have_room(1));
  EXPECT_FALSE(preallocation_.busy()) << "not again so soon";

  testing::internal::CaptureStderr();
  EXPECT_FALSE(have_room(2));
  preallocation_.done(-ENOSPC);
  EXPECT_EQ(counts_.no_room, 1u);
  EXPECT_FALSE(have_room(2));
  EXPECT_FALSE(preallocation_.busy()) << "it waits before it asks again";
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no room left"), std::string::npos);
}

TEST_F(PreallocationTest, WithoutReservationTheWriteItselfWillTell) {
  EXPECT_FALSE(have_room(3));
  preallocation_.done(-EOPNOTSUPP);
  EXPECT_TRUE(have_room(3));
  EXPECT_EQ(counts_.no_room, 0u);
}

TEST_F(PreallocationTest, AKernelThatDoesNotTakeSuchRequestsIsAskedDirectly) {
  EXPECT_FALSE(have_room(3));
  preallocation_.done(-EINVAL);
  EXPECT_TRUE(have_room(7));
  EXPECT_FALSE(preallocation_.busy());
}

} // namespace
