// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/backing.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/file_systems.h"
#include "runtime/kernel/os.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace pagecast {
namespace {

int open_unlinked(const char *directory) {
  const int flags = O_RDWR | O_DIRECT | O_CLOEXEC;
  int fd = open(directory, O_TMPFILE | flags, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd >= 0 ? fd : -errno;
  char path[4096];
  if (snprintf(path, sizeof path, "%s/.pagecast-XXXXXX", directory) >= static_cast<int>(sizeof path)) return -ENAMETOOLONG;
  fd = mkostemp(path, O_DIRECT | O_CLOEXEC);
  if (fd < 0) return -errno;
  unlink(path);
  return fd;
}

} // namespace

const char *Backing::directory(const char *given) {
  if (!given) given = secure_getenv("TMPDIR");
  return given && *given ? given : "/var/tmp";
}

int Backing::start(const char *given, uint64_t need, char *why, unsigned room) {
  const char *directory = Backing::directory(given);
  struct stat s;
  if (stat(directory, &s)) {
    const int error = errno;
    snprintf(why, room, "backing directory %s: %s", directory, strerror(error));
    return -error;
  }
  if (!S_ISDIR(s.st_mode)) {
    snprintf(why, room, "backing directory %s is not a directory", directory);
    return -ENOTDIR;
  }
  struct statfs f;
  if (statfs(directory, &f) == 0) {
    if (const FileSystem *known = known_file_system(static_cast<uint32_t>(f.f_type)); known && known->in_memory) {
      snprintf(why, room, "backing directory %s is in memory (%s); choose one on a disk with PAGECAST_BACKING", directory,
               known->name);
      return -EINVAL;
    }
    const uint64_t free_bytes = static_cast<uint64_t>(f.f_bavail) * static_cast<uint64_t>(f.f_bsize);
    if (free_bytes < need) {
      snprintf(why, room, "backing directory %s has %llu MiB free, but %llu MiB may be needed", directory,
               static_cast<unsigned long long>(free_bytes >> 20), static_cast<unsigned long long>(need >> 20));
      return -ENOSPC;
    }
  }
  const int fd = open_unlinked(directory);
  if (fd < 0) {
    snprintf(why, room, "backing directory %s cannot be written: %s", directory, strerror(-fd));
    return fd;
  }
  fd_ = own_descriptor(fd);
  reserved_words_ = 1u << 16;
  reserved_ = static_cast<uint64_t *>(os::reserve(reserved_words_ * sizeof(uint64_t)));
  if (!reserved_) {
    snprintf(why, room, "no address space for the backing file's map");
    return -ENOMEM;
  }
  return 0;
}

bool Backing::reserved(uint64_t offset, uint64_t bytes) const {
  for (uint64_t e = offset / kExtent; e * kExtent < offset + bytes; ++e)
    if (!has_extent(e)) return false;
  return true;
}

int Backing::reserve(uint64_t offset, uint64_t bytes) {
  for (uint64_t e = offset / kExtent; e * kExtent < offset + bytes; ++e) {
    if (e >= most_extents()) return -EFBIG;
    if (has_extent(e)) continue;
    if (fallocate(fd_, 0, static_cast<off_t>(e * kExtent), static_cast<off_t>(kExtent))) {
      // A file system without reservation: the write itself will tell.
      if (errno != EOPNOTSUPP) return -errno;
    }
    note_extent(e);
  }
  return 0;
}

void Backing::stop() {
  close_own(fd_);
  if (reserved_) os::unmap(reserved_, reserved_words_ * sizeof(uint64_t));
  fd_ = -1;
  reserved_ = nullptr;
}

} // namespace pagecast
