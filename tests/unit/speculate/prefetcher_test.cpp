// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The prefetcher on files of the test's own. What is asserted is counts; the page cache is the machine's.
#include "speculate/tip/prefetcher.h"

#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace pagecast::speculate::test {
namespace {

/// Workers cannot be stopped: one prefetcher for each test, for the life of the process.
Prefetcher &fresh() {
  static std::vector<uint32_t> fingerprints(HintLog::kFingerprints);
  HintLog &log = *new HintLog;
  log.attach(fingerprints.data(), HintLog::kFingerprints);
  Prefetcher &made = *new Prefetcher;
  EXPECT_TRUE(made.start(&log));
  return made;
}

struct PrefetcherTest : ::testing::Test {
  PrefetcherTest() : prefetcher(fresh()) {
    char name[] = "/var/tmp/pagecast-prefetcher-XXXXXX";
    directory = mkdtemp(name);
  }
  ~PrefetcherTest() override { EXPECT_EQ(system(("rm -rf " + directory).c_str()), 0); }

  /// A file that is not in memory.
  std::string cold_file(const std::string &name, size_t bytes) {
    const std::string path = directory + "/" + name;
    const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
    const std::string data(bytes, 'x');
    EXPECT_EQ(write(file, data.data(), bytes), static_cast<ssize_t>(bytes));
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    struct stat facts;
    fstat(file, &facts);
    inode = facts.st_ino;
    close(file);
    return path;
  }
  Hint hint(HintKind kind, const std::string &path, uint64_t offset = 0, uint64_t length = 0, uint32_t copy = 1) const {
    Hint made = {};
    made.kind = kind;
    made.copy = copy;
    made.inode = inode;
    made.offset = offset;
    made.length = length;
    snprintf(made.path, sizeof made.path, "%s", path.c_str());
    return made;
  }
  PrefetchCounts settled() {
    for (int i = 0; i < 10000 && prefetcher.queued(); i++) usleep(1000);
    EXPECT_EQ(prefetcher.queued(), 0u);
    return prefetcher.counts();
  }

  Prefetcher &prefetcher;
  std::string directory;
  uint64_t inode = 0;
};

TEST_F(PrefetcherTest, ReadsWhatIsNotInMemoryAndOnlyThat) {
  const std::string path = cold_file("a", 300000);
  prefetcher.give(hint(HintKind::kRange, path, 0, 300000));
  const PrefetchCounts first = settled();
  EXPECT_EQ(first.done, 1u);
  EXPECT_EQ(first.bytes, 300000u);
  prefetcher.give(hint(HintKind::kRange, path, 0, 300000));
  const PrefetchCounts second = settled();
  EXPECT_EQ(second.done, 1u);
  EXPECT_EQ(second.in_memory, 1u);
}

TEST_F(PrefetcherTest, OnlyRegularFilesAreOpened) {
  const std::string fifo = directory + "/fifo", link = directory + "/link";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", link.c_str()), 0);
  prefetcher.give(hint(HintKind::kOpen, fifo));
  prefetcher.give(hint(HintKind::kOpen, link));
  prefetcher.give(hint(HintKind::kOpen, "/dev/zero"));
  prefetcher.give(hint(HintKind::kOpen, directory + "/none"));
  const PrefetchCounts counts = settled();
  EXPECT_EQ(counts.failed, 4u);
  EXPECT_EQ(counts.done, 0u);
}

TEST_F(PrefetcherTest, WhatACopyLeftIsDroppedAndWhatTheNextGivesIsNot) {
  const std::string path = cold_file("a", 1 << 20);
  prefetcher.set_lead(0); // nothing goes on: it stays in the queue
  prefetcher.give(hint(HintKind::kRange, path, 0, 4096));
  settled();
  for (int i = 1; i < 100; i++) prefetcher.give(hint(HintKind::kRange, path, i * 8192, 4096));
  prefetcher.cancel(1);
  prefetcher.set_lead(1 << 30);
  prefetcher.give(hint(HintKind::kRange, path, 900000, 4096, 2));
  const PrefetchCounts counts = settled();
  EXPECT_EQ(counts.cancelled, 99u);
  EXPECT_EQ(counts.done + counts.in_memory, 2u);
}

TEST_F(PrefetcherTest, WhatTheProgramHasPassedIsDropped) {
  const std::string path = cold_file("a", 1 << 20);
  prefetcher.set_lead(0);
  prefetcher.give(hint(HintKind::kRange, path, 0, 4096));
  settled();
  for (int i = 1; i <= 50; i++) prefetcher.give(hint(HintKind::kRange, path, i * 16384, 4096));
  prefetcher.passed(inode, 30 * 16384, nullptr);
  prefetcher.set_lead(1 << 30);
  EXPECT_EQ(settled().late, 29u);
}

TEST_F(PrefetcherTest, NamesAreNotPassedByWhatACopyHintsOfAnEarlierFile) {
  constexpr uint32_t kCommandLine = 0, kCopy = 1;
  prefetcher.set_lead(0);
  const std::string first = cold_file("first", 8192);
  const uint64_t inode_of_first = inode;
  prefetcher.give(hint(HintKind::kRange, first, 0, 4096, kCopy));
  settled();
  for (int i = 0; i < 5; i++)
    prefetcher.give(hint(HintKind::kAny, cold_file("named" + std::to_string(i), 4096), 0, 0, kCommandLine));
  inode = inode_of_first;
  prefetcher.give(hint(HintKind::kRange, first, 0, 4096, kCopy));
  prefetcher.give(hint(HintKind::kRange, first, 4096, 4096, kCopy));
  prefetcher.passed(inode_of_first, 4096, nullptr);
  prefetcher.set_lead(1 << 30);
  const PrefetchCounts counts = settled();
  EXPECT_EQ(counts.late, 1u);
  EXPECT_EQ(counts.done + counts.in_memory, 1u + 5u + 1u);
}

TEST_F(PrefetcherTest, AMuchLaterHintOfTheSamePlaceIsNotTakenForThisOne) {
  const std::string path = cold_file("a", 1 << 20);
  prefetcher.set_lead(0);
  prefetcher.give(hint(HintKind::kRange, path, 0, 4096));
  settled();
  for (int i = 0; i < 300; i++) prefetcher.give(hint(HintKind::kRange, path, 16384 + (i % 2) * 16384, 4096));
  prefetcher.give(hint(HintKind::kRange, path, 0, 4096)); // the program waits for the first one
  prefetcher.passed(inode, 0, nullptr);
  prefetcher.set_lead(1 << 30);
  EXPECT_EQ(settled().late, 0u);
}

TEST_F(PrefetcherTest, WhatACopyHasBegunToReadIsNotTakenForSomethingInMemory) {
  const std::string path = cold_file("a", 8192);
  prefetcher.give(hint(HintKind::kRange, path, 0, 8192));
  EXPECT_EQ(settled().done, 1u);
  Hint begun = hint(HintKind::kRange, path, 0, 8192);
  begun.begun = 1;
  prefetcher.give(begun);
  const PrefetchCounts counts = settled();
  EXPECT_EQ(counts.begun, 1u);
  EXPECT_EQ(counts.in_memory, 0u);
  EXPECT_EQ(counts.bytes, 2u * 8192);
}

TEST_F(PrefetcherTest, DroppedHintsAreNotCarriedOut) {
  const std::string path = cold_file("a", 1 << 20);
  prefetcher.set_lead(0);
  prefetcher.give(hint(HintKind::kRange, path, 0, 4096));
  settled();
  for (int i = 1; i < 100; i++) prefetcher.give(hint(HintKind::kRange, path, i * 8192, 4096));
  EXPECT_EQ(prefetcher.drop_queued(1), 99u);
  EXPECT_EQ(settled().cancelled, 99u);
}

TEST_F(PrefetcherTest, TheProcessesOwnReadsMakeRoom) {
  const std::string path = cold_file("a", 1 << 20);
  static uint64_t read_so_far; // as the process's reads and those of the workers add up
  Prefetcher &paced = *new Prefetcher;
  static std::vector<uint32_t> fingerprints(HintLog::kFingerprints);
  HintLog &log = *new HintLog;
  log.attach(fingerprints.data(), HintLog::kFingerprints);
  paced.set_lead(0);
  paced.set_progress([] { return read_so_far; });
  EXPECT_TRUE(paced.start(&log));
  paced.give(hint(HintKind::kRange, path, 0, 4096));
  for (int i = 0; i < 10000 && paced.queued(); i++) usleep(1000);
  paced.give(hint(HintKind::kRange, path, 65536, 4096));
  usleep(20000);
  EXPECT_EQ(paced.queued(), 1u) << "nothing has been read of what was prefetched";
  read_so_far = 2 * 4096;
  for (int i = 0; i < 10000 && paced.queued(); i++) usleep(1000);
  EXPECT_EQ(paced.counts().done, 2u);
}

TEST_F(PrefetcherTest, SmallPartsOfPagesTakeWholePagesOfTheLead) {
  const std::string path = cold_file("a", 1 << 20);
  prefetcher.set_lead(16 * 4096);
  for (int i = 0; i < 64; i++) prefetcher.give(hint(HintKind::kRange, path, i * 16384, 16));
  for (int i = 0; i < 1000 && prefetcher.counts().done < 17; i++) usleep(1000);
  usleep(20000);
  const uint64_t done = prefetcher.counts().done;
  EXPECT_GE(done, 17u);
  EXPECT_LE(done, 17u + Prefetcher::kWorkers);
  EXPECT_EQ(prefetcher.lead_as_read(), 16u * 16);
  for (int i = 0; i < 1000 && prefetcher.queued(); i++) {
    prefetcher.consumed(64 * 16); // no more than has been prefetched
    usleep(1000);
  }
  EXPECT_EQ(settled().done, 64u);
}

TEST_F(PrefetcherTest, ANameOfAnyKindIsAFileOrADirectory) {
  const std::string path = cold_file("a", 5000);
  prefetcher.give(hint(HintKind::kAny, path));
  prefetcher.give(hint(HintKind::kAny, directory));
  prefetcher.give(hint(HintKind::kAny, directory + "/none"));
  const PrefetchCounts counts = settled();
  EXPECT_EQ(counts.done, 2u);
  EXPECT_EQ(counts.bytes, 5000u);
  EXPECT_EQ(counts.failed, 1u);
}

TEST_F(PrefetcherTest, HintsThatFollowEachOtherAreJoined) {
  const std::string path = cold_file("a", 1 << 20);
  prefetcher.set_lead(0);
  prefetcher.give(hint(HintKind::kRange, path, 512 << 10, 4096));
  settled();
  for (int i = 0; i < 32; i++) prefetcher.give(hint(HintKind::kRange, path, i * 4096, 4096));
  prefetcher.set_lead(1 << 30);
  const PrefetchCounts counts = settled();
  EXPECT_EQ(counts.joined, 31u);
  EXPECT_EQ(counts.requests, 2u);
}

TEST_F(PrefetcherTest, TheQueueSaysWhenItIsFull) {
  const std::string path = cold_file("a", 8192);
  prefetcher.set_lead(0);
  prefetcher.give(hint(HintKind::kRange, path, 0, 4096));
  settled();
  unsigned taken = 0;
  while (prefetcher.give(hint(HintKind::kStat, path))) taken++;
  EXPECT_EQ(taken, Prefetcher::kQueue);
  prefetcher.cancel(1);
  settled();
}

} // namespace
} // namespace pagecast::speculate::test
