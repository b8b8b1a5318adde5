// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/inject/reads_tracer.h"
#include "speculate/watch/clock.h"
#include "speculate/watch/proc.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

namespace pagecast::speculate {
namespace {

constexpr long kOptions =
    PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
constexpr int kCallStop = SIGTRAP | 0x80;
constexpr uint64_t kMostAtOnce = 64u << 20; ///< bytes of one read that are looked at

/// An offset that the program keeps in its memory.
bool read_number(pid_t process, uint64_t address, uint64_t *to) {
  iovec local = {to, sizeof *to}, remote = {reinterpret_cast<void *>(address), sizeof *to};
  return process_vm_readv(process, &local, 1, &remote, 1, 0) == sizeof *to;
}

/// Is it a regular file? `inode`: which.
bool is_regular(pid_t thread, uint64_t file, struct stat *facts) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", thread, static_cast<int>(file));
  return stat(path, facts) == 0 && S_ISREG(facts->st_mode);
}

uint64_t position_of(pid_t thread, uint64_t file) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", thread, static_cast<int>(file));
  return read_whole(path, text, sizeof text) ? field(text, "pos", 0) : 0;
}

/// Writes, and mappings of files.
bool is_noted(uint64_t number, const uint64_t *a) {
  constexpr uint64_t kAnonymous = 32;
  switch (number) {
  case SYS_write:
  case SYS_writev:
  case SYS_pwrite64:
  case SYS_pwritev:
  case SYS_pwritev2:
  case SYS_sendfile:
  case SYS_copy_file_range: return true;
  case SYS_mmap: return !(a[3] & kAnonymous);
  default: return false;
  }
}

} // namespace

bool ReadsTracer::attach(pid_t process) { return ptrace(PTRACE_SEIZE, process, 0L, kOptions) == 0; }

void ReadsTracer::go_on(pid_t thread, int signal) { ptrace(PTRACE_SYSCALL, thread, 0L, signal); }

/// Which part of which file the call is about to read. Vectors are taken to be as long as the file.
bool ReadsTracer::find_read(pid_t thread, uint64_t number, const uint64_t *a, Ledger::Reading *reading) {
  uint64_t file = a[0], wanted = kMostAtOnce, offset = 0, at = 0;
  bool positioned = false;
  switch (number) {
  case SYS_read: wanted = a[2]; break;
  case SYS_readv: break;
  case SYS_pread64: wanted = a[2]; [[fallthrough]];
  case SYS_preadv:
  case SYS_preadv2:
    offset = a[3];
    positioned = static_cast<int64_t>(offset) >= 0;
    break;
  case SYS_sendfile:
    file = a[1];
    at = a[2];
    wanted = a[3];
    break;
  case SYS_copy_file_range:
    at = a[1];
    wanted = a[4];
    break;
  default: return false;
  }
  struct stat facts;
  if (!is_regular(thread, file, &facts)) return false;
  if (at) positioned = read_number(thread, at, &offset);
  if (!positioned) offset = position_of(thread, file);
  const uint64_t size = static_cast<uint64_t>(facts.st_size);
  reading->inode = facts.st_ino;
  reading->offset = offset;
  reading->length = std::min({wanted, kMostAtOnce, offset < size ? size - offset : 0});
  if (wanted == 0) return false;
  ledger_->begin(reading, size);
  return true;
}

/// The call has given `result`. What passes data from file to file reads and writes.
void ReadsTracer::note(pid_t thread, const Begun &call, uint64_t result) {
  if (call.reads) ledger_->end(call.reading, result);
  if (!is_noted(call.number, call.arguments)) return;
  const uint64_t *const a = call.arguments;
  struct stat facts;
  if (call.number == SYS_mmap) {
    if (is_regular(thread, a[4], &facts)) ledger_->mapped(facts.st_ino, a[5], a[1]);
    return;
  }
  const bool copies = call.number == SYS_copy_file_range;
  const uint64_t file = copies ? a[2] : a[0];
  if (!is_regular(thread, file, &facts)) return;
  const bool positioned = call.number == SYS_pwrite64 ||
                          ((call.number == SYS_pwritev || call.number == SYS_pwritev2) && static_cast<int64_t>(a[3]) >= 0);
  uint64_t end = 0;
  if (positioned) end = a[3] + result;
  else if (!copies || !a[3] || !read_number(thread, a[3], &end)) end = position_of(thread, file);
  if (end >= result) ledger_->wrote(facts.st_ino, end - result, result);
}

/// True at the end of a call.
bool ReadsTracer::see_call(pid_t thread) {
  __ptrace_syscall_info call = {};
  if (ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), thread, sizeof call, &call) <= 0) return false;
  if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
    Begun begun;
    begun.number = call.entry.nr;
    std::copy_n(call.entry.args, 6, begun.arguments);
    begun.reads = find_read(thread, begun.number, begun.arguments, &begun.reading);
    if (begun.reads || is_noted(begun.number, begun.arguments)) begun_[thread] = begun;
    return false;
  }
  const auto found = begun_.find(thread);
  if (call.op != PTRACE_SYSCALL_INFO_EXIT) return false;
  if (found == begun_.end()) return true;
  if (!call.exit.is_error) note(thread, found->second, static_cast<uint64_t>(call.exit.rval));
  begun_.erase(found);
  return true;
}

bool ReadsTracer::is_end_of_call(pid_t thread, int status) {
  return WIFSTOPPED(status) && status >> 16 == 0 && WSTOPSIG(status) == kCallStop && see_call(thread);
}

void ReadsTracer::see(pid_t thread, int status) {
  if (!WIFSTOPPED(status)) {
    begun_.erase(thread);
    return;
  }
  const int signal = WSTOPSIG(status), event = status >> 16;
  if (signal == kCallStop) see_call(thread);
  const bool stops = signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
  if (event == PTRACE_EVENT_STOP && stops) ptrace(PTRACE_LISTEN, thread, 0L, 0L); // it stays stopped, as without a tracer
  else go_on(thread, event == 0 && signal != kCallStop ? signal : 0);
}

void ReadsTracer::serve(uint64_t nanoseconds) {
  const uint64_t end = monotonic_now() + nanoseconds;
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD); // all signals are blocked: it is pending when a thread stops
  for (;;) {
    int status = 0;
    pid_t thread;
    while ((thread = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
      see(thread, status);
      if (monotonic_now() >= end) return;
    }
    const uint64_t at = monotonic_now();
    if (at >= end || (thread < 0 && errno == ECHILD)) return;
    const timespec left = {0, static_cast<long>(std::min<uint64_t>(end - at, 999999999))};
    sigtimedwait(&children, nullptr, &left);
  }
}

} // namespace pagecast::speculate
