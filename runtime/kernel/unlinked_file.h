// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files without a name, and the directories that they are made in. As in os.h: 0 or a count, or -errno; nothing prints, throws
// or allocates.
#pragma once
#include <cstdint>

namespace pagecast::os {

struct DirectoryFacts {
  bool is_directory = false;
  const char *in_memory = nullptr; ///< name of the file system, if its files are in memory
  uint64_t free_bytes = ~uint64_t{0}; ///< ~0: that cannot be found out
};
/// 0, or -errno if there is nothing of that name.
int directory_facts(const char *path, DirectoryFacts *);

/// A file for direct I/O that nobody else can open. Its descriptor, or -errno.
int open_unlinked(const char *directory);

/// Makes sure that [offset, offset+bytes) can be written without running out of space. 0 or -errno. Cost: 0.1 ms, and as long as
/// the disk stalls.
int reserve_space(int fd, uint64_t offset, uint64_t bytes);

} // namespace pagecast::os
