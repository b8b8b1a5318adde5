// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is read in order goes from the page cache behind the reader, and nothing else does.
#include "runtime/files/read_files.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace pagecast;

namespace {

constexpr uint64_t kBytes = 8u << 20, kMillisecond = 1000000;

/// A file on a disk, all of it written, cached and clean.
class ReadFilesTest : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/var/tmp/pagecast-test-XXXXXX";
    writer_ = mkstemp(name);
    ASSERT_GE(writer_, 0);
    name_ = name;
    const std::vector<char> data(kBytes, 'a');
    ASSERT_EQ(write(writer_, data.data(), kBytes), static_cast<ssize_t>(kBytes));
    ASSERT_EQ(fsync(writer_), 0);
    if (os::file_facts(writer_).why_not) GTEST_SKIP() << "/var/tmp is not on a disk";
    memory_ = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, writer_, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    open_reader(O_RDONLY);
    files_.look(now_);
  }
  void TearDown() override {
    if (memory_) munmap(memory_, kBytes);
    for (const int fd : {writer_, reader_})
      if (fd >= 0) close(fd);
    unlink(name_.c_str());
  }
  void open_reader(int flags) {
    if (reader_ >= 0) close_reader();
    reader_ = open(name_.c_str(), flags);
    ASSERT_GE(reader_, 0);
  }
  void close_reader() {
    close(reader_);
    reader_ = -1;
  }
  void read_on(uint64_t bytes) {
    std::vector<char> data(bytes);
    ASSERT_EQ(read(reader_, data.data(), bytes), static_cast<ssize_t>(bytes));
  }
  /// Some time later.
  uint64_t look() { return files_.look(now_ += 50 * kMillisecond); }
  /// MiB of [begin, end) MiB that are in the page cache, rounded up.
  uint64_t cached(uint64_t begin, uint64_t end) const {
    const uint64_t pages = ((end - begin) << 20) / os::page_size();
    std::vector<uint8_t> there(pages);
    EXPECT_EQ(os::in_core(reinterpret_cast<uint64_t>(memory_) + (begin << 20), pages, there.data()), 0);
    uint64_t n = 0;
    for (const uint8_t page : there) n += page;
    return (n * os::page_size() + (1u << 20) - 1) >> 20;
  }

  int writer_ = -1, reader_ = -1;
  std::string name_;
  void *memory_ = nullptr;
  ReadFiles files_;
  uint64_t now_ = 1000 * kMillisecond;
};

} // namespace

TEST_F(ReadFilesTest, GoBehindTheReader) {
  ASSERT_EQ(cached(0, 8), 8u);
  read_on(4u << 20);
  const uint64_t soon = look();
  EXPECT_EQ(files_.given_up_bytes(), 4u << 20);
  EXPECT_EQ(cached(0, 4), 0u);
  EXPECT_EQ(cached(4, 8), 4u) << "what it has not come to stays";
  read_on(2u << 20);
  look();
  EXPECT_EQ(cached(0, 6), 0u);
  EXPECT_EQ(cached(6, 8), 2u);
  for (unsigned i = 0; i < 4; ++i) look();
  EXPECT_GT(look(), soon) << "looks are rare again while nobody reads";
}

TEST_F(ReadFilesTest, GoAltogetherWhenTheyAreClosed) {
  read_on(6u << 20);
  look();
  ASSERT_EQ(cached(6, 8), 2u);
  read_on(2u << 20); // not seen before the end
  close_reader();
  look();
  EXPECT_EQ(cached(0, 8), 0u);
}

TEST_F(ReadFilesTest, StayWhenMostOfThemWasNotRead) {
  read_on(2u << 20);
  look();
  close_reader();
  look();
  EXPECT_EQ(cached(2, 8), 6u);
}

TEST_F(ReadFilesTest, StayWhenTheyAreReadMoreThanOnce) {
  read_on(2u << 20);
  look();
  EXPECT_EQ(cached(0, 2), 0u);
  ASSERT_EQ(lseek(reader_, 0, SEEK_SET), 0);
  look();
  read_on(8u << 20);
  look();
  EXPECT_EQ(cached(0, 8), 8u);
}

TEST_F(ReadFilesTest, StayWhenLittleWasRead) {
  read_on(512u << 10);
  look();
  EXPECT_EQ(cached(0, 8), 8u);
}

TEST_F(ReadFilesTest, StayWhenTheyMayBeWritten) {
  open_reader(O_RDWR);
  look();
  read_on(8u << 20);
  look();
  look();
  EXPECT_EQ(cached(0, 8), 8u);
  EXPECT_EQ(files_.given_up_bytes(), 0u);
}

TEST_F(ReadFilesTest, AreToldApartWhenANumberIsUsedAgain) {
  read_on(1u << 20);
  look();
  const uint64_t before = files_.given_up_bytes();
  char other[] = "/var/tmp/pagecast-test-XXXXXX";
  const int fd = mkstemp(other);
  ASSERT_GE(fd, 0);
  unlink(other);
  ASSERT_EQ(ftruncate(fd, kBytes), 0);
  close(reader_);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  reader_ = open(path.c_str(), O_RDONLY);
  ASSERT_GE(reader_, 0);
  read_on(6u << 20);
  look(); // sees the new file for the first time
  EXPECT_EQ(files_.given_up_bytes(), before);
  EXPECT_EQ(cached(1, 8), 7u);
  close(fd);
}
