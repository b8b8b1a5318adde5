// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advise back end with the real kernel and a real file.
#include "runtime/files/advise.h"

#include "runtime/state/open_nests.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace pagecast;

namespace {

constexpr uint64_t kPage = 4096, kPages = 2048;
Options options;
Statistics statistics;
core::ResidencyMap map;
PageTable places;
Advise advise;

/// A file on a disk, of which nothing is in memory, mapped.
class AdviseTest : public testing::Test {
protected:
  void SetUp() override {
    if (os::page_size() != kPage) GTEST_SKIP() << "for pages of 4 KiB";
    char name[] = "/var/tmp/pagecast-advise-XXXXXX";
    fd_ = mkstemp(name);
    ASSERT_GE(fd_, 0);
    unlink(name);
    const std::vector<char> some(kPages * kPage, 'x');
    ASSERT_EQ(write(fd_, some.data(), some.size()), static_cast<ssize_t>(some.size()));
    const os::FileFacts facts = os::file_facts(fd_);
    if (!facts.advisable) GTEST_SKIP() << "/var/tmp: " << facts.why_not;
    request_bytes_ = facts.request_bytes;
    fsync(fd_);
    posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    at_ = static_cast<char *>(mmap(nullptr, kPages * kPage, PROT_READ, MAP_SHARED, fd_, 0));
    ASSERT_NE(at_, MAP_FAILED);
    const uint64_t bits = core::ResidencyMap::bytes(1ull << 35);
    map.attach(static_cast<uint8_t *>(os::reserve(bits)), 12, 0, 1ull << 35);
    ASSERT_EQ(advise.start(options, map, places, statistics, 16u << 20), 0);
  }
  void TearDown() override {
    if (at_) munmap(at_, kPages * kPage);
    close(fd_);
  }
  uint64_t address(uint64_t page) const { return reinterpret_cast<uint64_t>(at_) + page * kPage; }
  core::Extent extent(uint64_t page, uint64_t pages) const { return {address(page), address(page + pages)}; }
  bool in_core(uint64_t page) const {
    uint8_t there = 0;
    return os::in_core(address(page), 1, &there) == 0 && there;
  }
  void wait_for(uint64_t page) const {
    for (unsigned i = 0; i < 5000 && !in_core(page); ++i) usleep(1000);
  }
  bool add() { return advise.add(address(0), kPages * kPage, {request_bytes_, true}); }

  int fd_ = -1;
  uint32_t request_bytes_ = 0;
  char *at_ = nullptr;
};

TEST_F(AdviseTest, OfAnOpaqueFileNothingIsTakenForPresent) {
  ASSERT_EQ(os::expect_scattered(address(0), kPages * kPage, true), 0);
  for (uint64_t p = 100; p < 200; ++p) ASSERT_EQ(at_[p * kPage], 'x');
  ASSERT_TRUE(advise.add(address(0), kPages * kPage, {request_bytes_, true, true}));
  EXPECT_EQ(map.count(extent(0, kPages)), 0u);
  advise.remove(address(0), address(kPages));
}

TEST_F(AdviseTest, WhatIsInMemoryIsKnownFromTheStart) {
  ASSERT_EQ(os::expect_scattered(address(0), kPages * kPage, true), 0); // no page is read but these
  for (uint64_t p = 100; p < 200; ++p) ASSERT_EQ(at_[p * kPage], 'x');
  ASSERT_TRUE(add());
  EXPECT_EQ(map.count(extent(0, kPages)), 100u);
  EXPECT_EQ(statistics.files.resident_at_start.load(), 100u);
  EXPECT_TRUE(map.next_absent(extent(100, 100), ~0ull >> 1).empty());
}

TEST_F(AdviseTest, FetchReadsWithoutTouching) {
  ASSERT_TRUE(add());
  ASSERT_EQ(os::start_thread("adviser", [] { advise.run(); }), 0);
  ASSERT_TRUE(advise.fetch(extent(10, 1), {}));
  ASSERT_TRUE(advise.fetch(extent(500, 1400), {})); // several of the kernel's requests
  EXPECT_EQ(map.count(extent(0, kPages)), 1401u);
  for (const uint64_t p : {10u, 500u, 1200u, 1899u}) {
    wait_for(p);
    EXPECT_TRUE(in_core(p)) << p;
    EXPECT_FALSE(os::touched(address(p)));
  }
  EXPECT_FALSE(in_core(12)) << "no more than was asked for";
  EXPECT_EQ(statistics.files.hinted, 1401u);
  EXPECT_EQ(at_[10 * kPage], 'x');
  EXPECT_TRUE(os::touched(address(10)));
}

TEST_F(AdviseTest, WhatIsThereAlreadyIsNotAskedFor) {
  ASSERT_EQ(os::expect_scattered(address(0), kPages * kPage, true), 0);
  ASSERT_TRUE(add());
  for (uint64_t p = 100; p < 200; ++p) ASSERT_EQ(at_[p * kPage], 'x'); // and the map does not know
  ASSERT_EQ(os::start_thread("adviser", [] { advise.run(); }), 0);
  ASSERT_TRUE(advise.fetch(extent(110, 64), {}));
  ASSERT_TRUE(advise.fetch(extent(150, 100), {}));
  wait_for(249);
  EXPECT_TRUE(in_core(200) && in_core(249) && !in_core(250));
  EXPECT_EQ(statistics.files.calls, 1u);
}

TEST_F(AdviseTest, AReleaseLetsTheNextHintThroughAndKeepsContents) {
  options.release = ReleasePolicy::kAggressive;
  ASSERT_TRUE(add());
  ASSERT_TRUE(advise.fetch(extent(0, 64), {}));
  advise.release(extent(0, 32), 0, 0);
  EXPECT_EQ(map.count(extent(0, 64)), 32u);
  EXPECT_EQ(statistics.files.released, 32u);
  ASSERT_EQ(os::start_thread("adviser", [] { advise.run(); }), 0);
  for (uint64_t p = 0; p < 64; ++p) EXPECT_EQ(at_[p * kPage], 'x');
}

TEST_F(AdviseTest, SlicesDoNotRunFarAhead) {
  ASSERT_TRUE(add());
  nest_table[3].turn = 5;
  nest_table[3].ticket.step = 0;
  nest_table[3].state.store(OpenNest::kOpen);
  uint64_t p = 0;
  Advise::Asked asked{0, 3, 1, true};
  while (p < kPages / 2 && advise.fetch(extent(2 * p, 1), asked)) ++p; // nobody works them off
  EXPECT_TRUE(advise.waiting());
  EXPECT_EQ(p, 256u) << "an eighth of what is believed to stay: half of the budget to begin with";
  EXPECT_TRUE(advise.new_round());
  EXPECT_FALSE(advise.fetch(extent(2 * p, 1), asked));
  nest_table[3].ticket.step = 2; // the program is past the step that wanted them
  EXPECT_TRUE(advise.fetch(extent(2 * p, 1), asked));
}

TEST_F(AdviseTest, OneStreamOfManyIsReadAheadOfItsSlice) {
  ASSERT_TRUE(add());
  for (uint64_t p = 0; p < 3; ++p)
    for (const uint64_t stream : {0u, 300u}) ASSERT_TRUE(advise.fetch(extent(stream + p, 1), {0, 3, 0, true}));
  EXPECT_EQ(map.count(extent(0, kPages)), 6u);
  map.set(extent(310, 1));
  ASSERT_TRUE(advise.fetch(extent(3, 1), {0, 3, 0, true}));
  ASSERT_TRUE(advise.fetch(extent(303, 1), {0, 3, 0, true}));
  EXPECT_EQ(map.count(extent(0, 100)), 3u + 16u);
  EXPECT_EQ(map.count(extent(300, 100)), 3u + 7u + 1u) << "up to what is there";
}

TEST_F(AdviseTest, WhereAFileIsStoredToAtManyPlacesTheyAreReadAheadAndPassed) {
  ASSERT_EQ(mprotect(at_, kPages * kPage, PROT_READ | PROT_WRITE), 0);
  ASSERT_TRUE(advise.add(address(0), kPages * kPage, {request_bytes_, true, false, true}));
  nest_table[3].state.store(OpenNest::kFree); // its hints are always passed
  const Advise::Asked asked{0, 3, 0, true, true};
  constexpr uint64_t kPlaces = 64, kApart = kPages / kPlaces;
  const auto ask = [&](uint64_t page) { ASSERT_TRUE(advise.fetch(extent(page, 1), asked)); };
  EXPECT_EQ(advise.look_up(address(0)).look_ahead, 0u);
  for (uint64_t p = 0; p < 2; ++p)
    for (uint64_t place = 0; place < kPlaces; ++place) ask(place * kApart + p);
  // Of 4096 pages half are believed to stay; 64 places have a quarter of these: runs of 8, the next one 2 pages ahead.
  EXPECT_EQ(advise.look_up(address(0)).look_ahead, 2 * kPage);
  EXPECT_EQ(map.count(extent(0, kApart)), 2u);
  ask(3); // where the slice sees the store to page 1 it looks there
  EXPECT_EQ(map.count(extent(2, 8)), 8u) << "from where that which is there ends";
  EXPECT_FALSE(map.test(address(10)));
  EXPECT_EQ(statistics.files.passed, 0u);

  for (uint64_t p = 0; p < 10; ++p) at_[p * kPage] = 'y';
  ask(10);
  EXPECT_EQ(map.count(extent(10, 8)), 8u);
  EXPECT_EQ(map.count(extent(0, 5)), 0u) << "but two pages ahead, and three that say that it goes on";
  EXPECT_TRUE(map.test(address(5)));
  ASSERT_EQ(os::start_thread("adviser", [] { advise.run(); }), 0);
  for (unsigned i = 0; i < 5000 && os::touched(address(4)); ++i) usleep(1000);
  for (uint64_t p = 0; p < 10; ++p) {
    EXPECT_EQ(os::touched(address(p)), p >= 5) << p;
    EXPECT_TRUE(in_core(p)) << p;
  }
  for (uint64_t p = 0; p < 10; ++p) EXPECT_EQ(at_[p * kPage], 'y');
}

TEST_F(AdviseTest, StoresHereAndThereHaveAPageAheadForAWhile) {
  ASSERT_TRUE(add());
  const auto ask = [&](uint64_t page, bool write) { ASSERT_TRUE(advise.fetch(extent(page, 1), {0, 3, 0, true, write})); };
  nest_table[3].state.store(OpenNest::kFree);
  ask(2000, false);
  EXPECT_EQ(map.count(extent(2000, 5)), 1u) << "loads have not";
  for (uint64_t p = 0; p < 2000; p += 10) ask(p, true);
  // Of 4096 pages half are believed to stay; a sixteenth of these may have been tried.
  EXPECT_EQ(map.count(extent(0, 10)), 2u);
  EXPECT_EQ(map.count(extent(1260, 10)), 2u);
  EXPECT_EQ(map.count(extent(1270, 10)), 1u);
  EXPECT_EQ(advise.look_up(address(0)).look_ahead, 0u);
}

TEST_F(AdviseTest, StoresAreLookedAheadOfWhileInDoubt) {
  ASSERT_TRUE(add());
  nest_table[3].state.store(OpenNest::kFree);
  ASSERT_TRUE(advise.fetch(extent(100, 1), {0, 3, 0, true, true}));
  EXPECT_EQ(advise.look_up(address(0)).look_ahead, kPage);
}

TEST_F(AdviseTest, PrivatePagesAreNotTakenOut) {
  void *at = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd_, 0);
  ASSERT_NE(at, MAP_FAILED);
  munmap(at_, kPages * kPage);
  at_ = static_cast<char *>(at);
  ASSERT_TRUE(advise.add(address(0), kPages * kPage, {request_bytes_, true, false, false}));
  for (uint64_t p = 0; p < kPages; ++p) at_[p * kPage] = 'y';
  const uint64_t passed = statistics.files.passed;
  nest_table[3].state.store(OpenNest::kFree);
  for (uint64_t p = 0; p < 128; ++p)
    for (uint64_t place = 0; place < 8; ++place) ASSERT_TRUE(advise.fetch(extent(place * 256 + p, 1), {0, 3, 0, true, true}));
  ASSERT_EQ(os::start_thread("adviser", [] { advise.run(); }), 0);
  usleep(100000);
  EXPECT_EQ(statistics.files.passed, passed);
  for (uint64_t p = 0; p < kPages; ++p) ASSERT_EQ(at_[p * kPage], 'y');
}

TEST(UnderWay, CountsWhatIsNotDroppedYet) {
  UnderWay under_way;
  for (uint64_t i = 1; i <= 10; ++i) under_way.add({i << 20, (i << 20) + i * kPage});
  EXPECT_EQ(under_way.bytes(), 55 * kPage);
  EXPECT_EQ(under_way.oldest().begin, 1u << 20);
  EXPECT_EQ(under_way.later(4).begin, 5u << 20);
  EXPECT_EQ(under_way.later(16).begin, 10u << 20) << "there are no more";
  under_way.drop_oldest();
  EXPECT_EQ(under_way.bytes(), 54 * kPage);
  for (uint64_t i = 0; i < 256; ++i) under_way.add({i << 20, (i << 20) + kPage});
  EXPECT_EQ(under_way.bytes(), 256 * kPage) << "what is older counts as there";
  while (under_way.any()) under_way.drop_oldest();
  EXPECT_EQ(under_way.bytes(), 0u);
}

TEST_F(AdviseTest, OneForwardStreamIsLeftToTheKernel) {
  ASSERT_TRUE(add());
  for (uint64_t p = 0; p < 200; p += 10) ASSERT_TRUE(advise.fetch(extent(p, 10), {}));
  EXPECT_EQ(statistics.files.streamed, 12u); // of twenty requests the first begins nowhere, and seven more are a doubt
  EXPECT_EQ(statistics.files.hinted, 80u);
  for (uint64_t p = 0; p < 100; p += 10) { // two streams are not one
    ASSERT_TRUE(advise.fetch(extent(1000 + p, 10), {}));
    ASSERT_TRUE(advise.fetch(extent(1500 + p, 10), {}));
  }
  EXPECT_EQ(statistics.files.hinted, 280u);
}

/// A stream in a region of a device that reads little ahead.
class LargeReadsTest : public AdviseTest {
protected:
  void SetUp() override {
    AdviseTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (address(0) % kBlock) GTEST_SKIP() << "the kernel does not align mappings to large pages";
    if (!large_folios()) GTEST_SKIP() << "the file system of /var/tmp has no large folios, or there was no memory for one";
    ASSERT_EQ(advise.start(options, map, places, statistics, 256u << 20), 0);
  }
  void start_readers() {
    ASSERT_EQ(os::start_thread("adviser", [] { advise.run(); }), 0);
    for (unsigned i = 0; i < Advise::kReaders; ++i) ASSERT_EQ(os::start_thread("large", [] { advise.run_large(); }), 0);
  }
  bool add_narrow() {
    return advise.add(address(0), kPages * kPage, {request_bytes_, true, false, true, 128u << 10, address(0)});
  }
  /// Mappings of the file; it has no name any more, so by its number.
  unsigned mappings() const {
    struct stat file;
    fstat(fd_, &file);
    std::ifstream maps("/proc/self/maps");
    unsigned n = 0;
    for (std::string line; std::getline(maps, line);)
      n += line.find(" " + std::to_string(file.st_ino) + " ") != std::string::npos;
    return n;
  }
  void wait_for_mappings(unsigned n) const {
    for (unsigned i = 0; i < 5000 && mappings() != n; ++i) usleep(1000);
  }
  static constexpr uint64_t kBlock = 2u << 20, kBlockPages = kBlock / kPage;

private:
  bool large_folios() const {
    const uint64_t twin = os::map_again(address(0), kBlock);
    if (!twin) return false;
    uint8_t mapped[kBlockPages] = {};
    os::read_large(twin);
    const bool all = os::in_page_table(twin, kBlockPages, mapped) == 0 && os::alike(mapped, 0, kBlockPages) == kBlockPages;
    os::unmap(reinterpret_cast<void *>(twin), kBlock);
    posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    return all && !in_core(0);
  }
};

TEST_F(LargeReadsTest, AStreamIsReadInBlocksAheadOfIt) {
  ASSERT_TRUE(add_narrow());
  start_readers();
  for (uint64_t p = 0; p < kBlockPages + 32; p += 32) ASSERT_TRUE(advise.fetch(extent(p, 32), {}));
  EXPECT_EQ(statistics.files.streamed, 0u);
  EXPECT_EQ(map.count(extent(0, kPages)), 2 * kBlockPages) << "the block that was entered counts as asked for";
  for (unsigned i = 1; i <= 3; ++i) wait_for(i * kBlockPages - 1);
  for (uint64_t p = 0; p < 3 * kBlockPages; p += 64) {
    wait_for(p); // requests end in any order
    EXPECT_TRUE(in_core(p)) << p;
    EXPECT_FALSE(os::touched(address(p))) << p;
  }
  EXPECT_FALSE(in_core(3 * kBlockPages)) << "one more block, and nothing else";
  for (unsigned i = 0; i < 5000 && statistics.files.large_reads != 2; ++i) usleep(1000);
  EXPECT_EQ(statistics.files.large_reads, 2u);
  EXPECT_EQ(statistics.files.hinted, 2 * kBlockPages);
  EXPECT_EQ(mappings(), 2u);
  for (uint64_t p = 0; p < 3 * kBlockPages; ++p) ASSERT_EQ(at_[p * kPage], 'x');
  advise.remove(address(0), address(kPages));
  wait_for_mappings(1);
  EXPECT_EQ(mappings(), 1u) << "the twin goes with its region";
}

TEST_F(LargeReadsTest, ATwinGoesInPartsAsItsRegionDoes) {
  ASSERT_TRUE(add_narrow());
  start_readers();
  for (uint64_t p = 0; p < kBlockPages + 32; p += 32) ASSERT_TRUE(advise.fetch(extent(p, 32), {}));
  wait_for_mappings(2);
  advise.remove(address(kBlockPages + 16), address(kBlockPages + 48)); // perhaps while it is being read
  wait_for_mappings(3);
  EXPECT_EQ(mappings(), 3u);
  usleep(100000);
  EXPECT_EQ(mappings(), 3u);
  const FileRegion right = advise.look_up(address(3 * kBlockPages));
  EXPECT_EQ(right.twin - advise.look_up(address(0)).twin, right.base - address(0));
  advise.remove(address(0), address(kPages));
  wait_for_mappings(1);
  EXPECT_EQ(mappings(), 1u);
}

TEST_F(LargeReadsTest, RegionsThatEndUnderReadsLeaveNothing) {
  start_readers();
  for (unsigned round = 0; round < 200; ++round) {
    ASSERT_TRUE(add_narrow());
    for (uint64_t p = 0; p < 2 * kBlockPages; p += 64) advise.fetch(extent(p, 64), {});
    usleep(round * 7 % 1500);
    advise.remove(address(0), address(kBlockPages + round));
    advise.remove(address(kBlockPages + round), address(kPages));
    posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  }
  wait_for_mappings(1);
  EXPECT_EQ(mappings(), 1u);
  EXPECT_GT(statistics.files.large_reads, 0u);
}

TEST_F(LargeReadsTest, PrivateMappingsAndFarReadAheadAreLeftAsTheyWere) {
  ASSERT_TRUE(advise.add(address(0), kPages * kPage, {request_bytes_, true, false, false, 128u << 10, address(0)}));
  EXPECT_FALSE(advise.look_up(address(0)).large);
  for (uint64_t p = 0; p < 200; p += 10) ASSERT_TRUE(advise.fetch(extent(p, 10), {}));
  EXPECT_EQ(statistics.files.streamed, 12u);
  advise.remove(address(0), address(kPages));
  ASSERT_TRUE(advise.add(address(0), kPages * kPage, {request_bytes_, true, false, true, 1u << 20, address(0)}));
  const uint64_t before = statistics.files.hinted;
  for (uint64_t p = 0; p < 200; p += 10) // two streams, which the kernel reads as well
    for (const uint64_t first : {0u, 1200u}) ASSERT_TRUE(advise.fetch(extent(first + p, 10), {}));
  EXPECT_EQ(statistics.files.hinted, before + 20) << "the first request of each, which is none yet";
}

TEST_F(AdviseTest, StepsOfAStreamMayShareAPage) {
  ASSERT_TRUE(add());
  for (uint64_t p = 0; p < 200; p += 10) ASSERT_TRUE(advise.fetch(extent(p, 11), {}));
  EXPECT_EQ(statistics.files.streamed, 12u);
  for (unsigned i = 0; i < 10; ++i) ASSERT_TRUE(advise.fetch(extent(190, 11), {}));
  EXPECT_EQ(statistics.files.streamed, 12u) << "the same again is none";
}

TEST_F(AdviseTest, AGapCostsAStreamOneRequest) {
  ASSERT_TRUE(add());
  for (uint64_t p = 0; p < 100; p += 10) ASSERT_TRUE(advise.fetch(extent(p, 10), {}));
  EXPECT_EQ(statistics.files.streamed, 2u);
  for (uint64_t p = 400; p < 500; p += 10) ASSERT_TRUE(advise.fetch(extent(p, 10), {}));
  EXPECT_EQ(statistics.files.streamed, 11u);
  for (uint64_t p = 600; p < 1600; p += 100) ASSERT_TRUE(advise.fetch(extent(p, 10), {}));
  EXPECT_EQ(statistics.files.streamed, 11u) << "gaps alone are none";
}

/// Memory is 16 MiB; of as many bytes given up, these are what reaches the kernel: it is waited for `expected`.
uint64_t given_up_of_a_stream(uint64_t address, uint64_t region_pages, uint32_t request_bytes, uint64_t expected) {
  options.release = ReleasePolicy::kAggressive;
  if (!advise.add(address, region_pages * kPage, {request_bytes, true})) return ~0ull;
  const uint64_t before = statistics.files.given_up, released = statistics.files.released;
  for (uint64_t p = 0; p < 2000; p += 10) advise.fetch({address + p * kPage, address + (p + 10) * kPage}, {});
  for (uint64_t p = 0; p < 2000; p += 10) advise.release({address + p * kPage, address + (p + 10) * kPage}, 2, 0);
  EXPECT_EQ(statistics.files.released, released + 2000);
  if (os::start_thread("adviser", [] { advise.run(); })) return ~0ull;
  for (unsigned i = 0; i < 100 || (expected && i < 5000); ++i) {
    if (expected && statistics.files.given_up == before + expected) break;
    usleep(1000);
  }
  return statistics.files.given_up - before;
}

TEST_F(AdviseTest, AStreamIsGivenUpWhereMuchOfItStays) {
  EXPECT_EQ(given_up_of_a_stream(address(0), kPages, request_bytes_, 2000), 2000u); // 8 MiB
}

TEST_F(AdviseTest, AStreamOverManyTimesTheMemoryIsNot) {
  void *at = mmap(nullptr, 12000 * kPage, PROT_READ, MAP_SHARED, fd_, 0); // 47 MiB
  ASSERT_NE(at, MAP_FAILED);
  EXPECT_EQ(given_up_of_a_stream(reinterpret_cast<uint64_t>(at), 12000, request_bytes_, 0), 0u);
}

TEST_F(AdviseTest, PiecesHereAndThereMakeMissesReadAlone) {
  ASSERT_TRUE(add());
  ASSERT_EQ(os::start_thread("adviser", [] { advise.run(); }), 0);
  for (uint64_t i = 0; i < 16; ++i) ASSERT_TRUE(advise.fetch(extent(i * 7 % 16 * 100, 16), {})); // 64 KiB each
  for (unsigned i = 0; i < 5000 && !advise.look_up(address(0)).scattered; ++i) usleep(1000);
  EXPECT_TRUE(advise.look_up(address(0)).scattered);
  EXPECT_EQ(statistics.files.patterns, 1u);
}

TEST_F(AdviseTest, PiecesInOrderDoNot) {
  ASSERT_TRUE(add());
  ASSERT_EQ(os::start_thread("adviser", [] { advise.run(); }), 0);
  for (uint64_t p = 0; p < 400; p += 16) ASSERT_TRUE(advise.fetch(extent(p, 16), {}));
  wait_for(7 * 16);
  usleep(50000);
  EXPECT_FALSE(advise.look_up(address(0)).scattered);
  EXPECT_GT(statistics.files.streamed, 10u);
}

TEST_F(AdviseTest, NothingIsAskedForWhereARegionWas) {
  ASSERT_TRUE(add());
  ASSERT_TRUE(advise.fetch(extent(0, 8), {}));
  advise.remove(address(0), address(kPages));
  EXPECT_EQ(map.count(extent(0, kPages)), 0u);
  EXPECT_EQ(advise.look_up(address(3)).bytes, 0u);
  EXPECT_FALSE(advise.any());
  EXPECT_TRUE(advise.fetch(extent(0, 8), {})) << "ignored";
  EXPECT_EQ(statistics.files.hinted, 8u);
}

TEST(FileFacts, MemoryIsLeftAlone) {
  const int fd = memfd_create("pagecast", 0);
  ASSERT_GE(fd, 0);
  const os::FileFacts facts = os::file_facts(fd);
  EXPECT_FALSE(facts.advisable);
  EXPECT_STREQ(facts.system, "tmpfs");
  EXPECT_STREQ(facts.why_not, "its file system is in memory");
  close(fd);
  const int device = open("/dev/zero", O_RDONLY);
  EXPECT_FALSE(os::file_facts(device).advisable);
  close(device);
}

} // namespace
