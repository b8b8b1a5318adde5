// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/sandbox/filter.h"
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

namespace pagecast::speculate {
namespace {

constexpr uint32_t kNumber = offsetof(seccomp_data, nr), kArch = offsetof(seccomp_data, arch);
constexpr uint32_t kPlace = offsetof(seccomp_data, instruction_pointer);
constexpr uint32_t argument(unsigned i) { return offsetof(seccomp_data, args) + 8 * i; }
constexpr uint32_t kPretend = SECCOMP_RET_ERRNO | 0, kAllow = SECCOMP_RET_ALLOW, kAnswer = SECCOMP_RET_TRAP;
constexpr uint32_t kX32 = 0x40000000;

constexpr int kNative[] = {
#define NATIVE(name) SYS_##name,
#include "speculate/sandbox/calls.def"
};
constexpr int kPretended[] = {
#define PRETEND(name) SYS_##name,
#include "speculate/sandbox/calls.def"
};
constexpr int kOwn[] = {
#define OWN(name) SYS_##name,
#include "speculate/sandbox/calls.def"
};

/// Collects steps; conditions are written as blocks that are left by a return or fall through to what follows.
class Writer {
public:
  Writer(FilterStep *steps, unsigned capacity) : steps_(steps), capacity_(capacity) {}

  void load(uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void give(uint32_t answer) { add(BPF_RET | BPF_K, answer); }
  /// If the loaded word is `value`, the answer.
  void give_if(uint32_t value, uint32_t answer) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    give(answer);
  }
  void give_unless(uint32_t value, uint32_t answer) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    give(answer);
  }
  void give_if_any_bit(uint32_t bits, uint32_t answer) {
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    give(answer);
  }
  void give_if_at_least(uint32_t value, uint32_t answer) {
    add(BPF_JMP | BPF_JGE | BPF_K, value, 0, 1);
    give(answer);
  }
  /// What is written until end() is passed over unless the condition of the loaded word holds.
  unsigned if_equal(uint32_t value) { return open(BPF_JEQ, value, true); }
  unsigned if_at_least(uint32_t value) { return open(BPF_JGE, value, true); }
  unsigned if_below(uint32_t value) { return open(BPF_JGE, value, false); }
  void end(unsigned block) {
    if (block >= capacity_ || count_ > capacity_) return;
    FilterStep &jump = steps_[block];
    const unsigned distance = count_ - block - 1;
    if (distance > 255) failed_ = true;
    (jump.jump_false == 1 ? jump.jump_false : jump.jump_true) = static_cast<uint8_t>(distance);
  }
  unsigned count() const { return failed_ || count_ > capacity_ ? 0 : count_; }

private:
  void add(unsigned code, uint32_t k, uint8_t if_true = 0, uint8_t if_false = 0) {
    if (count_ < capacity_) steps_[count_] = {static_cast<uint16_t>(code), if_true, if_false, k};
    count_++;
  }
  unsigned open(unsigned condition, uint32_t value, bool when) {
    add(BPF_JMP | condition | BPF_K, value, when ? 0 : 1, when ? 1 : 0);
    return count_ - 1;
  }

  FilterStep *steps_;
  unsigned capacity_;
  unsigned count_ = 0;
  bool failed_ = false;
};

/// Only what the processor runs as a 64-bit program: int 0x80 and x32 have other numbers for everything.
void refuse_other_abis(Writer &w) {
  w.load(kArch);
  w.give_unless(AUDIT_ARCH_X86_64, SECCOMP_RET_KILL_PROCESS);
  w.load(kNumber);
  w.give_if_at_least(kX32, SECCOMP_RET_KILL_PROCESS);
}

/// Calls that carry the cookie. What they may do is as narrow as it can be said.
void allow_own(Writer &w, const FilterAddresses &own) {
  w.load(argument(5));
  const unsigned low = w.if_equal(static_cast<uint32_t>(own.cookie));
  w.load(argument(5) + 4);
  const unsigned high = w.if_equal(static_cast<uint32_t>(own.cookie >> 32));
  w.load(kNumber);
  const unsigned open = w.if_equal(SYS_openat);
  w.load(argument(2));
  w.give_if_any_bit(O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, SECCOMP_RET_KILL_PROCESS);
  w.give(kAllow);
  w.end(open);
  const unsigned futex = w.if_equal(SYS_futex);
  w.load(argument(1));
  w.give_if(1 /* FUTEX_WAKE */, kAllow);
  w.give(SECCOMP_RET_KILL_PROCESS);
  w.end(futex);
  const unsigned control = w.if_equal(SYS_fcntl);
  w.load(argument(1));
  w.give_if(F_DUPFD, kAllow);
  w.give_if(F_DUPFD_CLOEXEC, kAllow);
  w.give_if(F_GETFD, kAllow);
  w.give_if(F_SETFD, kAllow);
  w.give(SECCOMP_RET_KILL_PROCESS);
  w.end(control);
  const unsigned limit = w.if_equal(SYS_prlimit64);
  w.load(argument(2)); // the new limit: none
  const unsigned none = w.if_equal(0);
  w.load(argument(2) + 4);
  w.give_if(0, kAllow);
  w.end(none);
  w.give(SECCOMP_RET_KILL_PROCESS);
  w.end(limit);
  for (const int call : kOwn)
    if (call != SYS_openat && call != SYS_futex && call != SYS_fcntl && call != SYS_prlimit64)
      w.give_if(static_cast<uint32_t>(call), kAllow);
  w.end(high);
  w.end(low);
}

/// The two calls of six arguments, from where the copy's own code makes them. Mappings must be private.
void allow_own_of_six(Writer &w, const FilterAddresses &own) {
  w.load(kPlace + 4);
  const unsigned near = w.if_equal(static_cast<uint32_t>(own.begin >> 32));
  w.load(kPlace);
  const unsigned behind = w.if_at_least(static_cast<uint32_t>(own.begin));
  const unsigned before = w.if_below(static_cast<uint32_t>(own.end));
  w.load(kNumber);
  const unsigned map = w.if_equal(SYS_mmap);
  w.load(argument(3));
  w.give_if_any_bit(MAP_SHARED, SECCOMP_RET_KILL_PROCESS); // MAP_SHARED_VALIDATE has that bit, too
  w.give(kAllow);
  w.end(map);
  const unsigned read = w.if_equal(SYS_preadv2);
  w.load(argument(5));
  w.give_if(RWF_NOWAIT, kAllow);
  w.end(read);
  w.end(before);
  w.end(behind);
  w.end(near);
}

/// Calls of the program that are allowed only with some arguments.
void limit_arguments(Writer &w) {
  w.load(kNumber);
  const unsigned map = w.if_equal(SYS_mmap);
  w.load(argument(3));
  w.give_if(MAP_PRIVATE | MAP_ANONYMOUS, kAllow);
  w.give_if(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, kAllow);
  w.give_if(MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, kAllow);
  w.give_if(MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, kAllow);
  w.give(kAnswer);
  w.end(map);
  const unsigned advise = w.if_equal(SYS_madvise);
  w.load(argument(2));
  w.give_if(MADV_DONTNEED, kAllow);
  w.give_if(MADV_FREE, kAllow);
  w.give_if_at_least(MADV_WILLNEED + 1, kPretend); // MADV_REMOVE punches holes into files
  w.give(kAllow);
  w.end(advise);
  const unsigned action = w.if_equal(SYS_rt_sigaction);
  w.load(argument(0));
  w.give_if(SIGSYS, kPretend);
  w.give_if(SIGSEGV, kAnswer);
  w.give(kAllow);
  w.end(action);
  w.give_if(SYS_ioctl, SECCOMP_RET_ERRNO | ENOTTY);
}

} // namespace

unsigned make_filter(const FilterAddresses &own, FilterStep *steps, unsigned capacity) {
  if (own.begin >> 32 != (own.end - 1) >> 32) return 0; // the checks of where a call stands compare low halves
  Writer w(steps, capacity);
  refuse_other_abis(w);
  allow_own(w, own);
  allow_own_of_six(w, own);
  limit_arguments(w);
  for (const int call : kNative) w.give_if(static_cast<uint32_t>(call), kAllow);
  for (const int call : kPretended) w.give_if(static_cast<uint32_t>(call), kPretend);
  w.give(kAnswer);
  return w.count();
}

} // namespace pagecast::speculate
