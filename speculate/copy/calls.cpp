// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The handler of SIGSYS: answers the calls that the filter does not let through. It runs on a stack of its own.
#include "speculate/copy/state.h"

namespace pagecast::speculate {

State state;

void end(Ended why, long number) {
  if (state.channel) {
    state.channel->ended = static_cast<uint32_t>(why);
    state.channel->call = static_cast<uint32_t>(number);
  }
  for (;;) call(__NR_exit_group, 0L);
}

namespace {

/// As the kernel lays out what a handler gets.
struct Context {
  uint64_t flags;
  void *link;
  uint64_t stack[3];
  int64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
  uint64_t flags_register, segments, error, trap, old_mask, fault_address;
  void *floating_point;
  uint64_t reserved[8];
  uint64_t mask;
};
static_assert(__builtin_offsetof(Context, mask) == 296); // as of ucontext_t

struct Polled {
  int number;
  short wanted, seen;
};

struct Arguments {
  long a, b, c, d, e, f;
};

constexpr long kCwd = kAtCwd;
constexpr uint64_t kOurSignals = uint64_t{1} << 30 | uint64_t{1} << 10; ///< SIGSYS and SIGSEGV, their bits in a mask

template <class T> T *at(long address) { return reinterpret_cast<T *>(address); }

/// The mask is changed where the return from this handler takes it from; SIGSYS and SIGSEGV stay unblocked.
long change_mask(Context &context, const Arguments &x) {
  const uint64_t old = context.mask;
  if (x.d != 8) return -kInvalid;
  if (x.b) {
    const uint64_t given = *at<uint64_t>(x.b);
    context.mask = (x.a == 0 ? old | given : x.a == 1 ? old & ~given : given) & ~kOurSignals;
  }
  if (x.c) *at<uint64_t>(x.c) = old;
  return 0;
}

/// Nobody waits for this copy: waking succeeds. It would wait for ever for others.
long answer_futex(long operation) {
  const long command = operation & 127;
  constexpr long kWake = 1, kRequeue = 3, kCompareRequeue = 4, kWakeOperation = 5, kUnlock = 7, kWakeBits = 10;
  for (const long harmless : {kWake, kRequeue, kCompareRequeue, kWakeOperation, kUnlock, kWakeBits})
    if (command == harmless) return 0;
  end(Ended::kCall, __NR_futex);
}

long answer_identity(long number) {
  switch (number) {
  case __NR_getpid: return pagecast_order.original;
  case __NR_gettid: return pagecast_order.thread;
  case __NR_getppid: return pagecast_order.parent;
  default: return pagecast_order.group;
  }
}

long answer_reading(long number, const Arguments &x) {
  switch (number) {
  case __NR_read: return read_file(static_cast<int>(x.a), at<char>(x.b), x.c, -1);
  case __NR_pread64: return x.d < 0 ? -kInvalid : read_file(static_cast<int>(x.a), at<char>(x.b), x.c, x.d);
  case __NR_readv: return read_vectors(static_cast<int>(x.a), at<Vector>(x.b), x.c, -1);
  case __NR_preadv:
  case __NR_preadv2: return read_vectors(static_cast<int>(x.a), at<Vector>(x.b), x.c, x.d);
  case __NR_sendfile: return pass_through(static_cast<int>(x.b), at<int64_t>(x.c), x.d);
  case __NR_copy_file_range: return pass_through(static_cast<int>(x.a), at<int64_t>(x.b), x.e);
  case __NR_lseek: return seek_file(static_cast<int>(x.a), x.b, static_cast<int>(x.c));
  case __NR_mmap: return map_file(x.a, x.b, x.c, x.d, static_cast<int>(x.e), x.f);
  case __NR_getdents64: return list_directory(static_cast<int>(x.a), at<char>(x.b), x.c);
  default: return -kNoSystemCall;
  }
}

long answer_opening(long number, const Arguments &x) {
  switch (number) {
  case __NR_open: return open_file(kCwd, at<char>(x.a), static_cast<int>(x.b));
  case __NR_openat: return open_file(static_cast<int>(x.a), at<char>(x.b), static_cast<int>(x.c));
  case __NR_creat: return open_file(kCwd, at<char>(x.a), kWriteOnly | kCreate | kTruncate);
  case __NR_close: return close_file(static_cast<int>(x.a));
  case __NR_dup: return duplicate(static_cast<int>(x.a), -1, 0);
  case __NR_dup2: return x.b < 0 ? -kBadDescriptor : duplicate(static_cast<int>(x.a), static_cast<int>(x.b), 0);
  case __NR_dup3:
    return x.b < 0 ? -kBadDescriptor : duplicate(static_cast<int>(x.a), static_cast<int>(x.b), static_cast<int>(x.c));
  case __NR_fcntl: return control_file(static_cast<int>(x.a), static_cast<int>(x.b), x.c);
  case __NR_chdir: return change_directory(at<char>(x.a), -1);
  case __NR_fchdir: return change_directory(nullptr, static_cast<int>(x.a));
  case __NR_mkdir: return make_directory(kCwd, at<char>(x.a));
  case __NR_mkdirat: return make_directory(static_cast<int>(x.a), at<char>(x.b));
  default: return -kNoSystemCall; // openat2: programs try another call
  }
}

long answer_facts(long number, const Arguments &x) {
  switch (number) {
  case __NR_stat: return stat_path(kCwd, at<char>(x.a), at<Stat>(x.b), 0);
  case __NR_lstat: return stat_path(kCwd, at<char>(x.a), at<Stat>(x.b), kAtNoFollow);
  case __NR_fstat: return stat_descriptor(static_cast<int>(x.a), at<Stat>(x.b));
  case __NR_newfstatat: return stat_path(static_cast<int>(x.a), at<char>(x.b), at<Stat>(x.c), static_cast<int>(x.d));
  case __NR_statx:
    return statx_path(static_cast<int>(x.a), at<char>(x.b), static_cast<int>(x.c), static_cast<unsigned>(x.d), at<void>(x.e));
  case __NR_fstatfs: return call(number, x.a, x.b);
  case __NR_fgetxattr: return call(number, x.a, x.b, x.c, x.d);
  case __NR_flistxattr: return call(number, x.a, x.b, x.c);
  case __NR_prlimit64: return x.c ? 0 : call(number, x.a, x.b, 0L, x.d);
  default: return -kNoSystemCall;
  }
}

long answer_writing(long number, const Arguments &x) {
  switch (number) {
  case __NR_write: return write_file(static_cast<int>(x.a), at<char>(x.b), x.c, -1);
  case __NR_pwrite64: return write_file(static_cast<int>(x.a), at<char>(x.b), x.c, x.d);
  case __NR_writev: return write_vectors(static_cast<int>(x.a), at<Vector>(x.b), x.c, -1);
  default: return write_vectors(static_cast<int>(x.a), at<Vector>(x.b), x.c, x.d);
  }
}

/// A program's own advice is as good as a read.
long answer_advice(long number, const Arguments &x) {
  Descriptor *const file = descriptor(static_cast<int>(x.a));
  if (!file) return -kBadDescriptor;
  constexpr long kWillNeed = 3;
  const bool wanted = number == __NR_readahead || x.d == kWillNeed;
  if (wanted && file->kind == Kind::kRegular) hint_read(*file, x.b, x.c ? x.c : static_cast<long>(kSmallFile), false);
  return 0;
}

/// Whoever would write to a pipe or a socket can do so at once: it goes nowhere. What comes from there would never come.
long poll_descriptors(Polled *polled, unsigned long count, bool waits, long number) {
  constexpr short kReadable = 0x41, kWritable = 0x104, kNone = 0x20; // POLLIN and POLLRDNORM, POLLOUT and POLLWRNORM, POLLNVAL
  long ready = 0;
  for (unsigned long i = 0; i < count; i++) {
    Polled &one = polled[i];
    const Descriptor *const file = descriptor(one.number);
    const int possible = file && file->kind == Kind::kOther ? kWritable : kReadable | kWritable;
    one.seen = one.number < 0 ? 0 : file ? static_cast<short>(one.wanted & possible) : kNone;
    ready += one.seen != 0;
  }
  if (ready == 0 && waits) end(Ended::kCall, number);
  return ready;
}

/// Most files cannot be polled, which programs find out by trying: Go's do at each file that they open. What can be is somebody else's.
long answer_polling(long number, const Arguments &x) {
  switch (number) {
  case __NR_epoll_create: return take_other(0);
  case __NR_epoll_create1: return take_other(static_cast<int>(x.a));
  case __NR_eventfd2: return take_other(static_cast<int>(x.b));
  case __NR_epoll_ctl: {
    const Descriptor *const file = descriptor(static_cast<int>(x.c));
    if (!file || !descriptor(static_cast<int>(x.a))) return -kBadDescriptor;
    return file->kind == Kind::kOther ? 0 : -kPermission;
  }
  case __NR_poll: return poll_descriptors(at<Polled>(x.a), static_cast<unsigned long>(x.b), static_cast<int>(x.c) != 0, number);
  case __NR_ppoll: return poll_descriptors(at<Polled>(x.a), static_cast<unsigned long>(x.b), true, number);
  default: // epoll_wait and epoll_pwait: to look is answered, to wait is not
    if (static_cast<int>(x.d) != 0) end(Ended::kCall, number);
    return 0;
  }
}

long answer(long number, const Arguments &x, Context &context) {
  switch (number) {
  case __NR_read:
  case __NR_pread64:
  case __NR_readv:
  case __NR_preadv:
  case __NR_preadv2:
  case __NR_sendfile:
  case __NR_copy_file_range:
  case __NR_lseek:
  case __NR_mmap:
  case __NR_getdents64: return answer_reading(number, x);
  case __NR_open:
  case __NR_openat:
  case __NR_openat2:
  case __NR_creat:
  case __NR_close:
  case __NR_dup:
  case __NR_dup2:
  case __NR_dup3:
  case __NR_fcntl:
  case __NR_chdir:
  case __NR_fchdir:
  case __NR_mkdir:
  case __NR_mkdirat: return answer_opening(number, x);
  case __NR_stat:
  case __NR_lstat:
  case __NR_fstat:
  case __NR_newfstatat:
  case __NR_statx:
  case __NR_fstatfs:
  case __NR_fgetxattr:
  case __NR_flistxattr:
  case __NR_prlimit64: return answer_facts(number, x);
  case __NR_write:
  case __NR_pwrite64:
  case __NR_writev:
  case __NR_pwritev:
  case __NR_pwritev2: return answer_writing(number, x);
  case __NR_fadvise64:
  case __NR_readahead: return answer_advice(number, x);
  case __NR_poll:
  case __NR_ppoll:
  case __NR_epoll_create:
  case __NR_epoll_create1:
  case __NR_eventfd2:
  case __NR_epoll_ctl:
  case __NR_epoll_wait:
  case __NR_epoll_pwait: return answer_polling(number, x);
  case __NR_getpid:
  case __NR_gettid:
  case __NR_getppid:
  case __NR_getpgrp:
  case __NR_getpgid:
  case __NR_getsid: return answer_identity(number);
  case __NR_futex: return answer_futex(x.b);
  case __NR_rt_sigprocmask: return change_mask(context, x);
  case __NR_rt_sigaction: return change_action(static_cast<int>(x.a), at<uint64_t>(x.b), at<uint64_t>(x.c), x.d);
  case __NR_prctl: return -kInvalid;
  case __NR_close_range: return 0;
  case __NR_kill: // a signal for somebody else seems to have been sent
    if (x.a > 0 && x.a != pagecast_order.original) return 0;
    end(Ended::kCall, number);
  case __NR_exit:
  case __NR_exit_group: end(Ended::kFinished, 0);
  default: end(Ended::kCall, number);
  }
}

} // namespace

extern "C" __attribute__((used)) void pagecast_answer(int, const char *info, Context *context) {
  constexpr int kCallAt = 24; // si_syscall
  const long number = *reinterpret_cast<const int *>(info + kCallAt);
  Channel &channel = *state.channel;
  if (__atomic_load_n(&channel.stop, __ATOMIC_RELAXED)) end(Ended::kNot, 0);
  channel.calls++;
  const Arguments x = {context->rdi, context->rsi, context->rdx, context->r10, context->r8, context->r9};
  context->rax = answer(number, x, *context);
}

} // namespace pagecast::speculate
