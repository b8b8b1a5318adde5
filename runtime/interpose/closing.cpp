// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// close() and its relatives, which leave the runtime's own descriptors alone (descriptors.h): to the program
// they are not open.
#include "runtime/kernel/descriptors.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace pagecast;

#define EXPORTED __attribute__((visibility("default")))

extern "C" {
// The C library's own: close() is a point of cancellation.
int __close(int);

EXPORTED int close(int fd) {
  if (is_own(fd)) return errno = EBADF, -1;
  return __close(fd);
}

EXPORTED int dup2(int from, int to) noexcept {
  if (is_own(to) || is_own(from)) return errno = EBADF, -1;
  if (from == to) return fcntl(from, F_GETFD) < 0 ? -1 : to;
  return static_cast<int>(syscall(SYS_dup3, from, to, 0));
}

EXPORTED int dup3(int from, int to, int flags) noexcept {
  if (is_own(to) || is_own(from)) return errno = EBADF, -1;
  return static_cast<int>(syscall(SYS_dup3, from, to, flags));
}

EXPORTED int close_range(unsigned first, unsigned last, int flags) noexcept {
  if (first > last) return errno = EINVAL, -1;
  for (unsigned at = first;;) {
    const int ours = next_own(at, last);
    const unsigned stop = ours < 0 ? last : static_cast<unsigned>(ours) - 1;
    if ((ours < 0 || static_cast<unsigned>(ours) > at) && syscall(SYS_close_range, at, stop, flags)) return -1;
    if (ours < 0 || static_cast<unsigned>(ours) == last) return 0;
    at = static_cast<unsigned>(ours) + 1;
  }
}

EXPORTED void closefrom(int first) noexcept { close_range(static_cast<unsigned>(std::max(first, 0)), ~0u, 0); }
}
