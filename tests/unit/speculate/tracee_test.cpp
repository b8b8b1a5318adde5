// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/inject/tracee.h"
#include <atomic>
#include <csignal>
#include <cstdint>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern "C" struct rseq_cs pagecast_test_sequence;

namespace pagecast::speculate {
namespace {

/// Spins, in instructions that the kernel would have it begin again, if `restartable`.
[[noreturn]] void spin(bool restartable) {
  auto *const area = reinterpret_cast<struct rseq *>(static_cast<char *>(__builtin_thread_pointer()) + __rseq_offset);
  asm volatile("test %1, %1\n jz 3f\n"
               "1: movq %2, %0\n"
               "2: jmp 2b\n"
               "3: jmp 3b\n"
               "  .pushsection .data\n .balign 32\n .globl pagecast_test_sequence\n"
               "pagecast_test_sequence: .long 0, 0\n .quad 2b, 3b - 2b, 4f\n .popsection\n"
               "  .pushsection .text\n .byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n"
               "4: jmp 1b\n .popsection\n"
               : "+m"(area->rseq_cs)
               : "r"(static_cast<uint64_t>(restartable)), "r"(reinterpret_cast<uint64_t>(&pagecast_test_sequence))
               : "memory");
  __builtin_unreachable();
}

class Spinning {
public:
  explicit Spinning(bool restartable) : process(fork()) {
    if (process == 0) spin(restartable);
  }
  ~Spinning() {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  const pid_t process;
};

/// Stops it until it is where it spins.
bool may_be_copied(bool restartable, bool in_fault) {
  const Spinning child(restartable);
  bool mended = false;
  for (int i = 0; i < 20; i++) {
    usleep(2000);
    Tracee tracee;
    if (tracee.stop(child.process, child.process) == Stopped::kYes) mended = tracee.mend(in_fault);
  }
  return mended;
}

TEST(Tracee, AStopInTheProgramsOwnInstructionsDoesNoHarm) {
  EXPECT_TRUE(may_be_copied(false, true));
  EXPECT_FALSE(may_be_copied(false, false)) << "it was not expected there";
}

TEST(Tracee, ButNotInOnesThatAreBegunAgainWhenTheyAreInterrupted) {
  if (__rseq_size == 0) GTEST_SKIP() << "the C library has not registered rseq";
  EXPECT_FALSE(may_be_copied(true, true));
}

/// A process that makes threads without pause, one after the other, and counts those that have ended.
class MakingThreads {
public:
  MakingThreads() : ended(static_cast<std::atomic<uint64_t> *>(memory_)), process(fork()) {
    while (process == 0) {
      std::thread([] {}).join();
      ++*ended;
    }
  }
  ~MakingThreads() {
    kill(process, SIGKILL);
    waitpid(process, nullptr, __WALL);
    munmap(memory_, sizeof *ended);
  }
  /// Waits until some more have ended. False: they have not within seconds.
  bool goes_on() const {
    constexpr uint64_t kMore = 2;
    const uint64_t wanted = *ended + kMore;
    for (int i = 0; *ended < wanted && i < 100000; i++) usleep(100);
    return *ended >= wanted;
  }

private:
  void *const memory_ = mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

public:
  std::atomic<uint64_t> *const ended;
  const pid_t process;
};

TEST(Tracee, AThreadThatIsMadeWhileItsMakerIsBeingStoppedIsNotHeld) {
  const MakingThreads child;
  for (int i = 0; i < 400; i++) {
    {
      Tracee tracee;
      tracee.stop(child.process, child.process);
    }
    ASSERT_TRUE(child.goes_on()) << "after " << i << " stops";
  }
}

} // namespace
} // namespace pagecast::speculate
