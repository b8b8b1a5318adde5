// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/unlinked_file.h"

#include "runtime/kernel/file_systems.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace pagecast::os {

int directory_facts(const char *path, DirectoryFacts *facts) {
  *facts = {};
  struct stat s;
  if (stat(path, &s)) return -errno;
  facts->is_directory = S_ISDIR(s.st_mode);
  struct statfs f;
  if (statfs(path, &f)) return 0;
  const FileSystem *known = known_file_system(static_cast<uint32_t>(f.f_type));
  if (known && known->in_memory) facts->in_memory = known->name;
  facts->free_bytes = static_cast<uint64_t>(f.f_bavail) * static_cast<uint64_t>(f.f_bsize);
  return 0;
}

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

int reserve_space(int fd, uint64_t offset, uint64_t bytes) {
  return fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) ? -errno : 0;
}

} // namespace pagecast::os
