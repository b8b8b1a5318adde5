// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// open() and its relatives, for paths that stand for exports (process/named_maps.h). All others go to the C library unchanged.
// What posix_fadvise() says of the order of reads is remembered, since large reads change it for a while (reads.cpp).
// close() and its relatives leave the runtime's own descriptors alone (kernel/descriptors.h): to the program they are not open.
#include "runtime/interpose/next.h"
#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/os_files.h"
#include "runtime/process/named_maps.h"
#include "runtime/process/reads.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
// The C library's own: open() and close() are points of cancellation.
int __open(const char *, int, ...);
int __close(int);
}

using namespace pagecast;

#define EXPORTED __attribute__((visibility("default")))

namespace {

int map_for(const char *path, int directory = AT_FDCWD) {
  if (!named_maps_any() || !path || (directory != AT_FDCWD && *path != '/')) return -1;
  return named_map(path);
}

int open_map(int map, int flags) {
  const int fd = named_map_open(map, flags);
  return fd < 0 ? errno = -fd, -1 : fd;
}

unsigned mode_of(int flags, va_list arguments) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, unsigned) : 0;
}

/// As stat() of what stands for it.
template <typename Stat> int stat_map(int map, Stat stat) {
  const int fd = named_map_file(map);
  return fd < 0 ? errno = -fd, -1 : stat(fd);
}

} // namespace

extern "C" {

EXPORTED int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = mode_of(flags, arguments);
  va_end(arguments);
  const int map = map_for(path);
  return map >= 0 ? open_map(map, flags) : note_opened(__open(path, flags, mode), flags);
}

EXPORTED int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = mode_of(flags, arguments);
  va_end(arguments);
  const int map = map_for(path);
  return map >= 0 ? open_map(map, flags) : note_opened(__open(path, flags | O_LARGEFILE, mode), flags);
}

EXPORTED int openat(int directory, const char *path, int flags, ...) {
  using Openat = int (*)(int, const char *, int, ...);
  static Openat real = next<Openat>("openat");
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = mode_of(flags, arguments);
  va_end(arguments);
  const int map = map_for(path, directory);
  return map >= 0 ? open_map(map, flags) : note_opened(real(directory, path, flags, mode), flags);
}

EXPORTED int openat64(int directory, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = mode_of(flags, arguments);
  va_end(arguments);
  return openat(directory, path, flags | O_LARGEFILE, mode);
}

EXPORTED int stat(const char *path, struct stat *out) noexcept {
  const int map = map_for(path);
  return map >= 0 ? stat_map(map, [out](int fd) { return fstat(fd, out); }) : fstatat(AT_FDCWD, path, out, 0);
}

EXPORTED int stat64(const char *path, struct stat64 *out) noexcept {
  const int map = map_for(path);
  return map >= 0 ? stat_map(map, [out](int fd) { return fstat64(fd, out); }) : fstatat64(AT_FDCWD, path, out, 0);
}

EXPORTED int access(const char *path, int mode) noexcept {
  const int map = map_for(path);
  if (map < 0) return faccessat(AT_FDCWD, path, mode, 0);
  return mode & X_OK ? errno = EACCES, -1 : stat_map(map, [](int) { return 0; });
}

EXPORTED int posix_fadvise(int fd, off_t offset, off_t bytes, int advice) noexcept {
  const int error = is_own(fd) ? EBADF : os::advise_file(fd, offset, bytes, advice);
  if (!error) note_read_advice(fd, advice);
  return error;
}

EXPORTED int posix_fadvise64(int fd, off64_t offset, off64_t bytes, int advice) noexcept {
  return posix_fadvise(fd, offset, bytes, advice);
}

// --- closing -----------------------------------------------------------------------------------

EXPORTED int close(int fd) {
  if (is_own(fd)) return errno = EBADF, -1;
  note_closed(fd);
  return __close(fd);
}

EXPORTED int dup2(int from, int to) noexcept {
  if (is_own(to) || is_own(from)) return errno = EBADF, -1;
  if (from == to) return fcntl(from, F_GETFD) < 0 ? -1 : to;
  note_closed(to);
  return static_cast<int>(syscall(SYS_dup3, from, to, 0));
}

EXPORTED int dup3(int from, int to, int flags) noexcept {
  if (is_own(to) || is_own(from)) return errno = EBADF, -1;
  note_closed(to);
  return static_cast<int>(syscall(SYS_dup3, from, to, flags));
}

EXPORTED int close_range(unsigned first, unsigned last, int flags) noexcept {
  if (first > last) return errno = EINVAL, -1;
  note_closed(first, last);
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
