// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/named_maps.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/lock.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/process/maps.h"
#include "runtime/process/runtime.h"
#include "runtime/state/locks.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>

namespace pagecast {

std::atomic<int> named_maps{0};
namespace {

constexpr unsigned kMost = 8;
constexpr size_t kLongest = 1024;
/// One for each way to open it, since all that is known of a descriptor is which file it is of.
enum Way : unsigned { kForReading, kForWriting, kWays };

struct Named {
  char path[kLongest];
  const char *uri; ///< in `text`
  int number = -1; ///< of the export (map_export); -1: not connected to
  int fd[kWays] = {-1, -1};
  os::NamedFile file[kWays];
  char *memory = nullptr; ///< all of it, for those who read and do not map; made at the first read
};
Named named[kMost];
char text[kMost * 2 * kLongest];

/// Takes `.`, `..` and doubled slashes out of an absolute path, in place.
void make_plain(char *path) {
  char *to = path;
  for (const char *at = path; *at;) {
    const size_t length = strcspn(++at, "/");
    const bool up = length == 2 && at[0] == '.' && at[1] == '.';
    while (up && to > path && *--to != '/') {}
    if (length && !up && !(length == 1 && *at == '.')) {
      *to++ = '/';
      memmove(to, at, length);
      to += length;
    }
    at += length;
  }
  if (to == path) *to++ = '/';
  *to = 0;
}

bool make_absolute(const char *path, char *out) {
  size_t length = 0;
  if (*path != '/') {
    if (!os::working_directory(out, kLongest)) return false;
    length = strlen(out);
    out[length++] = '/';
  }
  if (!*path || length + strlen(path) >= kLongest) return false;
  strcpy(out + length, path);
  make_plain(out);
  return true;
}

/// Connects, and makes what stands for it. 0 or -errno, after a sentence. Called with the lock held.
int prepare(Named &n) {
  if (n.fd[kForWriting] >= 0) return 0;
  char why[400];
  const int number = map_export(n.uri, why, sizeof why);
  if (number < 0) return say("%s cannot be opened: %s", n.path, why), number;
  n.number = number;
  for (unsigned way = 0; way < kWays; ++way) {
    const int fd = os::make_stand_in(n.path, export_bytes(number));
    if (fd < 0) return say("%s cannot be opened: no file in memory can be made (%s)", n.path, strerror(-fd)), fd;
    n.fd[way] = own_descriptor(fd);
    os::named_file(fd, &n.file[way]);
  }
  return 0;
}

} // namespace

void named_maps_start() {
  const char *option = runtime_options().map;
  int n = 0; // PATH=URI, one a line
  if (option && runtime_options().enable && strlen(option) < sizeof text) {
    strcpy(text, option);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) && n < static_cast<int>(kMost);) {
      char *equals = strchr(line, '=');
      if (!equals) continue;
      *equals = 0;
      if (!make_absolute(line, named[n].path)) continue;
      named[n++].uri = equals + 1;
    }
  }
  named_maps.store(n, std::memory_order_release);
}

int named_map(const char *path) {
  char full[kLongest];
  if (!path || !make_absolute(path, full)) return -1;
  for (int i = 0; i < named_maps.load(std::memory_order_relaxed); ++i)
    if (!strcmp(named[i].path, full)) return i;
  return -1;
}

int named_map_file(int number) {
  Guard guard(locks::named_maps);
  const int error = prepare(named[number]);
  return error ? error : named[number].fd[kForReading];
}

int named_map_open(int number, int flags) {
  const int prepared = named_map_file(number);
  if (prepared < 0) return prepared;
  Named &n = named[number];
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes && export_is_read_only(n.number))
    return say("%s cannot be opened for writing: its server does not let it be written", n.path), -EACCES;
  if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) return -EEXIST;
  if (flags & O_TRUNC && writes) return say("%s cannot be cut: it is an export", n.path), -EINVAL;
  return os::open_stand_in(n.fd[writes ? kForWriting : kForReading], (flags & O_CLOEXEC) != 0);
}

NamedMap named_map_of(int fd) {
  os::NamedFile file;
  if (!os::named_file(fd, &file)) return {};
  for (int i = 0; i < named_maps.load(std::memory_order_relaxed); ++i)
    for (unsigned way = 0; way < kWays; ++way)
      if (named[i].fd[way] >= 0 && named[i].file[way].inode == file.inode && named[i].file[way].device == file.device)
        return {i, way == kForWriting};
  return {};
}

int64_t named_map_memory(const NamedMap &map, void *address, size_t bytes, int protection, int flags, uint64_t offset) {
  const Named &n = named[map.number];
  const bool shared = (flags & MAP_TYPE) != MAP_PRIVATE, writes = protection & PROT_WRITE;
  if (shared && writes && !map.writable) return -EACCES;
  if (protection & PROT_EXEC) return say("%s cannot be mapped for execution: it is an export", n.path), -EACCES;
  MapRequest request;
  request.address = address;
  request.fixed = (flags & MAP_FIXED) != 0;
  request.writable = writes;
  request.readable = protection & PROT_READ;
  char why[400];
  const int64_t at = map_memory_of(n.number, offset, bytes, request, why, sizeof why);
  if (at < 0) say("%s cannot be mapped: %s", n.path, why);
  return at;
}

int64_t named_map_read(const NamedMap &map, void *to, size_t bytes, uint64_t offset) {
  Named &n = named[map.number];
  const uint64_t there = export_bytes(n.number);
  if (offset >= there || bytes == 0) return 0;
  {
    Guard guard(locks::named_maps);
    char why[400];
    const int64_t at = n.memory ? 0 : map_memory_of(n.number, 0, there, {}, why, sizeof why);
    if (at < 0) return say("%s cannot be read: %s", n.path, why), at;
    if (at) n.memory = reinterpret_cast<char *>(at);
  }
  bytes = std::min<uint64_t>(bytes, there - offset);
  memcpy(to, n.memory + offset, bytes);
  return static_cast<int64_t>(bytes);
}

} // namespace pagecast
