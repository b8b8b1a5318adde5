// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the pager does with its pages before a fork: none that is only in its own memory, or in a file that closes, is lost.
#include "tests/unit/runtime/running_engine.h"

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace pagecast;

namespace {

constexpr uint64_t kBytes = 4 * kBudget, kFrom = 1u << 20;

/// Each page begins with a number of its own.
void store(char *region, uint64_t from) {
  const uint64_t page = os::page_size();
  for (uint64_t at = from; at < kBytes; at += page) region[at] = static_cast<char>(at / page);
}

void expect_stored(const char *region) {
  const uint64_t page = os::page_size();
  for (uint64_t at = 0; at < kBytes; at += page) ASSERT_EQ(region[at], static_cast<char>(at / page)) << at;
}

/// The page that a stream which begins at kFrom keeps as a mark to see the program come; 0: none.
uint64_t mark_in(const char *region) {
  const uint64_t page = os::page_size();
  const Region r = engine.look_up(address(region));
  for (uint64_t i = kFrom; i < kFrom + (64u << 10); i += page) {
    EXPECT_EQ(region[i], static_cast<char>(i / page));
    expect_valid(); // what was asked for has been asked for
    for (unsigned tries = 0; tries < 100; ++tries, usleep(1000))
      for (uint64_t at = i; at < i + (128u << 10); at += page)
        if (engine.state_of(r, address(region) + at) == PageState::kMark) return at;
  }
  return 0;
}

/// They stay until the test is over.
struct Children {
  std::vector<pid_t> pid;
  ~Children() {
    for (pid_t each : pid) {
      kill(each, SIGKILL);
      waitpid(each, nullptr, 0);
    }
  }
  /// Forks as fork.cpp does.
  void fork_one() {
    const char here = 0; // this thread's stack is in no region
    const bool shared = engine.stop_for_fork(address(&here), true);
    EXPECT_TRUE(shared);
    pid.push_back(fork());
    while (pid.back() == 0) pause();
    engine.go_on(shared);
  }
};

} // namespace

TEST(PagerFork, WhoGoesThroughAllPagesMeanwhileIsServed) {
  START_ENGINE(ReleasePolicy::kNone);
  char *region = map(kBytes);
  ASSERT_EQ(engine.add(address(region), kBytes), 0);
  store(region, 0);
  const char here = 0;
  EXPECT_FALSE(engine.stop_for_fork(address(&here), false));
  std::thread([&] { // as malloc does with a lock that fork waits for
    const uint64_t page = os::page_size();
    for (uint64_t at = 0; at < kBytes; at += 4 * page) ASSERT_EQ(region[at], static_cast<char>(at / page)) << at;
  })
      .join();
  engine.go_on(false);
  expect_valid();
  expect_stored(region);
}

TEST(PagerFork, KeepsWhatAStreamHoldsBackWhereTheStackIs) {
  START_ENGINE(ReleasePolicy::kNone); // what is passed goes in the order in which it came
  char *region = map(kBytes);
  ASSERT_EQ(engine.add(address(region), kBytes), 0);
  store(region, 0);
  const uint64_t mark = mark_in(region);
  ASSERT_GT(mark, 0u);
  std::thread([&] { // whose stack is there, and must be in memory
    EXPECT_FALSE(engine.stop_for_fork(address(region) + mark, false));
    engine.go_on(false);
  })
      .join();
  expect_valid();
  expect_stored(region);
}

/// Children that stay make a file each; when they crowd, all contents move to the last one and the others are closed.
TEST(PagerFork, MovesWhatAStreamHoldsBackWithTheRestOfItsFile) {
  START_ENGINE(ReleasePolicy::kNone); // what is passed goes in the order in which it came
  char *region = map(kBytes);
  ASSERT_EQ(engine.add(address(region), kBytes), 0);
  store(region, 0);
  Children children;
  for (unsigned files = 1; files < ForkFiles::kCrowded; ++files) {
    children.fork_one();
    store(region, kBytes / 2); // more than the budget: some go to a new file
  }
  const Region r = engine.look_up(address(region));
  const uint64_t mark = mark_in(region); // in the first file
  ASSERT_GT(mark, 0u);
  children.fork_one();
  EXPECT_EQ(engine.state_of(r, address(region) + mark), PageState::kMark) << "not what this is to test";
  expect_valid();
  expect_stored(region); // the mark is shown, and leaves memory
  expect_stored(region);
}

/// The kernel copies a page that both have when one of them stores to it.
TEST(PagerFork, SeesEachStoreToAPageThatAChildHasAsWell) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kHeld = kBudget / 2, kPages = kHeld / 4096;
  char *region = map(kHeld);
  ASSERT_EQ(engine.add(address(region), kHeld), 0);
  memset(region, 1, kHeld);
  Children children;
  children.fork_one();
  const Region r = engine.look_up(address(region));
  EXPECT_EQ(engine.state_of(r, address(region) + kHeld / 2), PageState::kForked);
  expect_valid();
  const uint64_t before = engine.statistics.protect_faults;
  memset(region, 2, kHeld);
  expect_valid();
  EXPECT_EQ(engine.state_of(r, address(region) + kHeld / 2), PageState::kDirty);
  EXPECT_GE(engine.statistics.protect_faults - before, kPages * 9 / 10);
}

/// When the child has gone, one fault is enough for many pages, and none of them is counted as one that might be copied.
TEST(PagerFork, StoresFreelyWhenTheChildHasGone) {
  START_ENGINE(ReleasePolicy::kBuffered);
  constexpr uint64_t kHeld = kBudget / 2;
  char *region = map(kHeld);
  ASSERT_EQ(engine.add(address(region), kHeld), 0);
  memset(region, 1, kHeld);
  {
    Children children;
    children.fork_one();
  }
  const uint64_t faults = settled_fault_events(), before = engine.statistics.protect_faults;
  usleep(10000); // longer than between two looks for others
  memset(region, 2, kHeld);
  EXPECT_LE(settled_fault_events() - faults, 4u);
  EXPECT_EQ(engine.statistics.protect_faults, before);
}

/// What others have is written from copies, and is dirty no more than anything else when it comes back.
TEST(PagerFork, GivesUpWhatAChildHasAsWell) {
  START_ENGINE(ReleasePolicy::kBuffered);
  char *region = map(kBytes), *other = map(kBytes);
  ASSERT_EQ(engine.add(address(region), kBytes), 0);
  store(region, 0);
  Children children;
  children.fork_one();
  ASSERT_EQ(engine.add(address(other), kBytes), 0);
  const uint64_t written = engine.statistics.written_bytes;
  store(other, 0);
  expect_valid();
  EXPECT_GT(engine.statistics.written_bytes, written + kBudget / 2);
  expect_stored(region);
  expect_stored(other);
  expect_valid();
}
