// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/inject/tracee.h"
#include "speculate/inject/reads_tracer.h"
#include "speculate/watch/proc.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

namespace pagecast::speculate {
namespace {

constexpr uint64_t kUserCode = 0x33; ///< the code segment of 64-bit programs
constexpr long kRestartFirst = -516, kRestartLast = -512;
constexpr int kEventStop = PTRACE_EVENT_STOP;
constexpr int kPatience = 400; ///< quarters of a millisecond

int event_of(int status) { return status >> 16; }

/// Waits until it stops. False: it ended.
bool wait_stop(pid_t thread, int *status) {
  pid_t found;
  while ((found = waitpid(thread, status, __WALL)) < 0 && errno == EINTR) {}
  return found == thread && WIFSTOPPED(*status);
}

/// The same, but no longer than a tenth of a second. Returns 0 when that is over, -1 when it ended, else 1.
int wait_stop_briefly(pid_t thread, int *status) {
  const timespec quarter = {0, 250000};
  for (int i = 0; i < kPatience; i++) {
    const pid_t found = waitpid(thread, status, __WALL | WNOHANG);
    if (found == thread) return WIFSTOPPED(*status) ? 1 : -1;
    if (found < 0 && errno != EINTR) return -1;
    nanosleep(&quarter, nullptr);
  }
  return 0;
}

/// Calls that return EINTR when a stop interrupts them and can be made again: if that was all, nobody has seen it.
bool can_be_made_again(long call) {
  switch (call) {
  case SYS_epoll_wait:
  case SYS_epoll_pwait:
  case SYS_epoll_pwait2:
  case SYS_semop:
  case SYS_semtimedop:
  case SYS_rt_sigtimedwait:
  case SYS_recvfrom:
  case SYS_recvmsg:
  case SYS_sendto:
  case SYS_accept:
  case SYS_accept4:
  case SYS_connect:
  case SYS_read:
  case SYS_futex: return true;
  default: return may_stop_in(call, true);
  }
}

} // namespace

bool may_stop_in(long call, bool asleep) {
  switch (call) {
  case SYS_open:
  case SYS_openat:
  case SYS_stat:
  case SYS_lstat:
  case SYS_newfstatat:
  case SYS_fstat:
  case SYS_statx:
  case SYS_getdents64:
  case SYS_access:
  case SYS_faccessat:
  case SYS_faccessat2:
  case SYS_readlink:
  case SYS_readlinkat: return true;
  case SYS_read:
  case SYS_pread64:
  case SYS_readv:
  case SYS_preadv:
  case SYS_preadv2: return !asleep;
  default: return false;
  }
}

// Clones are not traced yet: until it stops, the thread may make one of its own, which nobody would let go of.
bool Tracee::seize() { return tracer_ || ptrace(PTRACE_SEIZE, thread_, 0L, 0L) == 0; }

Stopped Tracee::stop(pid_t process, pid_t thread, ReadsTracer *tracer) {
  tracer_ = tracer;
  process_ = process;
  thread_ = thread;
  if (!seize()) {
    thread_ = 0;
    return errno == ESRCH ? Stopped::kNotNow : Stopped::kRefused;
  }
  int status = 0;
  if (ptrace(PTRACE_INTERRUPT, thread, 0L, 0L) || !wait_stop(thread, &status)) {
    if (tracer_) tracer_->see(thread, status);
    thread_ = 0;
    return Stopped::kNotNow;
  }
  // Of a thread that is traced, the end of the call comes in place of the stop that was asked for.
  const bool ours =
      (event_of(status) == kEventStop && WSTOPSIG(status) == SIGTRAP) || (tracer_ && tracer_->is_end_of_call(thread, status));
  if (!ours && tracer_) {
    tracer_->see(thread, status);
    thread_ = 0;
    return Stopped::kNotNow;
  }
  if (!ours) {
    if (event_of(status) == 0) signal_ = WSTOPSIG(status);
    detach();
    return Stopped::kNotNow;
  }
  if (ptrace(PTRACE_GETREGS, thread, 0L, &registers_) || registers_.cs != kUserCode) {
    detach();
    return Stopped::kNotNow;
  }
  return Stopped::kYes;
}

/// Whether the thread is in a sequence of instructions that the kernel would have it begin again (rseq): if it went elsewhere
/// in between, it would not.
bool Tracee::is_in_restartable() const {
  constexpr long kGetConfiguration = 0x420f; // PTRACE_GET_RSEQ_CONFIGURATION
  struct {
    uint64_t area;
    uint32_t size, signature, flags, unused;
  } found = {};
  if (syscall(SYS_ptrace, kGetConfiguration, thread_, sizeof found, &found) <= 0 || found.area == 0) return false;
  const auto read = [&](uint64_t address, void *to, uint64_t bytes) {
    iovec local = {to, bytes}, remote = {reinterpret_cast<void *>(address), bytes};
    return process_vm_readv(process_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
  };
  uint64_t sequence = 0;
  struct {
    uint32_t version, flags;
    uint64_t begin, bytes, abort;
  } facts = {};
  constexpr uint64_t kSequence = 8; // rseq_cs in struct rseq
  if (!read(found.area + kSequence, &sequence, sizeof sequence)) return true;
  if (sequence == 0) return false;
  return !read(sequence, &facts, sizeof facts) || registers_.rip - facts.begin < facts.bytes;
}

bool Tracee::mend(bool in_fault) {
  const long result = static_cast<long>(registers_.rax), call = static_cast<long>(registers_.orig_rax);
  // Not in a call, but in a page fault, or behind one: the instruction is made again.
  if (call < 0) return in_fault && !facts_of(process_, thread_).pending && !is_in_restartable();
  if (result >= kRestartFirst && result <= kRestartLast) return false; // the kernel will make the call again itself
  if (facts_of(process_, thread_).pending) return false;
  if (result != -EINTR || !can_be_made_again(call)) return result != -EINTR;
  user_regs_struct again = registers_;
  again.rax = registers_.orig_rax;
  again.orig_rax = static_cast<unsigned long>(-1L);
  again.rip -= 2; // the call instruction
  ptrace(PTRACE_SETREGS, thread_, 0L, &again);
  return false;
}

bool Tracee::write_code(uint64_t address, const uint8_t *bytes, unsigned length) {
  for (unsigned at = 0; at < length; at += sizeof(long)) {
    long word = 0;
    memcpy(&word, bytes + at, length - at < sizeof word ? length - at : sizeof word);
    if (ptrace(PTRACE_POKETEXT, thread_, address + at, word)) return false;
  }
  return true;
}

pid_t Tracee::run_to_clone(uint64_t address) {
  user_regs_struct there = registers_;
  there.rip = address;
  there.orig_rax = static_cast<unsigned long>(-1L);
  if (!tracer_ && ptrace(PTRACE_SETOPTIONS, thread_, 0L, PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK)) return 0;
  if (ptrace(PTRACE_SETREGS, thread_, 0L, &there)) return 0;
  int signal = 0;
  for (;;) {
    int status = 0;
    if (ptrace(PTRACE_CONT, thread_, 0L, signal)) return 0;
    int found = wait_stop_briefly(thread_, &status);
    if (found == 0) { // it may not clone, or a handler keeps it from that: it is let go of all the same
      ptrace(PTRACE_INTERRUPT, thread_, 0L, 0L);
      found = wait_stop(thread_, &status) ? 1 : -1;
      if (found > 0 && event_of(status) == 0) signal_ = WSTOPSIG(status);
      if (found > 0 && event_of(status) != PTRACE_EVENT_CLONE && event_of(status) != PTRACE_EVENT_FORK) {
        if (ptrace(PTRACE_GETREGS, thread_, 0L, &registers_) == 0) mend(false);
        return 0;
      }
    }
    if (found < 0) {
      thread_ = 0;
      return 0;
    }
    if (event_of(status) == PTRACE_EVENT_CLONE || event_of(status) == PTRACE_EVENT_FORK) break;
    signal = event_of(status) == 0 ? WSTOPSIG(status) : 0;
  }
  unsigned long clone = 0;
  return ptrace(PTRACE_GETEVENTMSG, thread_, 0L, &clone) ? 0 : static_cast<pid_t>(clone);
}

void Tracee::detach() {
  if (thread_ && tracer_) tracer_->go_on(thread_, signal_);
  else if (thread_) ptrace(PTRACE_DETACH, thread_, 0L, signal_);
  thread_ = 0;
  signal_ = 0;
}

Clone::~Clone() {
  if (!held_) return;
  kill(process_, SIGKILL);
  int status;
  waitpid(process_, &status, __WALL);
}

bool Clone::hold() {
  int status = 0;
  if (!wait_stop(process_, &status)) return false;
  held_ = true;
  return ptrace(PTRACE_SETOPTIONS, process_, 0L, PTRACE_O_EXITKILL) == 0;
}

bool Clone::call(uint64_t at, long number, const uint64_t (&arguments)[6], uint64_t *result) {
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, process_, 0L, &registers)) return false;
  registers.orig_rax = static_cast<unsigned long>(-1L);
  registers.rip = at;
  registers.rax = static_cast<unsigned long>(number);
  registers.rdi = arguments[0];
  registers.rsi = arguments[1];
  registers.rdx = arguments[2];
  registers.r10 = arguments[3];
  registers.r8 = arguments[4];
  registers.r9 = arguments[5];
  int status = 0;
  if (ptrace(PTRACE_SETREGS, process_, 0L, &registers) || ptrace(PTRACE_SINGLESTEP, process_, 0L, 0L)) return false;
  if (!wait_stop(process_, &status) || event_of(status) || WSTOPSIG(status) != SIGTRAP) return false;
  if (ptrace(PTRACE_GETREGS, process_, 0L, &registers)) return false;
  *result = registers.rax;
  return true;
}

bool Clone::write(uint64_t address, const void *from, uint64_t bytes) {
  iovec local = {const_cast<void *>(from), bytes}, remote = {reinterpret_cast<void *>(address), bytes};
  return process_vm_writev(process_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

bool Clone::run_to_breakpoint(uint64_t address, uint64_t stack) {
  user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, process_, 0L, &registers)) return false;
  registers.rip = address;
  registers.rsp = stack;
  registers.orig_rax = static_cast<unsigned long>(-1L);
  int status = 0;
  if (ptrace(PTRACE_SETREGS, process_, 0L, &registers) || ptrace(PTRACE_CONT, process_, 0L, 0L)) return false;
  if (!wait_stop(process_, &status)) {
    held_ = false;
    return false;
  }
  return event_of(status) == 0 && WSTOPSIG(status) == SIGTRAP;
}

bool Clone::release() {
  if (ptrace(PTRACE_DETACH, process_, 0L, 0L)) return false;
  held_ = false;
  return true;
}

} // namespace pagecast::speculate
