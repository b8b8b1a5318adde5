// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// System calls around the helper for NBD: its start, and the memory and names that it shares. 0 or a descriptor, or -errno;
// nothing prints or allocates.
#pragma once
#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::os {

/// What the helper is started with: its path, and this process's environment without what is meant for paged programs. Kept, since
/// it is started again when the program may have changed either, and its memory may be paged. False: there is no memory for it.
bool note_helper(const char *path);
bool has_helper();
/// Starts it, with these descriptors from number 3 on, in a session of its own. The program learns nothing of it: it is no child, and
/// none that has ended is ever to be seen. 0 or -errno. Cost: a millisecond; the calling thread takes no signals meanwhile.
int start_helper(const int *descriptors, unsigned count);

/// Memory that a helper can have, too, from its descriptor. Descriptor or -errno.
int make_shared_memory(const char *name, uint64_t bytes);
/// All of it, touched, so that who looks at memory counts it; NULL on failure. `at`: in the place of what is there, unless NULL.
char *map_shared_memory(int fd, uint64_t bytes, void *at = nullptr);
/// Zeroed address space without memory behind it until touched, shared with children of forks. NULL on failure.
void *reserve_shared(uint64_t bytes);

/// Takes a name that one process on this machine has at a time, with the children that it makes by fork. Descriptor, or -errno.
int claim(const char *name);

// --- what the helper of a job shares (job.h) ---

/// A descriptor of another process's, opened anew. Descriptor or -errno.
int open_of_process(int process, int descriptor);

// Locks on single bytes of that memory, for both sides: they say who lives, since a lock goes with the last copy of the descriptor
// through which it was taken. Any thread; a system call each.

inline struct flock byte_at(int64_t at, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_start = at;
  lock.l_len = 1;
  return lock;
}

/// `waits`: until it is free. Whether it was taken.
inline bool lock_byte(int fd, int64_t at, bool waits) {
  struct flock lock = byte_at(at, F_WRLCK);
  return syscall(SYS_fcntl, fd, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock) == 0;
}

inline void unlock_byte(int fd, int64_t at) {
  struct flock lock = byte_at(at, F_UNLCK);
  syscall(SYS_fcntl, fd, F_OFD_SETLK, &lock);
}

/// Whether somebody else has it.
inline bool is_byte_locked(int fd, int64_t at) {
  struct flock lock = byte_at(at, F_WRLCK);
  return syscall(SYS_fcntl, fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/// Waits while the word in shared memory has that value, for so long at most; it may return before.
void wait_for_other_process(const std::atomic<uint32_t> *, uint32_t value, uint64_t ns);
/// Where a pipe is full, it has been read by nobody, and one byte more would say nothing.
void write_byte(int fd);

} // namespace pagecast::os
