// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Backing files across forks: nobody writes to a file that somebody else still reads.
#include "runtime/store/fork_files.h"
#include "runtime/store/local_store.h"

#include "runtime/kernel/descriptors.h"

#include <gtest/gtest.h>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

using namespace pagecast;

namespace {

struct LocalFiles : ForkFiles {
  Disk disk;
  LocalStore local;
};

std::unique_ptr<LocalFiles> fresh() {
  auto l = std::make_unique<LocalFiles>();
  char why[400];
  l->local.start(l->disk, "/var/tmp");
  Store *const stores[] = {&l->local};
  if (l->start(stores, 1, 0, why, sizeof why)) return nullptr;
  return l;
}

/// A child that shares what there is and does `body`; -1 if it cannot be had.
template <typename Body> pid_t child(ForkFiles &l, Body body) {
  if (l.before_fork()) return -1;
  const pid_t pid = fork();
  l.after_fork(pid == 0);
  if (pid == 0) _exit(body());
  return pid;
}

int status_of(pid_t pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

} // namespace

TEST(ForkFiles, OneFileUntilAFork) {
  auto l = fresh();
  if (!l) GTEST_SKIP() << "/var/tmp takes no direct I/O";
  EXPECT_EQ(l->home(), 0);
  l->put(5, 10, 0);
  EXPECT_EQ(l->file_of(5), 0u);
  EXPECT_EQ(l->run(0, 100), 100u);
  EXPECT_EQ(l->count(), 1u);
}

TEST(ForkFiles, WritesGoElsewhereWhileAChildReadsAndComeBackAfterIt) {
  auto l = fresh();
  if (!l) GTEST_SKIP() << "/var/tmp takes no direct I/O";
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  const pid_t pid = child(*l, [&] {
    close(hold[1]);
    char c;
    return l->home() != 1 || read(hold[0], &c, 1) != 0;
  });
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(l->shared(0));
  const int own = l->home();
  EXPECT_EQ(own, 1);
  l->put(64, 32, static_cast<unsigned>(own));
  EXPECT_EQ(l->file_of(63), 0u);
  EXPECT_EQ(l->file_of(64), 1u);
  EXPECT_EQ(l->run(60, 50), 4u);
  EXPECT_EQ(l->run(64, 50), 32u);
  close(hold[1]);
  close(hold[0]);
  EXPECT_EQ(status_of(pid), 0);
  EXPECT_EQ(l->home(), 0);
  EXPECT_FALSE(l->shared(0));
}

TEST(ForkFiles, FilesAreSharedUntilTheLastOneHasGone) {
  auto l = fresh();
  if (!l) GTEST_SKIP() << "/var/tmp takes no direct I/O";
  int answer[2];
  ASSERT_EQ(pipe(answer), 0);
  const pid_t middle = child(*l, [&] {
    const pid_t inner = child(*l, [&] {
      char homes[2] = {static_cast<char>(l->home()), 0};
      usleep(50000); // the middle one has gone; the test itself still shares
      homes[1] = static_cast<char>(l->home());
      return write(answer[1], homes, 2) != 2;
    });
    return inner < 0;
  });
  EXPECT_EQ(status_of(middle), 0);
  char homes[2] = {-1, -1};
  ASSERT_EQ(read(answer[0], homes, 2), 2);
  EXPECT_EQ(homes[0], 1);
  EXPECT_EQ(homes[1], 1) << "the test's own process still reads file 0";
  for (int i = 0; i < 200 && l->home() != 0; ++i) usleep(10000);
  EXPECT_EQ(l->home(), 0);
}

TEST(Descriptors, OwnOnesAreFoundInOrder) {
  constexpr int k = 40000; // beyond those of other tests
  EXPECT_FALSE(is_own(k + 7));
  own_descriptor(k + 7);
  own_descriptor(k + 300);
  own_descriptor(-1);
  EXPECT_TRUE(is_own(k + 7));
  EXPECT_FALSE(is_own(-1));
  EXPECT_EQ(next_own(unsigned{k}, k + 1000u), k + 7);
  EXPECT_EQ(next_own(k + 8u, k + 1000u), k + 300);
  EXPECT_EQ(next_own(k + 8u, k + 299u), -1);
  EXPECT_EQ(next_own(k + 301u, ~0u), -1);
  disown_descriptor(k + 7);
  disown_descriptor(k + 300);
  EXPECT_EQ(next_own(unsigned{k}, ~0u), -1);
}
