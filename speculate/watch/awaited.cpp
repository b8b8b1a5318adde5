// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/watch/awaited.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

bool read_link(pid_t process, const char *what, long number, char *to, size_t capacity) {
  char path[64];
  if (number >= 0) snprintf(path, sizeof path, "/proc/%d/%s/%ld", process, what, number);
  else snprintf(path, sizeof path, "/proc/%d/%s", process, what);
  const ssize_t length = readlink(path, to, capacity - 1);
  to[length > 0 ? length : 0] = 0;
  return length > 0 && static_cast<size_t>(length) < capacity - 1;
}

bool read_text(pid_t process, uint64_t address, char *to, size_t capacity) {
  size_t length = 0;
  while (length < capacity) { // page by page: the text may end right before memory that is not there
    const size_t piece = 4096 - ((address + length) & 4095), wanted = piece < capacity - length ? piece : capacity - length;
    iovec local = {to + length, wanted}, remote = {reinterpret_cast<void *>(address + length), wanted};
    const ssize_t n = process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (n <= 0) return false;
    if (memchr(to + length, 0, static_cast<size_t>(n))) return true;
    length += static_cast<size_t>(n);
  }
  return false;
}

/// Appends the parts of `path`, without "." and double slashes, as the copy does.
bool append(char *to, size_t capacity, size_t *length, const char *path) {
  while (*path) {
    while (*path == '/' || (path[0] == '.' && (path[1] == '/' || !path[1]))) path++;
    if (!*path) break;
    if (*length + 2 >= capacity) return false;
    to[(*length)++] = '/';
    while (*path && *path != '/') {
      if (*length + 2 >= capacity) return false;
      to[(*length)++] = *path++;
    }
  }
  to[*length] = 0;
  return true;
}

void find_name(pid_t process, long directory, uint64_t address, Awaited *awaited) {
  char name[512], base[512] = "";
  if (!read_text(process, address, name, sizeof name)) return;
  if (name[0] != '/') {
    const bool known = directory == AT_FDCWD ? read_link(process, "cwd", -1, base, sizeof base)
                                             : read_link(process, "fd", directory, base, sizeof base);
    if (!known) return;
  }
  if (join_path(awaited->path, sizeof awaited->path, base, name)) awaited->kind = Awaited::Kind::kName;
}

void find_read(pid_t process, const Call &call, Awaited *awaited) {
  char path[64], text[512];
  struct stat facts;
  const long number = static_cast<long>(call.argument[0]);
  snprintf(path, sizeof path, "/proc/%d/fd/%ld", process, number);
  if (stat(path, &facts) || !S_ISREG(facts.st_mode)) return;
  snprintf(path, sizeof path, "/proc/%d/fdinfo/%ld", process, number);
  if (!read_whole(path, text, sizeof text)) return;
  const char *const flags = strstr(text, "flags:");
  awaited->direct = flags && (strtoul(flags + 6, nullptr, 8) & O_DIRECT);
  const bool positioned = call.number == SYS_pread64 || call.number == SYS_preadv || call.number == SYS_preadv2;
  awaited->inode = facts.st_ino;
  awaited->offset = positioned ? call.argument[3] : field(text, "pos", 0);
  awaited->kind = Awaited::Kind::kRead;
}

} // namespace

bool join_path(char *to, size_t capacity, const char *base, const char *name) {
  size_t length = 0;
  return (name[0] == '/' || append(to, capacity, &length, base)) && append(to, capacity, &length, name);
}

void find_awaited(pid_t process, const Call &call, Awaited *awaited) {
  awaited->kind = Awaited::Kind::kUnknown;
  awaited->direct = false;
  const uint64_t *const a = call.argument;
  switch (call.number) {
  case SYS_read:
  case SYS_readv:
  case SYS_pread64:
  case SYS_preadv:
  case SYS_preadv2: return find_read(process, call, awaited);
  case SYS_open:
  case SYS_stat:
  case SYS_lstat:
  case SYS_access:
  case SYS_readlink: return find_name(process, AT_FDCWD, a[0], awaited);
  case SYS_openat:
  case SYS_newfstatat:
  case SYS_statx:
  case SYS_faccessat:
  case SYS_faccessat2:
  case SYS_readlinkat: return find_name(process, static_cast<int>(a[0]), a[1], awaited);
  case SYS_getdents64:
    if (read_link(process, "fd", static_cast<long>(a[0]), awaited->path, sizeof awaited->path))
      awaited->kind = Awaited::Kind::kName;
    return;
  default: return;
  }
}

void find_awaited_path(pid_t process, const Call &call, char *to, size_t capacity) {
  Awaited awaited;
  to[0] = 0;
  if (!call.known || call.number < 0) return;
  find_awaited(process, call, &awaited);
  if (awaited.kind == Awaited::Kind::kName) snprintf(to, capacity, "%s", awaited.path);
  else if (awaited.kind == Awaited::Kind::kRead && !read_link(process, "fd", static_cast<long>(call.argument[0]), to, capacity))
    to[0] = 0;
}

const char *own_reading(pid_t process, const Call &call) {
  if (!call.known || call.number < 0) return nullptr;
  if (call.number == SYS_io_uring_enter) return kOwnIo;
  Awaited awaited;
  find_awaited(process, call, &awaited);
  return awaited.direct ? kDirect : nullptr;
}

bool is_listing(const Call &call) {
  if (!call.known) return false;
  if (call.number == SYS_getdents64) return true;
  return (call.number == SYS_openat && call.argument[2] & O_DIRECTORY) ||
         (call.number == SYS_open && call.argument[1] & O_DIRECTORY);
}

uint64_t device_of_directory(pid_t process, const Call &call) {
  const bool named = call.number == SYS_open || call.number == SYS_stat || call.number == SYS_lstat ||
                     call.number == SYS_access || call.number == SYS_readlink;
  const long number = named ? AT_FDCWD : static_cast<int>(call.argument[0]);
  char path[64];
  if (number == AT_FDCWD) snprintf(path, sizeof path, "/proc/%d/cwd", process);
  else snprintf(path, sizeof path, "/proc/%d/fd/%ld", process, number);
  struct statx facts;
  if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &facts)) return 0; // no server is asked
  return makedev(facts.stx_dev_major, facts.stx_dev_minor);
}

} // namespace pagecast::speculate
