// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prctl and syscall, by one of which programs put on seccomp filters: what needs calls that the filter may forbid is done
// before, or never (sandbox.h). Other architectures go without. Handlers of signals may be installed so, too (handlers.h).
#include "runtime/process/handlers.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/sandbox.h"
#include "runtime/process/reads.h"
#include "runtime/process/runtime.h"

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

using namespace pagecast;

#if defined(__x86_64__) || defined(__aarch64__)

#define EXPORTED __attribute__((visibility("default")))

namespace {

struct Call {
  long number, argument[6];
};

/// The C library's syscall() cannot be reached under another name.
long enter_kernel(const Call &c) {
  const long *a = c.argument;
#ifdef __x86_64__
  long result;
  register long r10 asm("r10") = a[3];
  register long r8 asm("r8") = a[4];
  register long r9 asm("r9") = a[5];
  asm volatile("syscall"
               : "=a"(result)
               : "a"(c.number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
#else
  register long number asm("x8") = c.number;
  register long result asm("x0") = a[0];
  register long x1 asm("x1") = a[1];
  register long x2 asm("x2") = a[2];
  register long x3 asm("x3") = a[3];
  register long x4 asm("x4") = a[4];
  register long x5 asm("x5") = a[5];
  asm volatile("svc 0" : "+r"(result) : "r"(number), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
#endif
  if (result < 0 && result > -4096) return errno = static_cast<int>(-result), -1;
  return result;
}

/// Programs ask with NULL for a filter what the kernel knows.
bool puts_on_filter(const Call &c) {
  const long *a = c.argument;
  if (c.number == SYS_seccomp) return a[0] == SECCOMP_SET_MODE_STRICT || (a[0] == SECCOMP_SET_MODE_FILTER && a[2]);
  return c.number == SYS_prctl && a[0] == PR_SET_SECCOMP &&
         (a[1] == SECCOMP_MODE_STRICT || (a[1] == SECCOMP_MODE_FILTER && a[2]));
}

bool is_strict(const Call &c) {
  return c.number == SYS_seccomp ? c.argument[0] == SECCOMP_SET_MODE_STRICT : c.argument[1] == SECCOMP_MODE_STRICT;
}

bool installs_handler(const Call &c) {
  if (c.number != SYS_rt_sigaction || !c.argument[1]) return false;
  const long handler = *reinterpret_cast<const long *>(c.argument[1]); // the kernel's sigaction begins with it
  return handler != reinterpret_cast<long>(SIG_DFL) && handler != reinterpret_cast<long>(SIG_IGN);
}

long pass_on(const Call &c) {
  if (__builtin_expect(installs_handler(c), 0)) {
    handler_begins();
    const long result = enter_kernel(c);
    handler_stands();
    return result;
  }
  if (__builtin_expect(!puts_on_filter(c), 1)) return enter_kernel(c);
  sandbox_begin(is_strict(c), [] {
    os::stop_attending();
    note_direct_descriptors();
    runtime_open_statistics();
  });
  const long result = enter_kernel(c);
  if (result) sandbox_failed(); // positive: a thread that could not be made to have it
  return result;
}

} // namespace

extern "C" {

EXPORTED long syscall(long number, ...) noexcept {
  Call c{number, {}};
  va_list arguments;
  va_start(arguments, number);
  for (long &a : c.argument) a = va_arg(arguments, long); // those that the caller has not given are not looked at
  va_end(arguments);
  return pass_on(c);
}

EXPORTED int prctl(int option, ...) noexcept {
  Call c{SYS_prctl, {option}};
  va_list arguments;
  va_start(arguments, option);
  for (unsigned i = 1; i < 5; ++i) c.argument[i] = va_arg(arguments, long);
  va_end(arguments);
  return static_cast<int>(pass_on(c));
}
}

#endif
