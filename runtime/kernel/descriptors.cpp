// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/descriptors.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast {
namespace {
constexpr unsigned kMost = 1u << 16; ///< numbers beyond it are not protected
std::atomic<uint64_t> own[kMost / 64];
} // namespace

int own_descriptor(int fd) {
  if (fd >= 0 && static_cast<unsigned>(fd) < kMost) own[fd / 64].fetch_or(1ull << (fd % 64), std::memory_order_relaxed);
  return fd;
}

int own_duplicate(int fd) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return copy < 0 ? -errno : own_descriptor(copy);
}

void disown_descriptor(int fd) {
  if (static_cast<unsigned>(fd) < kMost) own[fd / 64].fetch_and(~(1ull << (fd % 64)), std::memory_order_relaxed);
}

void close_own(int fd) {
  if (fd < 0) return;
  disown_descriptor(fd);
  syscall(SYS_close, fd);
}

bool is_own(int fd) { return static_cast<unsigned>(fd) < kMost && own[fd / 64].load(std::memory_order_relaxed) >> (fd % 64) & 1; }

int next_own(unsigned fd, unsigned last) {
  for (; fd < kMost && fd <= last; ++fd) {
    if (own[fd / 64].load(std::memory_order_relaxed) == 0) fd |= 63;
    else if (is_own(static_cast<int>(fd))) return static_cast<int>(fd);
  }
  return -1;
}

} // namespace pagecast
