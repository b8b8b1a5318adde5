// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The filter of a copy, run by a small interpreter against every call there is, with arguments that could do harm.
#include "speculate/sandbox/filter.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <set>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

namespace pagecast::speculate::test {
namespace {

constexpr FilterAddresses kPlace = {0x7f0012340000, 0x7f0012440000, 0x0123456789abcdef};
constexpr uint32_t kAllow = SECCOMP_RET_ALLOW, kTrap = SECCOMP_RET_TRAP, kKill = SECCOMP_RET_KILL_PROCESS;

struct FilterTest : ::testing::Test {
  FilterTest() { count = make_filter(kPlace, steps, kMaxFilter); }

  uint32_t run(const seccomp_data &data) const {
    uint32_t a = 0;
    for (unsigned at = 0; at < count; at++) {
      const FilterStep &step = steps[at];
      bool when = false;
      switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS: memcpy(&a, reinterpret_cast<const char *>(&data) + step.k, 4); continue;
      case BPF_RET | BPF_K: return step.k;
      case BPF_JMP | BPF_JEQ | BPF_K: when = a == step.k; break;
      case BPF_JMP | BPF_JGE | BPF_K: when = a >= step.k; break;
      case BPF_JMP | BPF_JSET | BPF_K: when = a & step.k; break;
      default: ADD_FAILURE() << "step " << at; return 0;
      }
      at += when ? step.jump_true : step.jump_false;
    }
    ADD_FAILURE() << "it ends without an answer";
    return 0;
  }
  /// The program makes the call.
  uint32_t program(long number, std::initializer_list<uint64_t> arguments = {}) const {
    seccomp_data data = {static_cast<int>(number), AUDIT_ARCH_X86_64, 0x555555550000, {}};
    unsigned i = 0;
    for (const uint64_t argument : arguments) data.args[i++] = argument;
    return run(data);
  }
  /// The copy's own code does.
  uint32_t own(long number, std::initializer_list<uint64_t> arguments = {}, bool cookie = true) const {
    seccomp_data data = {static_cast<int>(number), AUDIT_ARCH_X86_64, kPlace.begin + 100, {}};
    unsigned i = 0;
    for (const uint64_t argument : arguments) data.args[i++] = argument;
    if (cookie) data.args[5] = kPlace.cookie;
    return run(data);
  }

  FilterStep steps[kMaxFilter];
  unsigned count = 0;
};

/// Calls that a program can make in a copy as they are, whatever their arguments. Each has been thought about: to add one
/// here and in sandbox/calls.def is to say that it changes nothing outside.
const std::set<long> kHarmless = {
    SYS_brk,           SYS_munmap,       SYS_mprotect,        SYS_mremap,    SYS_mincore,     SYS_rt_sigreturn,
    SYS_sched_yield,   SYS_arch_prctl,   SYS_set_tid_address, SYS_rseq,      SYS_getuid,      SYS_geteuid,
    SYS_getgid,        SYS_getegid,      SYS_getgroups,       SYS_getresuid, SYS_getresgid,   SYS_getrusage,
    SYS_getrlimit,     SYS_sysinfo,      SYS_times,           SYS_uname,     SYS_getpriority, SYS_getcpu,
    SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday,    SYS_time,      SYS_getrandom,   SYS_sched_getaffinity,
    SYS_access,        SYS_faccessat,    SYS_faccessat2,      SYS_readlink,  SYS_readlinkat,  SYS_getcwd,
    SYS_statfs,        SYS_getxattr,     SYS_lgetxattr,       SYS_listxattr, SYS_llistxattr};

TEST_F(FilterTest, FitsAndEnds) {
  ASSERT_GT(count, 100u);
  ASSERT_LT(count, kMaxFilter);
}

TEST_F(FilterTest, OnlyHarmlessCallsAreMadeAsTheyAre) {
  for (long number = 0; number < 600; number++) {
    if (number == SYS_mmap || number == SYS_madvise || number == SYS_rt_sigaction) continue;
    EXPECT_EQ(program(number, {1, 2, 3, 4, 5, 6}) == kAllow, kHarmless.count(number) == 1) << "call " << number;
  }
}

TEST_F(FilterTest, WhatIsNotListedIsNeverMade) {
  for (const long number : {SYS_ptrace,
                            SYS_kill,
                            SYS_tgkill,
                            SYS_clone,
                            SYS_clone3,
                            SYS_fork,
                            SYS_execve,
                            SYS_socket,
                            SYS_connect,
                            SYS_write,
                            SYS_pwrite64,
                            SYS_writev,
                            SYS_sendfile,
                            SYS_splice,
                            SYS_io_uring_setup,
                            SYS_io_submit,
                            SYS_bpf,
                            SYS_mount,
                            SYS_process_vm_writev,
                            SYS_pidfd_getfd,
                            SYS_memfd_create,
                            SYS_shmat,
                            SYS_ioctl}) {
    EXPECT_NE(program(number), kAllow) << number;
    EXPECT_NE(own(number), kAllow) << number;
  }
}

TEST_F(FilterTest, OtherNumberingsAreKilled) {
  seccomp_data data = {SYS_getuid, AUDIT_ARCH_I386, 0x555555550000, {}};
  EXPECT_EQ(run(data), kKill) << "int 0x80";
  EXPECT_EQ(program(0x40000000 | SYS_getuid), kKill) << "x32";
  EXPECT_EQ(program(-1), kKill);
  EXPECT_EQ(own(0x40000000 | SYS_openat2), kKill);
}

TEST_F(FilterTest, MemoryIsNeverShared) {
  for (const uint64_t flags : {MAP_SHARED, MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED_VALIDATE, MAP_PRIVATE}) {
    EXPECT_EQ(program(SYS_mmap, {0, 4096, 3, flags, 3, 0}), kTrap) << flags;
    if (flags != MAP_PRIVATE) { EXPECT_EQ(own(SYS_mmap, {0, 4096, 3, flags, 3, 0}, false), kKill) << flags; }
  }
  EXPECT_EQ(program(SYS_mmap, {0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0}), kAllow);
  EXPECT_EQ(own(SYS_mmap, {0, 4096, 3, MAP_PRIVATE, 3, 0}, false), kAllow);
}

TEST_F(FilterTest, AdviceThatRemovesIsNotGiven) {
  for (const uint64_t advice : {9, 12, 13, 21, 100}) EXPECT_EQ(program(SYS_madvise, {0, 4096, advice}), SECCOMP_RET_ERRNO | 0u);
  for (const uint64_t advice : {0, 1, 2, 3, 4, 8}) EXPECT_EQ(program(SYS_madvise, {0, 4096, advice}), kAllow);
}

TEST_F(FilterTest, TheHandlerStaysInPlace) {
  EXPECT_EQ(program(SYS_rt_sigaction, {SIGSYS, 1, 0, 8}), SECCOMP_RET_ERRNO | 0u);
  EXPECT_EQ(program(SYS_rt_sigaction, {SIGINT, 1, 0, 8}), kAllow);
}

TEST_F(FilterTest, OwnCallsNeedTheCookie) {
  for (const long number : {SYS_openat2, SYS_close, SYS_dup3, SYS_fstat, SYS_getdents64, SYS_lseek, SYS_pread64}) {
    EXPECT_EQ(own(number, {1, 2, 3}), kAllow) << number;
    EXPECT_EQ(own(number, {1, 2, 3}, false), kTrap) << number << ": a wild jump into the copy's code";
  }
  seccomp_data half = {SYS_openat2, AUDIT_ARCH_X86_64, kPlace.begin, {0, 0, 0, 0, 0, kPlace.cookie & 0xffffffff}};
  EXPECT_EQ(run(half), kTrap);
}

TEST_F(FilterTest, OwnCallsCannotWrite) {
  for (const uint64_t flags : {O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC, O_RDONLY | O_APPEND})
    EXPECT_EQ(own(SYS_openat, {0, 0, flags}), kKill) << flags;
  EXPECT_EQ(own(SYS_openat, {0, 0, O_RDONLY | O_CLOEXEC}), kAllow);
  EXPECT_EQ(own(SYS_fcntl, {3, F_SETFL, O_NONBLOCK}), kKill);
  EXPECT_EQ(own(SYS_fcntl, {3, F_SETLK, 0}), kKill);
  EXPECT_EQ(own(SYS_futex, {0, 0 /* wait */, 0}), kKill);
  EXPECT_EQ(own(SYS_prlimit64, {0, 7, 0x1000, 0}), kKill) << "a new limit";
  EXPECT_EQ(own(SYS_prlimit64, {0, 7, 0x100000000, 0}), kKill);
  EXPECT_EQ(own(SYS_prlimit64, {0, 7, 0, 0x1000}), kAllow);
}

TEST_F(FilterTest, ReadsThatCouldWaitAreNotMadeFromElsewhere) {
  EXPECT_EQ(own(SYS_preadv2, {3, 0, 1, 0, 0, RWF_NOWAIT}, false), kAllow);
  EXPECT_EQ(program(SYS_preadv2, {3, 0, 1, 0, 0, RWF_NOWAIT}), kTrap);
  EXPECT_EQ(own(SYS_preadv2, {3, 0, 1, 0, 0, 0}, false), kTrap);
}

TEST_F(FilterTest, APlaceThatItsChecksCannotNameIsRefused) {
  FilterStep some[kMaxFilter];
  EXPECT_EQ(make_filter({0x7effffff0000, 0x7f0000010000, 1}, some, kMaxFilter), 0u);
  EXPECT_EQ(make_filter(kPlace, some, 50), 0u);
}

} // namespace
} // namespace pagecast::speculate::test
