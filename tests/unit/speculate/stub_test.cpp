// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions that make a program clone itself, run here: in a process of the test's own.
#include "speculate/inject/stub.h"

#include <cstring>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pagecast::speculate::test {
namespace {

/// A child that stops at a breakpoint, and that the test then lets run through a stub back to that place.
struct StubTest : ::testing::Test {
  void SetUp() override {
    code = static_cast<uint8_t *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    child = fork();
    if (child == 0) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      asm volatile("int3");
      // Whoever is not reaped is found here: only the wait that asks for all sees a clone without a signal.
      const bool none = waitpid(-1, nullptr, WNOHANG) < 0;
      const bool clone = waitpid(-1, nullptr, __WALL) > 0;
      _exit(none && clone ? 42 : 1);
    }
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    ptrace(PTRACE_GETREGS, child, nullptr, &before);
  }

  void place(const Stub &stub) { memcpy(code, stub.bytes, kStubBytes); }
  void run_from_stub() {
    user_regs_struct there = before;
    there.rip = reinterpret_cast<uint64_t>(code);
    ptrace(PTRACE_SETREGS, child, nullptr, &there);
  }
  /// Instruction by instruction, until it is back.
  user_regs_struct step_back() {
    user_regs_struct now = {};
    for (int i = 0; i < 200 && now.rip != before.rip; i++) {
      int status;
      ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
      EXPECT_EQ(waitpid(child, &status, 0), child);
      ptrace(PTRACE_GETREGS, child, nullptr, &now);
    }
    return now;
  }
  int end() {
    int status = 0;
    ptrace(PTRACE_DETACH, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  uint8_t *code = nullptr;
  pid_t child = 0;
  user_regs_struct before = {};
};

TEST_F(StubTest, AllRegistersAreAsBefore) {
  before.rax = 0x1111111111111111;
  before.rcx = 0x2222222222222222;
  before.rdx = 0x3333333333333333;
  before.r8 = ~uint64_t{0};
  before.r11 = 0x4444444444444444;
  const user_regs_struct wanted = before;
  place(make_stub(before, 0));
  ptrace(PTRACE_GETREGS, child, nullptr, &before);
  run_from_stub();
  const user_regs_struct now = step_back();
  EXPECT_EQ(now.rip, wanted.rip);
  EXPECT_EQ(now.rsp, wanted.rsp);
  EXPECT_EQ(now.eflags & ~0x100ul, wanted.eflags & ~0x100ul);
  for (const auto member : {&user_regs_struct::rax, &user_regs_struct::rbx, &user_regs_struct::rcx, &user_regs_struct::rdx,
                            &user_regs_struct::rsi, &user_regs_struct::rdi, &user_regs_struct::rbp, &user_regs_struct::r8,
                            &user_regs_struct::r9, &user_regs_struct::r10, &user_regs_struct::r11, &user_regs_struct::r12})
    EXPECT_EQ(now.*member, wanted.*member);
}

TEST_F(StubTest, WhoeverLetsGoAtOnceLosesNothing) {
  place(make_stub(before, 0));
  run_from_stub();
  EXPECT_EQ(end(), 42) << "the clone ended by itself, unseen";
}

TEST_F(StubTest, AnEarlierCopyIsReaped) {
  place(make_stub(before, 0));
  run_from_stub();
  const user_regs_struct now = step_back();
  ASSERT_EQ(now.rip, before.rip);
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", child, child);
  FILE *const file = fopen(path, "r");
  ASSERT_TRUE(file && fgets(text, sizeof text, file));
  fclose(file);
  const pid_t first = atoi(text);
  ASSERT_GT(first, 0);
  usleep(20000); // it has ended by now, or is reaped later
  place(make_stub(before, first));
  run_from_stub();
  step_back();
  EXPECT_NE(kill(first, 0), 0);
  EXPECT_EQ(end(), 42);
}

TEST(Stub, FitsBeforeItsMark) {
  user_regs_struct all;
  memset(&all, 0xff, sizeof all);
  const Stub stub = make_stub(all, 0x7fffffff);
  EXPECT_LE(stub.length, kStubBytes - sizeof kStubMark);
  EXPECT_EQ(memcmp(stub.bytes + kStubBytes - sizeof kStubMark, kStubMark, sizeof kStubMark), 0);
  EXPECT_EQ(stub.bytes[stub.call_at], 0x0f);
  EXPECT_EQ(stub.bytes[stub.call_at + 1], 0x05);
}

} // namespace
} // namespace pagecast::speculate::test
