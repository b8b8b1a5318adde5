// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/disk_errors.h"

#include <cerrno>
#include <gtest/gtest.h>

using namespace pagecast;

namespace {

constexpr uint64_t kSecond = 1000000000;

class DiskErrorsTest : public testing::Test {
protected:
  DiskErrorsTest() { disk_errors_.start("/disk", &counts_); }
  /// What is said while `what` happens.
  template <typename What> std::string said(What what) {
    testing::internal::CaptureStderr();
    what();
    return testing::internal::GetCapturedStderr();
  }
  DiskErrors disk_errors_;
  DiskErrorCounts counts_;
};

} // namespace

TEST_F(DiskErrorsTest, LackOfRoomIsSaidOnceAndItsEndToo) {
  const std::string first = said([&] { disk_errors_.no_room(-ENOSPC, 10 * kSecond); });
  EXPECT_NE(first.find("/disk"), std::string::npos);
  EXPECT_NE(first.find("with --backing or PAGECAST_BACKING"), std::string::npos);
  EXPECT_FALSE(disk_errors_.may_reserve(10 * kSecond + DiskErrors::kRetry - 1));
  EXPECT_TRUE(disk_errors_.may_reserve(10 * kSecond + DiskErrors::kRetry));
  EXPECT_EQ(said([&] { disk_errors_.no_room(-ENOSPC, 11 * kSecond); }), "");
  EXPECT_TRUE(disk_errors_.writes_refused());
  EXPECT_NE(said([&] { disk_errors_.space_again(30 * kSecond); }).find("after 20 s"), std::string::npos);
  EXPECT_FALSE(disk_errors_.writes_refused());
  EXPECT_EQ(said([&] { disk_errors_.space_again(31 * kSecond); }), "");
  EXPECT_EQ(counts_.no_room, 2u);
  EXPECT_EQ(counts_.full_ns, 20 * kSecond);
}

TEST_F(DiskErrorsTest, AnEpisodeThatGoesOnIsCountedAsItDoes) {
  said([&] { disk_errors_.no_room(-ENOSPC, 10 * kSecond); });
  disk_errors_.watch(0, 12 * kSecond);
  EXPECT_EQ(counts_.full_ns, 2 * kSecond);
  disk_errors_.no_room(-ENOSPC, 15 * kSecond);
  EXPECT_EQ(counts_.full_ns, 5 * kSecond);
  disk_errors_.watch(0, 14 * kSecond); // its turn began before that
  EXPECT_EQ(counts_.full_ns, 5 * kSecond);
  said([&] { disk_errors_.space_again(16 * kSecond); });
  disk_errors_.watch(0, 20 * kSecond);
  EXPECT_EQ(counts_.full_ns, 6 * kSecond);
}

TEST_F(DiskErrorsTest, WhereTheWriteItselfFindsNoRoomThatLastsUntilOneSucceeds) {
  said([&] { disk_errors_.write_failed(-ENOSPC, 10 * kSecond); });
  disk_errors_.watch(0, 11 * kSecond);
  EXPECT_EQ(counts_.full_ns, kSecond);
  said([&] { disk_errors_.wrote(12 * kSecond, 13 * kSecond); });
  EXPECT_EQ(counts_.full_ns, 3 * kSecond);
  said([&] { disk_errors_.write_failed(-EIO, 20 * kSecond); });
  disk_errors_.watch(0, 25 * kSecond);
  EXPECT_EQ(counts_.full_ns, 3 * kSecond) << "a disk that fails is not a full one";
}

TEST_F(DiskErrorsTest, ALimitOnFilesIsNotAFullDisk) {
  EXPECT_NE(said([&] { disk_errors_.no_room(-EFBIG, kSecond); }).find("ulimit"), std::string::npos);
}

TEST_F(DiskErrorsTest, OnlyAWriteStartedAfterAFailureEndsIt) {
  EXPECT_NE(said([&] { disk_errors_.write_failed(-EIO, 10 * kSecond); }).find("Input/output error"), std::string::npos);
  disk_errors_.wrote(9 * kSecond, 11 * kSecond);
  EXPECT_TRUE(disk_errors_.writes_refused());
  EXPECT_FALSE(disk_errors_.may_write(10 * kSecond));
  disk_errors_.wrote(11 * kSecond, 12 * kSecond);
  EXPECT_FALSE(disk_errors_.writes_refused());
  EXPECT_EQ(said([&] { disk_errors_.write_failed(-EIO, 13 * kSecond); }), "")
      << "failures that come and go are not said each time";
  EXPECT_NE(said([&] { disk_errors_.write_failed(0, 21 * kSecond); }), "");
  EXPECT_EQ(counts_.write_errors, 3u);
  disk_errors_.write_failed(-ENOSPC, 22 * kSecond);
  EXPECT_EQ(counts_.no_room, 1u);
}

TEST_F(DiskErrorsTest, TheFirstLossIsAlwaysSaid) {
  EXPECT_NE(said([&] { disk_errors_.read_failed(-EIO, 0, kSecond); }).find("is read again"), std::string::npos);
  EXPECT_NE(said([&] { disk_errors_.read_failed(-EIO, 1, kSecond + 1); }).find("SIGBUS"), std::string::npos);
  EXPECT_EQ(said([&] { disk_errors_.read_failed(-EIO, 1, kSecond + 2); }), "");
  EXPECT_NE(said([&] { disk_errors_.read_failed(100, 1, 12 * kSecond); }).find("pages lost so far: 3"), std::string::npos);
  EXPECT_EQ(counts_.read_errors, 4u);
  EXPECT_EQ(counts_.lost_pages, 3u);
}

TEST_F(DiskErrorsTest, AStallBeginsAndEndsOnce) {
  EXPECT_EQ(said([&] { disk_errors_.watch(0, 100 * kSecond); }), "");
  EXPECT_EQ(said([&] { disk_errors_.watch(10 * kSecond, 10 * kSecond + DiskErrors::kStall - 1); }), "");
  EXPECT_EQ(said([&] { disk_errors_.watch(10 * kSecond + 1, 10 * kSecond); }), "") << "started since";
  EXPECT_NE(
      said([&] { disk_errors_.watch(10 * kSecond, 10 * kSecond + DiskErrors::kStall); }).find("/disk has not answered for 5 s"),
      std::string::npos);
  EXPECT_EQ(said([&] { disk_errors_.watch(10 * kSecond, 20 * kSecond); }), "");
  EXPECT_TRUE(disk_errors_.stalled());
  EXPECT_NE(said([&] { disk_errors_.watch(0, 22 * kSecond); }).find("after 12 s"), std::string::npos);
  EXPECT_FALSE(disk_errors_.stalled());
  EXPECT_EQ(counts_.stalls, 1u);
  EXPECT_EQ(counts_.longest_io_ns, 10 * kSecond);
}

TEST_F(DiskErrorsTest, WhatIsGivenUpIsNoAnswer) {
  disk_errors_.read_failed(-EIO, 0, 5 * kSecond); // before
  EXPECT_NE(said([&] { disk_errors_.watch(10 * kSecond, 16 * kSecond); }), "");
  said([&] { disk_errors_.write_failed(-ENOTCONN, 17 * kSecond); });
  EXPECT_EQ(said([&] { disk_errors_.watch(0, 18 * kSecond); }), "");
  EXPECT_FALSE(disk_errors_.stalled());
  EXPECT_NE(said([&] { disk_errors_.watch(20 * kSecond, 26 * kSecond); }), "");
  EXPECT_NE(said([&] { disk_errors_.watch(0, 27 * kSecond); }).find("answers again"), std::string::npos) << "the next one";
}

TEST_F(DiskErrorsTest, WaitingForRoomIsSaidAsThat) {
  EXPECT_NE(said([&] { disk_errors_.watch(10 * kSecond, 16 * kSecond, true); }).find("for 6 s when asked for room"),
            std::string::npos);
  EXPECT_NE(said([&] { disk_errors_.watch(0, 18 * kSecond); }).find("answers again"), std::string::npos);
}
