// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/local_store.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace pagecast;

namespace {
std::string why_not(const char *directory, uint64_t need, int *error) {
  Backing b;
  char why[400] = "";
  *error = b.start(directory, need, why, sizeof why);
  b.stop();
  return why;
}
} // namespace

TEST(Backing, SaysWhyItCannotBe) {
  int error;
  EXPECT_NE(why_not("/nonexistent/place", 0, &error).find("/nonexistent/place"), std::string::npos);
  EXPECT_EQ(error, -ENOENT);
  EXPECT_NE(why_not("/etc/passwd", 0, &error).find("not a directory"), std::string::npos);
  EXPECT_EQ(error, -ENOTDIR);
  EXPECT_NE(why_not("/var/tmp", ~0ull >> 1, &error).find("free"), std::string::npos);
  EXPECT_EQ(error, -ENOSPC);
  if (!access("/dev/shm", W_OK)) { EXPECT_NE(why_not("/dev/shm", 0, &error).find("in memory"), std::string::npos); }
}

TEST(Backing, LeavesNoName) {
  const auto directory = std::filesystem::temp_directory_path() / ("backing-test-" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  Backing b;
  char why[400] = "";
  const int error = b.start(directory.c_str(), 0, why, sizeof why);
  const bool empty = std::filesystem::is_empty(directory);
  const int reserved = error ? 0 : b.reserve(100 << 20, 1 << 20);
  b.stop();
  std::filesystem::remove_all(directory);
  if (error == -EINVAL) GTEST_SKIP() << "the temporary directory cannot hold it: " << why;
  EXPECT_EQ(error, 0) << why;
  EXPECT_EQ(reserved, 0);
  EXPECT_TRUE(empty);
}
