// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/os_memory_file.h"

#include "runtime/kernel/os.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace pagecast::os {
namespace {

constexpr uint32_t kBtrfs = 0x9123683E;
/// File systems that write where they have written before, so that a block that is there needs no other.
constexpr uint32_t kInPlace[] = {0xEF53 /* ext4 */, 0x58465342 /* xfs */, 0xF2F52010 /* f2fs */, 0x794C7630 /* overlay */};

/// One line of /proc/self/maps: "begin-end rwxp offset device inode name". False if it is none.
bool parse(const char *line, Mapping *m) {
  char *rest;
  m->begin = strtoull(line, &rest, 16);
  if (*rest != '-') return false;
  m->end = strtoull(rest + 1, &rest, 16);
  if (strlen(rest) < 6) return false;
  m->protection = (rest[1] == 'r' ? PROT_READ : 0) | (rest[2] == 'w' ? PROT_WRITE : 0) | (rest[3] == 'x' ? PROT_EXEC : 0);
  m->own = rest[4] == 'p';
  strtoull(rest + 5, &rest, 16); // offset
  while (*rest == ' ') ++rest;
  rest = strchr(rest, ' '); // past the device
  m->file = rest ? strtoull(rest, nullptr, 10) : ~uint64_t{0};
  return true;
}

/// Shows `visit` the lines of /proc/self/maps, up to 4 KiB of each, until it returns false.
template <typename Visit> void each_mapping(Visit visit) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[4096];
  size_t held = 0;
  bool skip = false; // the rest of a line that was too long: its name
  for (bool more = true; more;) {
    const long got = syscall(SYS_read, fd, text + held, sizeof text - 1 - held);
    more = got > 0;
    held += more ? static_cast<size_t>(got) : 0;
    text[held] = 0;
    char *line = text;
    for (char *stop; more && (stop = strchr(line, '\n')); line = stop + 1) {
      *stop = 0;
      more = skip || visit(line);
      skip = false;
    }
    held = static_cast<size_t>(text + held - line);
    memmove(text, line, held);
    if (held == sizeof text - 1) held = 0, skip = true;
  }
  close(fd);
}

} // namespace

unsigned mappings(uint64_t begin, uint64_t end, Mapping *out, unsigned most) {
  unsigned n = 0;
  each_mapping([&](const char *line) {
    Mapping m;
    if (!parse(line, &m) || m.end <= begin || m.begin >= end) return n < most;
    m.begin = std::max(m.begin, begin);
    m.end = std::min(m.end, end);
    out[n++] = m;
    return n < most;
  });
  return n;
}

static void advise(uint64_t begin, uint64_t end, int advice) { syscall(SYS_madvise, begin, end - begin, advice); }

unsigned read_code_in_pieces() {
  constexpr unsigned kMostPieces = 4096; // of 65,530 mappings that a process may have
  if (sandboxed()) return 0;
  unsigned split = 0, pieces = 0;
  Mapping before{};
  uint64_t code = 0; // the file of the last code
  each_mapping([&](const char *line) {
    Mapping m;
    if (!parse(line, &m)) return true;
    const bool read = m.own && m.file && (m.protection & (PROT_READ | PROT_WRITE)) == PROT_READ;
    if (read && (m.protection & PROT_EXEC) && m.end - m.begin > kCodePiece && pieces < kMostPieces) {
      code = m.file;
      ++split;
      if (before.file == code) advise(before.begin, before.end, MADV_RANDOM);
      advise(m.begin, m.end, MADV_RANDOM);
      for (uint64_t at = m.begin / kCodePiece * kCodePiece + kCodePiece; at < m.end; at += 2 * kCodePiece, pieces += 2)
        advise(at, std::min(m.end, at + kCodePiece), MADV_NOHUGEPAGE);
    } else if (read && m.file == code) {
      advise(m.begin, m.end, MADV_RANDOM);
    }
    before = read ? m : Mapping{};
    return true;
  });
  return split;
}

bool may_have_io_under_way() {
  bool any = false;
  each_mapping([&](const char *line) {
    any = strstr(line, "[aio]") || strstr(line, "anon_inode:[io_uring]");
    return !any;
  });
  return any;
}

bool other_threads() {
  struct stat tasks;
  // A directory's links are itself, its entry above, and one for each directory in it.
  return stat("/proc/self/task", &tasks) || tasks.st_nlink < 3 || tasks.st_nlink - 2 > 1 + own_threads();
}

SignalsHeld::SignalsHeld() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsHeld::~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

const char *reservation_fails(int fd) {
  struct statfs system;
  if (fstatfs(fd, &system)) return "its file system cannot be examined";
  const auto magic = static_cast<uint32_t>(system.f_type);
  for (const uint32_t in_place : kInPlace)
    if (magic == in_place) return nullptr;
  int flags = 0;
  if (magic == kBtrfs && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
    flags |= FS_NOCOW_FL; // of a file without contents
    if (ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0) return nullptr;
  }
  return "its file system is not known to keep room that was reserved";
}

int reserve_room(int fd, uint64_t offset, uint64_t bytes) {
  rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && offset + bytes > most.rlim_cur) return -EFBIG;
  return fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) ? -errno : 0;
}

int zero_room(int fd, uint64_t offset, uint64_t bytes) {
  return fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes)) ? -errno
                                                                                                                          : 0;
}

int free_room(int fd, uint64_t offset, uint64_t bytes) {
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes)) ? -errno
                                                                                                                          : 0;
}

int copy_room(int from, int to, uint64_t offset, uint64_t bytes) {
  const auto end = static_cast<off_t>(offset + bytes);
  for (auto at = static_cast<off_t>(offset); at < end;) {
    const off_t data = lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return 0; // nothing was stored from here on
    if (data < 0) return -errno;
    const off_t hole = lseek(from, data, SEEK_HOLE);
    if (hole < 0) return -errno;
    const off_t stop = std::min(hole, end);
    if (data < stop && lseek(to, data, SEEK_SET) < 0) return -errno;
    for (off_t next = data; next < stop;) {
      const ssize_t n = sendfile(to, from, &next, static_cast<size_t>(stop - next));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n < 0 ? -errno : -EIO;
    }
    at = std::max(stop, data);
  }
  return 0;
}

int use_page_cache(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_DIRECT) ? -errno : 0;
}

void wake_all(int fd, uint64_t offset, uint64_t bytes) {
  const long mapping = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
  if (mapping == -1) return;
  for (uint64_t i = 0; i < bytes; i += 4)
    syscall(SYS_futex, mapping + static_cast<long>(i), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  unmap(reinterpret_cast<void *>(mapping), bytes);
}

} // namespace pagecast::os
