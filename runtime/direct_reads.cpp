// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Direct reads of the program's own (O_DIRECT) into regions. The device would write to memory past the page tables,
// unseen by the pager, which might have written the page out and discarded it meanwhile: the data would be lost. So
// they go through a buffer of ours. Direct writes need nothing: who reads a page that was discarded reads what it held.
#include "runtime/blocks.h"
#include "runtime/os.h"
#include "runtime/runtime.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

extern "C" {
ssize_t __read(int, void *, size_t);
ssize_t __pread64(int, void *, size_t, off_t);
}

using namespace pagecast;

#define EXPORTED __attribute__((visibility("default")))

namespace {

constexpr size_t kBuffer = 1u << 20; ///< one piece
constexpr off_t kPosition = -1;      ///< of the open file

/// A direct read into a region. Cost: two loads where there is no region near. The lock behind block_paged, which a
/// signal handler must not meet, is only taken for direct files.
bool must_detour(int fd, const void *to, size_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(to);
  if (bytes == 0 || !block_near(begin, begin + bytes) || !runtime_running_pager()) return false;
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) && block_paged(begin, begin + bytes);
}

/// The C library's function of that name: it is a point of cancellation.
template <typename Function> Function next(const char *name) { return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name)); }

ssize_t plain(int fd, void *to, size_t bytes, off_t at) {
  return at == kPosition ? __read(fd, to, bytes) : __pread64(fd, to, bytes, at);
}

/// As read or pread; pieces as long as they are full ones.
ssize_t through_buffer(int fd, void *to, size_t bytes, off_t at) {
  const size_t room = std::min(bytes, kBuffer);
  // As far from a page's beginning as the program's own: what the file system demands stays as it is.
  const size_t skew = reinterpret_cast<uint64_t>(to) & (os::page_size() - 1);
  auto *buffer = static_cast<char *>(os::map_memory(room + os::page_size(), false));
  if (!buffer) return errno = ENOMEM, -1;
  size_t done = 0;
  int error = 0;
  while (done < bytes) {
    const size_t want = std::min(bytes - done, room);
    const ssize_t got = plain(fd, buffer + skew, want, at == kPosition ? at : at + static_cast<off_t>(done));
    if (got < 0) error = errno;
    if (got <= 0) break;
    memcpy(static_cast<char *>(to) + done, buffer + skew, static_cast<size_t>(got));
    done += static_cast<size_t>(got);
    if (static_cast<size_t>(got) < want) break;
  }
  os::unmap(buffer, room + os::page_size());
  if (done == 0 && error) return errno = error, -1;
  return static_cast<ssize_t>(done);
}

/// One vector after the other.
ssize_t scattered(int fd, const iovec *to, int count, off_t at) {
  ssize_t done = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t got = through_buffer(fd, to[i].iov_base, to[i].iov_len, at == kPosition ? at : at + done);
    if (got < 0) return done ? done : -1;
    done += got;
    if (static_cast<size_t>(got) < to[i].iov_len) break;
  }
  return done;
}

bool must_scatter(int fd, const iovec *to, int count) {
  if (!runtime_running_pager()) return false; // the kernel tells what is wrong with the vectors
  for (int i = 0; i < count; ++i)
    if (must_detour(fd, to[i].iov_base, to[i].iov_len)) return true;
  return false;
}

} // namespace

extern "C" {

EXPORTED ssize_t read(int fd, void *to, size_t bytes) {
  return must_detour(fd, to, bytes) ? through_buffer(fd, to, bytes, kPosition) : plain(fd, to, bytes, kPosition);
}

EXPORTED ssize_t pread(int fd, void *to, size_t bytes, off_t at) {
  return at >= 0 && must_detour(fd, to, bytes) ? through_buffer(fd, to, bytes, at) : plain(fd, to, bytes, at);
}

EXPORTED ssize_t pread64(int fd, void *to, size_t bytes, off_t at) { return pread(fd, to, bytes, at); }

EXPORTED ssize_t readv(int fd, const iovec *to, int count) {
  using Readv = ssize_t (*)(int, const iovec *, int);
  static Readv real = next<Readv>("readv");
  return must_scatter(fd, to, count) ? scattered(fd, to, count, kPosition) : real(fd, to, count);
}

EXPORTED ssize_t preadv(int fd, const iovec *to, int count, off_t at) {
  using Preadv = ssize_t (*)(int, const iovec *, int, off_t);
  static Preadv real = next<Preadv>("preadv64");
  return at >= 0 && must_scatter(fd, to, count) ? scattered(fd, to, count, at) : real(fd, to, count, at);
}

EXPORTED ssize_t preadv64(int fd, const iovec *to, int count, off_t at) { return preadv(fd, to, count, at); }

EXPORTED ssize_t preadv2(int fd, const iovec *to, int count, off_t at, int flags) {
  using Preadv2 = ssize_t (*)(int, const iovec *, int, off_t, int);
  static Preadv2 real = next<Preadv2>("preadv64v2");
  return flags == 0 && must_scatter(fd, to, count) ? scattered(fd, to, count, at) : real(fd, to, count, at, flags);
}

EXPORTED ssize_t preadv64v2(int fd, const iovec *to, int count, off_t at, int flags) { return preadv2(fd, to, count, at, flags); }
}
