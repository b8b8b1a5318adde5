// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints by hand, through the library as programs have it.
#include "pagecast/hints.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

struct HintsTest : ::testing::Test {
  HintsTest() {
    char name[] = "/var/tmp/pagecast-hints-XXXXXX";
    directory = mkdtemp(name);
  }
  ~HintsTest() override { EXPECT_EQ(system(("rm -rf " + directory).c_str()), 0); }

  /// Opened, and not in memory.
  int cold_file(const std::string &name, size_t bytes) {
    const int file = open((directory + "/" + name).c_str(), O_RDWR | O_CREAT, 0600);
    const std::string data(bytes, 'x');
    EXPECT_EQ(write(file, data.data(), bytes), static_cast<ssize_t>(bytes));
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    return file;
  }
  static bool is_in_memory(int file, off_t offset) {
    char byte;
    iovec one = {&byte, 1};
    return preadv2(file, &one, 1, offset, RWF_NOWAIT) == 1;
  }
  static void settle() {
    for (int i = 0; i < 10000 && pagecast_hint_queued(); i++) usleep(1000);
    EXPECT_EQ(pagecast_hint_queued(), 0);
  }

  std::string directory;
};

TEST_F(HintsTest, PartsOfAFileAreReadAndNoOthers) {
  const int file = cold_file("a", 4 << 20);
  const pagecast_range ranges[] = {{0, 4096}, {2 << 20, 8192}, {3 << 20, 0}};
  EXPECT_EQ(pagecast_hint_file(file, ranges, 3), 3);
  settle();
  EXPECT_TRUE(is_in_memory(file, 0));
  EXPECT_TRUE(is_in_memory(file, (2 << 20) + 4096));
  EXPECT_FALSE(is_in_memory(file, 1 << 20));
  close(file);
}

TEST_F(HintsTest, ALongRangeIsReadInPieces) {
  const int file = cold_file("a", 4 << 20);
  const pagecast_range all = {0, 4 << 20};
  EXPECT_EQ(pagecast_hint_file(file, &all, 1), 1);
  settle();
  for (off_t at = 0; at < 4 << 20; at += 256 << 10) EXPECT_TRUE(is_in_memory(file, at)) << at;
  close(file);
}

TEST_F(HintsTest, NamesOfFilesAndDirectories) {
  const int file = cold_file("a", 20000);
  EXPECT_EQ(pagecast_hint_path((directory + "/a").c_str()), 1);
  EXPECT_EQ(pagecast_hint_path(directory.c_str()), 1);
  EXPECT_EQ(pagecast_hint_path("/no/such/file"), 1) << "it is not looked at";
  settle();
  EXPECT_TRUE(is_in_memory(file, 0));
  EXPECT_TRUE(is_in_memory(file, 16384));
  close(file);
}

TEST_F(HintsTest, Failures) {
  const pagecast_range one = {0, 4096};
  EXPECT_EQ(pagecast_hint_file(-1, &one, 1), -EBADF);
  const int folder = open(directory.c_str(), O_RDONLY);
  EXPECT_EQ(pagecast_hint_file(folder, &one, 1), -EINVAL);
  close(folder);
  const int file = cold_file("a", 4096);
  unlink((directory + "/a").c_str());
  EXPECT_EQ(pagecast_hint_file(file, &one, 1), -ESTALE);
  close(file);
  EXPECT_EQ(pagecast_hint_path(""), -EINVAL);
  EXPECT_EQ(pagecast_hint_path(nullptr), -EINVAL);
  EXPECT_EQ(pagecast_hint_path(std::string(600, 'x').c_str()), -ENAMETOOLONG);
}

TEST_F(HintsTest, TheQueueIsBoundedAndCancelEmptiesIt) {
  const int file = cold_file("a", 64 << 20);
  std::vector<pagecast_range> ranges;
  for (uint64_t i = 0; i < 16384; i++) ranges.push_back({i * 4099 % 16384 * 4096, 4096});
  const int taken = pagecast_hint_file(file, ranges.data(), ranges.size());
  EXPECT_GE(taken, 4096);
  const int dropped = pagecast_hint_cancel();
  EXPECT_LE(pagecast_hint_queued(), 32) << "what is under way";
  EXPECT_GE(dropped, 1);
  EXPECT_LE(dropped, 4096);
  settle();
  EXPECT_EQ(pagecast_hint_cancel(), 0);
  EXPECT_EQ(pagecast_hint_file(file, ranges.data(), 1), 1) << "hints after a cancel are taken";
  settle();
  close(file);
}

TEST_F(HintsTest, AChildBeginsWithoutHintsAndMayGiveItsOwn) {
  const int file = cold_file("a", 1 << 20);
  const pagecast_range one = {0, 4096}, other = {512 << 10, 4096};
  EXPECT_EQ(pagecast_hint_file(file, &one, 1), 1);
  const pid_t child = fork();
  if (child == 0) {
    if (pagecast_hint_queued() != 0 || pagecast_hint_file(file, &other, 1) != 1) _exit(1);
    for (int i = 0; i < 10000 && pagecast_hint_queued(); i++) usleep(1000);
    _exit(is_in_memory(file, 512 << 10) ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(file);
}

} // namespace
