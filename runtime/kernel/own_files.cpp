// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/own_files.h"

#include "runtime/kernel/file_systems.h"
#include "runtime/kernel/message.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::os {

/// The number of the device, or of the disk that it is a partition of.
static uint64_t whole_device(dev_t device) {
  char path[96], link[256];
  write_text(path, sizeof path, "/sys/dev/block/%u:%u/partition", major(device), minor(device));
  if (access(path, F_OK)) return device;
  write_text(path, sizeof path, "/sys/dev/block/%u:%u/../dev", major(device), minor(device));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return device;
  const ssize_t n = read(fd, link, sizeof link - 1);
  close(fd);
  unsigned high = 0, low = 0;
  link[n > 0 ? n : 0] = 0;
  return sscanf(link, "%u:%u", &high, &low) == 2 ? makedev(high, low) : device;
}

int directory_facts(const char *path, DirectoryFacts *facts) {
  *facts = {};
  struct stat s;
  if (stat(path, &s)) return -errno;
  facts->is_directory = S_ISDIR(s.st_mode);
  facts->device = whole_device(s.st_dev);
  struct statfs f;
  if (statfs(path, &f)) return 0;
  const FileSystem *known = known_file_system(static_cast<uint32_t>(f.f_type));
  if (known && known->in_memory) facts->in_memory = known->name;
  facts->free_bytes = static_cast<uint64_t>(f.f_bavail) * static_cast<uint64_t>(f.f_bsize);
  return 0;
}

uint64_t most_file_bytes() {
  rlimit most;
  return getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur == RLIM_INFINITY ? ~uint64_t{0} : most.rlim_cur;
}

int open_unlinked(const char *directory) {
  const int flags = O_RDWR | O_DIRECT | O_CLOEXEC;
  int fd = open(directory, O_TMPFILE | flags, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd >= 0 ? fd : -errno;
  char path[4096];
  if (write_text(path, sizeof path, "%s/.pagecast-XXXXXX", directory) >= static_cast<int>(sizeof path)) return -ENAMETOOLONG;
  fd = mkostemp(path, O_DIRECT | O_CLOEXEC);
  if (fd < 0) return -errno;
  unlink(path);
  return fd;
}

int reserve_space(int fd, uint64_t offset, uint64_t bytes) {
  return fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) ? -errno : 0;
}

bool absolute_path(const char *path, char *out, unsigned capacity) {
  char full[PATH_MAX];
  if (!realpath(path, full) || strlen(full) >= capacity) return false;
  strcpy(out, full);
  return true;
}

int read_at_once(int fd, void *to, uint64_t bytes, uint64_t offset) {
  const ssize_t n = syscall(SYS_pread64, fd, to, bytes, static_cast<off_t>(offset));
  return n == static_cast<ssize_t>(bytes) ? 0 : n < 0 ? -errno : -EIO;
}

int make_empty(const char *path) {
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return fd < 0 ? -errno : (syscall(SYS_close, fd), 0);
}

void *map_growing(const char *path, uint64_t offset, uint64_t bytes) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  long mapped = -1;
  int error = -reserve_space(fd, offset, bytes);
  if (error == EOPNOTSUPP) error = ftruncate(fd, static_cast<off_t>(offset + bytes)) ? errno : 0;
  if (!error) {
    mapped = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    error = mapped == -1 ? errno : 0;
  }
  syscall(SYS_close, fd);
  if (error) return errno = error, nullptr;
  syscall(SYS_madvise, mapped, bytes, MADV_DONTFORK);
  return reinterpret_cast<void *>(mapped);
}

int create_file(const char *path, bool new_only) {
  const int fd = open(path, O_WRONLY | O_CREAT | (new_only ? O_EXCL : O_TRUNC) | O_CLOEXEC, 0644);
  return fd < 0 ? -errno : fd;
}

int file_head(const char *path, char *to, unsigned capacity) {
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd < 0) return -errno;
  const long n = syscall(SYS_read, fd, to, capacity - 1);
  const int error = n < 0 ? -errno : 0;
  syscall(SYS_close, fd);
  to[n > 0 ? n : 0] = 0;
  return error;
}

bool is_replaceable(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 ? S_ISREG(status.st_mode) : errno == ENOENT;
}

int replace_file(const char *from, const char *to) { return rename(from, to) ? -errno : 0; }

int append(int fd, const char *from, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t n = write(fd, from + done, bytes - done);
    if (n <= 0) return n < 0 && errno ? -errno : -EIO;
    done += static_cast<uint64_t>(n);
  }
  return 0;
}

int write_file(int fd, const void *from, uint64_t bytes, uint64_t offset) {
  const ssize_t n = pwrite(fd, from, bytes, static_cast<off_t>(offset));
  return n == static_cast<ssize_t>(bytes) ? 0 : n < 0 ? -errno : -EIO;
}

} // namespace pagecast::os
