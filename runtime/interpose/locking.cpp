// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlock and its relatives. Locked memory stays in memory and is never written out, which is the opposite of being
// paged: what a program has locked does not become a region, and regions cannot be locked, for lack of memory.
#include "runtime/process/allocations.h"
#include "runtime/kernel/os.h"
#include "runtime/process/runtime.h"

#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace pagecast;

#define EXPORTED __attribute__((visibility("default")))

/// Makes sure that the range will not be paged. False: it is.
static bool exempt(const void *addr, size_t bytes) {
  const uint64_t begin = os::page_down(reinterpret_cast<uint64_t>(addr));
  const uint64_t end = os::page_up(reinterpret_cast<uint64_t>(addr) + bytes);
  return !allocation_near(begin, end) || allocation_exempt(begin, end);
}

extern "C" {

EXPORTED int mlock(const void *addr, size_t bytes) noexcept {
  if (!exempt(addr, bytes)) return errno = ENOMEM, -1;
  return static_cast<int>(syscall(SYS_mlock, addr, bytes));
}

EXPORTED int mlock2(const void *addr, size_t bytes, unsigned flags) noexcept {
  if (!exempt(addr, bytes)) return errno = ENOMEM, -1;
  return static_cast<int>(syscall(SYS_mlock2, addr, bytes, flags));
}

EXPORTED int mlockall(int flags) noexcept {
  if (runtime_pages_memory()) return errno = ENOMEM, -1;
  const int done = static_cast<int>(syscall(SYS_mlockall, flags));
  if (done == 0) runtime_never("the program has locked its memory (mlockall)");
  return done;
}
}
