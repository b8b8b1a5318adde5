// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pager on a backing store that fails: nothing is lost that can be kept, and what is lost is seen.
#include "tests/unit/runtime/pager/failing_disk.h"
#include "tests/unit/runtime/running_engine.h"

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <functional>
#include <random>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace pagecast;

namespace {

/// What these tests count are reads, and what they take for absent is: no page waits for a second chance.
[[maybe_unused]] const bool none_waits = (test_options.second_chance = false, true);

const uint64_t page = os::page_size();
sigjmp_buf touched;

/// Whether loading the byte raises SIGBUS.
bool is_lost(const volatile char *p) {
  struct sigaction before, handler{};
  handler.sa_handler = [](int) { siglongjmp(touched, 1); };
  sigaction(SIGBUS, &handler, &before);
  const bool lost = sigsetjmp(touched, 1) != 0;
  if (!lost) (void)*p;
  sigaction(SIGBUS, &before, nullptr);
  return lost;
}

/// Standard error into a file while it lives, which can be read meanwhile without losing what is just being said.
class Listener {
public:
  Listener() : file_(memfd_create("stderr", 0)), before_(dup(2)) { dup2(file_, 2); }
  ~Listener() {
    dup2(before_, 2);
    close(before_);
    close(file_);
  }
  /// How often it has been said.
  unsigned times(std::string_view words) const {
    char text[4096];
    const ssize_t n = pread(file_, text, sizeof text, 0);
    const std::string_view said(text, n > 0 ? static_cast<size_t>(n) : 0);
    unsigned times = 0;
    for (size_t at = said.find(words); at != said.npos; at = said.find(words, at + 1)) ++times;
    return times;
  }
  bool heard(std::string_view words) const { return times(words) != 0; }

private:
  const int file_, before_;
};

char mark(uint64_t i) { return static_cast<char>((i >> 12) * 7 + 1); }

/// A region of 4 budgets with a mark in each page, most of which are on disk.
char *marked_region() {
  const uint64_t bytes = 4 * kBudget;
  char *region = map(bytes);
  EXPECT_EQ(engine.add(address(region), bytes), 0);
  for (uint64_t i = 0; i < bytes; i += page) region[i] = mark(i);
  return region;
}

/// The first page from `from` on that starts a run of `run` absent ones.
uint64_t absent(const char *region, uint64_t from, uint64_t run) {
  for (uint64_t i = from, n = 0;; i += page) {
    uint8_t there = 1; // what streams have passed is there, though hints for it come through
    EXPECT_EQ(os::populated(address(region) + i, 1, &there), 0);
    n = there ? 0 : n + 1;
    if (n == run) return i + page - run * page;
  }
}

/// Makes reads of [begin, begin + bytes) of the first region fail: its slots are the places in the file.
void make_unreadable(uint64_t begin, uint64_t bytes, int error = -EIO) {
  failing::bad_begin = begin;
  failing::bad_end = begin + bytes;
  failing::reading = error;
}

void wait_until(const std::function<bool()> &condition) {
  while (!condition()) usleep(1000);
}

/// Stores to more memory than the budget while nothing can be written: the thread that stores must stop, another that
/// loads pages without contents must not, and all goes on when `mend` has been called.
void expect_to_wait_with_the_data(const std::function<void()> &mend, const uint64_t &refusals) {
  const uint64_t bytes = 2 * kBudget, clean_bytes = 3 * kBudget;
  char *stored = map(bytes), *clean = map(clean_bytes);
  ASSERT_EQ(engine.add(address(stored), bytes), 0);
  ASSERT_EQ(engine.add(address(clean), clean_bytes), 0);
  for (uint64_t i = 0; i < kBudget / 2; i += page) stored[i] = mark(i); // half of memory is dirty
  const uint64_t clean_pages = clean_bytes / page;
  uint64_t draw = 0;
  for (uint64_t i = 0; i < 3 * clean_pages; ++i) { // in no order: pages behind a stream would go before all dirty ones
    draw = draw * 6364136223846793005u + 1442695040888963407u;
    const uint64_t at = (draw >> 33) % clean_pages * page;
    ASSERT_EQ(clean[at], 0) << at;
  }
  ASSERT_GT(refusals, 0u);
  expect_valid();

  std::atomic<uint64_t> at{kBudget / 2};
  std::thread writer([&] {
    for (; at < bytes; at += page) stored[at] = mark(at);
  });
  const uint64_t before = refusals;
  wait_until([&] { return at > kBudget * 3 / 4 && refusals >= before + 2; });
  expect_valid();
  EXPECT_LT(at, kBudget);
  mend();
  writer.join();
  for (uint64_t i = 0; i < bytes; i += page) ASSERT_EQ(stored[i], mark(i)) << i;
  expect_valid();
  EXPECT_LE(engine.statistics.peak_bytes, kBudget + kBudget / 50);
  EXPECT_EQ(engine.remove(address(stored), bytes), 0);
}

} // namespace

TEST(PagerFaults, AFullDiskStopsTheProgramWithItsData) {
  START_ENGINE(ReleasePolicy::kBuffered);
  failing::reserving = -ENOSPC;
  testing::internal::CaptureStderr();
  const uint64_t &refusals = engine.statistics.disk_errors.no_room;
  const auto mend = [&] { // while a thread waits
    const uint64_t waited = engine.statistics.stall_ns[StallKind::kRoom], full = engine.statistics.disk_errors.full_ns;
    const uint64_t before = refusals;
    wait_until([&] { return refusals >= before + 3; });
    EXPECT_GT(engine.statistics.stall_ns[StallKind::kRoom], waited) << "a wait that goes on counts";
    EXPECT_GT(engine.statistics.disk_errors.full_ns, full);
    failing::reserving = 0;
  };
  expect_to_wait_with_the_data(mend, refusals);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("there is no room left in "), std::string::npos) << said;
  EXPECT_NE(said.find("there is room in "), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
  EXPECT_EQ(engine.statistics.disk_errors.write_errors, 0u);
}

TEST(PagerFaults, AFullDiskThatSaysSoWhenItIsWrittenStopsTheProgramWithItsData) {
  START_ENGINE(ReleasePolicy::kBuffered);
  failing::writing = -ENOSPC;
  expect_to_wait_with_the_data([] { failing::writing = 0; }, engine.statistics.disk_errors.no_room);
  EXPECT_EQ(engine.statistics.disk_errors.write_errors, 0u);
}

TEST(PagerFaults, WhatHasNoPlaceInFilesOfLimitedLengthStaysInMemory) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limited{4 * kBudget + (8u << 20), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  START_ENGINE(ReleasePolicy::kBuffered);
  const Listener listener;
  char *within = marked_region(), *beyond = map(kBudget);
  EXPECT_EQ(engine.add(address(beyond), kBudget), -EFBIG);
  EXPECT_EQ(engine.add(address(beyond), kBudget), -EFBIG);
  EXPECT_EQ(listener.times("96 MiB can be paged, since files may not be larger (ulimit -f)"), 1u);
  for (uint64_t i = 0; i < 4 * kBudget; i += page) ASSERT_EQ(within[i], mark(i)) << i;
  EXPECT_EQ(engine.statistics.disk_errors.no_room, 0u);
  EXPECT_EQ(engine.remove(address(within), 4 * kBudget), 0);
  EXPECT_EQ(engine.add(address(beyond), kBudget), 0) << "there are places again";
  expect_valid();
}

TEST(PagerFaults, FailedWritesLeaveTheDataInMemory) {
  START_ENGINE(ReleasePolicy::kBuffered);
  failing::writing = -EIO;
  testing::internal::CaptureStderr();
  expect_to_wait_with_the_data([] { failing::writing = 0; }, engine.statistics.disk_errors.write_errors);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("failed (Input/output error)"), std::string::npos) << said;
  EXPECT_EQ(engine.statistics.disk_errors.no_room, 0u);
}

TEST(PagerFaults, DataThatHaveTheirPlaceNeedNoRoom) {
  START_ENGINE(ReleasePolicy::kBuffered);
  char *region = marked_region();
  failing::reserving = -ENOSPC;
  for (uint64_t i = 0; i < 4 * kBudget - (16u << 20); i += page) region[i] = static_cast<char>(mark(i) + 1);
  for (uint64_t i = 0; i < 4 * kBudget - (16u << 20); i += page) ASSERT_EQ(region[i], static_cast<char>(mark(i) + 1)) << i;
}

TEST(PagerFaults, AHintThatFailsHarmsNobody) {
  START_ENGINE(ReleasePolicy::kBuffered);
  char *region = marked_region();
  const uint64_t at = absent(region, 1u << 20, 32);
  make_unreadable(at, 32 * page);
  ASSERT_TRUE(engine.hint({address(region) + at, 32, Hint::kFetch, 0, 0, 0, 0}));
  // However many requests it is cut into, the first page's fails.
  wait_until([&] { return engine.statistics.disk_errors.read_errors > 0 && !engine.residency().test(address(region) + at); });
  expect_valid();
  failing::reading = 0;
  for (uint64_t i = at; i < at + 32 * page; i += page) EXPECT_EQ(region[i], mark(i));
  EXPECT_EQ(engine.statistics.disk_errors.lost_pages, 0u);
}

TEST(PagerFaults, TouchingWhatCannotBeReadRaisesSigbusAndItsNeighboursAreRead) {
  test_options.history = false; // reads are counted
  START_ENGINE(ReleasePolicy::kBuffered);
  char *region = marked_region();
  const uint64_t at = absent(region, 1u << 20, 64), bad = at + 20 * page;
  make_unreadable(bad, page);
  ASSERT_TRUE(engine.hint({address(region) + at, 64, Hint::kFetch, 0, 0, 0, 0}));
  unsigned lost = 0;
  for (uint64_t i = at; i < at + 64 * page; i += page) {
    if (is_lost(region + i)) {
      EXPECT_EQ(i, bad);
      ++lost;
    } else {
      EXPECT_EQ(region[i], mark(i));
    }
  }
  EXPECT_EQ(lost, 1u);
  EXPECT_EQ(engine.statistics.disk_errors.lost_pages, 1u);
  expect_valid();

  // It stays so, for loads, stores, hints and system calls, whatever the disk does, and until it is cleared.
  failing::reading = 0;
  const unsigned reads = failing::reads;
  ASSERT_TRUE(engine.hint({address(region) + bad, 1, Hint::kFetchWrite, 0, 0, 0, 0}));
  expect_valid();
  EXPECT_TRUE(is_lost(region + bad));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], region + bad, 1), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(failing::reads, reads);
  ASSERT_EQ(engine.clear(address(region) + bad, page), 0);
  expect_valid();
  EXPECT_EQ(region[bad], 0);
  region[bad] = 1;
  expect_valid();
}

TEST(PagerFaults, AllWhoWaitForAPageThatIsLostAreTold) {
  START_ENGINE(ReleasePolicy::kBuffered);
  char *region = marked_region();
  const uint64_t at = absent(region, 1u << 20, 1);
  make_unreadable(at, page, -EREMOTEIO);
  struct sigaction handler{};
  static std::atomic<unsigned> told{0};
  handler.sa_handler = [](int) {
    ++told;
    for (;;) pause();
  };
  sigaction(SIGBUS, &handler, nullptr);
  failing::stalled = true;
  for (unsigned t = 0; t < 300; ++t) std::thread([=] { (void)*static_cast<volatile char *>(region + at); }).detach();
  wait_until([] { return engine.statistics.fault_events > 0 && failing::reads > 0; });
  failing::stalled = false;
  wait_until([] { return told == 300; });
  EXPECT_EQ(engine.statistics.disk_errors.lost_pages, 1u);
  _exit(testing::Test::HasFailure()); // the threads are still in their handlers
}

TEST(PagerFaults, ADiskThatDoesNotAnswerIsWaitedForAndSaid) {
  START_ENGINE(ReleasePolicy::kBuffered);
  char *region = marked_region();
  const uint64_t at = absent(region, 1u << 20, 1);
  failing::stalled = true;
  const Listener listener;
  std::thread reader([=] { EXPECT_EQ(region[at], mark(at)); });
  wait_until([] { return engine.statistics.disk_errors.stalls == 1; });
  expect_valid();
  failing::stalled = false;
  reader.join();
  wait_until([&] { return listener.heard("answers again"); });
  EXPECT_GE(engine.statistics.disk_errors.longest_io_ns, DiskErrors::kStall);
}

/// Forks as fork.cpp does, with the forking thread's stack there, on a disk that goes on only after `wait`.
void fork_during(const char *stack, std::atomic<bool> &stall, const std::function<void()> &wait) {
  std::atomic<bool> stopped{false};
  std::thread forking([&] {
    EXPECT_FALSE(engine.stop_for_fork(address(stack), false));
    stopped = true;
    engine.go_on(false);
  });
  wait();
  EXPECT_FALSE(stopped);
  stall = false;
  forking.join();
}

constexpr const char kForkWaits[] = "fork() waits for the disk of ";

TEST(PagerFaults, AForkThatWaitsForRequestsUnderWaySaysSo) {
  START_ENGINE(ReleasePolicy::kBuffered);
  char *region = marked_region();
  const uint64_t at = absent(region, 1u << 20, 1);
  failing::stalled = true;
  const Listener listener;
  std::thread reader([=] { EXPECT_EQ(region[at], mark(at)); });
  wait_until([] { return failing::reads > 0; });
  fork_during(region, failing::stalled, [&] { wait_until([&] { return listener.heard(kForkWaits); }); });
  reader.join();
  expect_valid();
}

TEST(PagerFaults, AForkThatWaitsForItsStackSaysSoOnce) {
  START_ENGINE(ReleasePolicy::kBuffered);
  char *region = marked_region();
  const uint64_t at = absent(region, 1u << 20, 8), far = absent(region, at + (1u << 20), 8);
  const Listener listener;
  failing::waiting_stalled = true;
  fork_during(region + at, failing::waiting_stalled, [&] { wait_until([&] { return listener.heard(kForkWaits); }); });
  failing::waiting_stalled = true;
  fork_during(region + far, failing::waiting_stalled,
              [] { usleep(2500000); }); // nothing is said, but for that nothing can be waited
  EXPECT_EQ(listener.times("fork() waits"), 1u);
  for (uint64_t i : {at, far}) EXPECT_EQ(region[i], mark(i));
  expect_valid();
}

TEST(PagerFaults, HintsLeaveTheRestOfTheDisksQueueToFaults) {
  test_options.history = false;
  test_budget = 128u << 20;
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t bytes = 2 * test_budget;
  char *region = map(bytes);
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  for (uint64_t i = 0; i < bytes; i += page) region[i] = mark(i);
  for (uint64_t i = 0; i < 16u << 20; i += page) ASSERT_EQ(region[i], mark(i)) << i;
  // Clean pages that may go, so that the hints find memory while nothing can be written.
  ASSERT_TRUE(engine.hint({address(region), (16u << 20) / 4096, Hint::kRelease, 0, 0, 0, 0}));
  std::vector<uint64_t> hinted;
  for (uint64_t i = 32u << 20; hinted.size() < 600; i += 2 * page)
    if (!engine.residency().test(address(region) + i)) hinted.push_back(i);
  expect_valid();

  failing::stalled = true;
  const unsigned before = failing::reads;
  for (const uint64_t i : hinted) ASSERT_TRUE(engine.hint({address(region) + i, 1, Hint::kFetch, 0, 0, 0, 0}));
  wait_until([&] { return failing::reads >= before + 100; });
  usleep(100000); // there are no more, but for that nothing can be waited
  EXPECT_LE(failing::reads, before + 200);
  const unsigned asked = failing::reads;
  std::thread reader([=] { EXPECT_EQ(region[hinted.back()], mark(hinted.back())); });
  wait_until([=] { return failing::reads > asked; });
  failing::stalled = false;
  reader.join();
  for (const uint64_t i : hinted) ASSERT_EQ(region[i], mark(i)) << i;
  expect_valid();
}

TEST(PagerFaults, WritesLeaveTheRestOfTheDisksQueueToFaults) {
  test_options.history = false;
  START_ENGINE(ReleasePolicy::kAggressive);
  const uint64_t bytes = 8u << 20;
  char *region = map(bytes), *zeros = map(bytes);
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  ASSERT_EQ(engine.add(address(zeros), bytes), 0);
  const Hint all{address(region), static_cast<uint32_t>(bytes / page), Hint::kRelease, 0, 0, 0, 0};
  for (uint64_t i = 0; i < bytes; i += page) region[i] = mark(i);
  wait_until(
      [=] { return engine.hint(all) && engine.statistics.evicted_dirty == bytes / page; }); // the file has room from now on
  for (uint64_t i = 0; i < bytes; i += page) ASSERT_EQ(region[i], mark(i)) << i;
  for (uint64_t i = 0; i < bytes; i += 2 * page) region[i] = static_cast<char>(mark(i) + 1); // each to be written alone

  failing::stalled = true;
  const unsigned before = failing::writes;
  ASSERT_TRUE(engine.hint(all));
  wait_until([&] { return failing::writes >= before + 100; });
  for (uint64_t i = 0; i < bytes / 2; i += page) ASSERT_EQ(zeros[i], 0) << i; // needs no disk
  EXPECT_LE(failing::writes, before + 240);
  expect_valid();
  const unsigned asked = failing::reads;
  std::thread reader([=] { EXPECT_EQ(region[page], mark(page)); });
  wait_until([=] { return failing::reads > asked; });
  failing::stalled = false;
  reader.join();
  for (uint64_t i = 0; i < bytes; i += page) ASSERT_EQ(region[i], static_cast<char>(mark(i) + (i / page % 2 == 0))) << i;
  expect_valid();
}

TEST(PagerFaults, ADiskThatMakesNoRoomHoldsUpNobodyWhoNeedsNone) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t bytes = 2 * kBudget, clean_bytes = 3 * kBudget;
  char *stored = map(bytes), *clean = map(clean_bytes);
  ASSERT_EQ(engine.add(address(stored), bytes), 0);
  ASSERT_EQ(engine.add(address(clean), clean_bytes), 0);
  failing::room_stalled = true;
  testing::internal::CaptureStderr();
  std::atomic<uint64_t> at{0};
  for (; at < kBudget / 2; at += page) stored[at] = mark(at); // half of memory is dirty
  // Which pages go first is found out by trial, so that it takes some sweeps until a dirty one is to go.
  for (unsigned sweep = 0; sweep < 3 || (sweep < 300 && engine.statistics.disk_errors.stalls == 0); ++sweep)
    for (uint64_t i = 0; i < clean_bytes; i += page) ASSERT_EQ(clean[i], 0) << i;
  expect_valid();
  wait_until([] { return engine.statistics.disk_errors.stalls >= 1; });
  std::thread blocked([&] {
    for (; at < bytes; at += page) stored[at] = mark(at);
  });
  wait_until([&] { return at > kBudget * 3 / 4; });
  EXPECT_LT(at, kBudget);
  expect_valid();
  failing::room_stalled = false;
  blocked.join();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("when asked for room"), std::string::npos) << said;
  for (uint64_t i = 0; i < bytes; i += page) ASSERT_EQ(stored[i], mark(i)) << i;
  expect_valid();
  EXPECT_EQ(engine.statistics.disk_errors.no_room, 0u);
}

/// Those on the shelf could not be written when it was their turn, and nobody comes to them.
TEST(PagerFaults, WhatCouldNotBeWrittenDoesNotKeepOthersFromTheirSecondChance) {
  START_ENGINE(ReleasePolicy::kBuffered);
  const uint64_t pages = 3 * test_budget / page;
  char *region = map(pages * page);
  ASSERT_EQ(engine.add(address(region), pages * page), 0);
  for (uint64_t i = 0; i < pages; ++i) region[i * page] = 1;
  std::mt19937 random(1);
  const auto load = [&](uint64_t begin, uint64_t end) { // in no order that is foreseen
    for (uint64_t i = begin; i < end; ++i) ASSERT_EQ(region[(begin + random() % (end - begin)) * page], 1);
  };
  load(0, pages / 6);
  test_options.second_chance = true;
  failing::writing = -ENOSPC;
  load(pages / 6, pages / 3);
  const uint64_t full = engine.statistics.second_chance.waited;
  failing::writing = 0;
  // A write that failed is tried again after a while.
  for (unsigned again = 0; again < 20 && engine.statistics.second_chance.waited <= full + 100; ++again)
    load(pages / 3, pages * 2 / 3);
  EXPECT_GT(engine.statistics.second_chance.waited, full + 100);
  expect_valid();
}

TEST(PagerFaults, WhatHasBeenReadWaitsWhileNothingCanGoForWantOfRoom) {
  test_budget = 96u << 20;
  START_ENGINE(ReleasePolicy::kNone); // what is passed goes in the order in which it came
  const uint64_t bytes = 2 * test_budget;
  char *region = map(bytes), *more = map(test_budget);
  ASSERT_EQ(engine.add(address(region), bytes), 0);
  for (uint64_t i = 0; i < bytes; i += page) region[i] = mark(i);
  for (uint64_t i = 0; i < bytes; i += page) ASSERT_EQ(region[i], mark(i)) << i; // all is in the file, and clean
  expect_valid();

  failing::room_stalled = true;
  ASSERT_EQ(engine.add(address(more), test_budget), 0);
  // Most of memory becomes what cannot be written. The rest is clean, and goes for what is read.
  const uint64_t dirty = (engine.budget() - engine.statistics.own_bytes - (8u << 20)) & ~(page - 1);
  for (uint64_t i = 0; i < dirty; i += page) more[i] = mark(i);
  expect_valid();
  const uint64_t asked = engine.statistics.reads;
  for (uint64_t at = 0; at < bytes; at += 1024 * page)
    ASSERT_TRUE(engine.hint({address(region) + at, 1024, Hint::kFetch, 0, 0, 0, 0}));
  wait_until([=] { return engine.statistics.reads > asked; });
  uint64_t most = 0;
  for (unsigned i = 0; i < 100; ++i, usleep(1000))
    most = std::max(most, engine.statistics.now.program + engine.statistics.own_bytes);
  EXPECT_LE(most, engine.budget() + 32 * page);
  failing::room_stalled = false;
  for (uint64_t i = 0; i < bytes; i += page) ASSERT_EQ(region[i], mark(i)) << i;
  for (uint64_t i = 0; i < dirty; i += page) ASSERT_EQ(more[i], mark(i)) << i;
  expect_valid();
}
