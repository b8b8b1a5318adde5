// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's own files: without a name, for pages, and the directories that they are made in; with one, for statistics. As
// in os.h: 0 or a count, or -errno; nothing prints, throws or allocates.
#pragma once
#include <cstdint>

namespace pagecast::os {

struct DirectoryFacts {
  bool is_directory = false;
  const char *in_memory = nullptr; ///< name of the file system, if its files are in memory
  uint64_t free_bytes = ~uint64_t{0}; ///< ~0: that cannot be found out
  uint64_t device = 0; ///< that holds it, whatever part of it
};
/// 0, or -errno if there is nothing of that name.
int directory_facts(const char *path, DirectoryFacts *);

/// A file for direct I/O that nobody else can open. Its descriptor, or -errno.
int open_unlinked(const char *directory);

/// That a file of this process may have (RLIMIT_FSIZE).
uint64_t most_file_bytes();

/// Makes sure that [offset, offset+bytes) can be written without running out of space. 0 or -errno. Cost: 0.1 ms, and as long as
/// the disk stalls.
int reserve_space(int fd, uint64_t offset, uint64_t bytes);

/// False if it does not fit or is not there.
bool absolute_path(const char *path, char *out, unsigned capacity);
/// 0 or -errno; whole pages, past the program's cache.
int read_file(int fd, void *to, uint64_t bytes, uint64_t offset);
/// What disk.cpp makes of that.
int read_at_once(int fd, void *to, uint64_t bytes, uint64_t offset);
int write_file(int fd, const void *from, uint64_t bytes, uint64_t offset);
/// A file for writing, which is emptied; `new_only`: -EEXIST if it is there. Its descriptor, or -errno.
int create_file(const char *path, bool new_only);
/// A new file without contents. 0 or -errno: -EEXIST if something is there.
int make_empty(const char *path);
/// Makes the file longer by [offset, offset+bytes), and maps that shared, for storing to; no child gets the mapping. NULL, with
/// errno, if the disk has no room for it.
void *map_growing(const char *path, uint64_t offset, uint64_t bytes);
/// The first bytes of a file, ended by a zero. 0 or -errno.
int file_head(const char *path, char *to, unsigned capacity);
/// Whether a file can take the place of what is at `path`: a file, or nothing.
bool is_replaceable(const char *path);
/// `from` takes the place of `to`. Who opens that finds the one or the other. 0 or -errno.
int replace_file(const char *from, const char *to);
/// All of it, one after the other. 0 or -errno.
int append(int fd, const char *from, uint64_t bytes);

} // namespace pagecast::os
