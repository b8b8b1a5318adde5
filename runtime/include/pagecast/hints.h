// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints by hand about files: what a program will read, said early, so that many reads are under way at once where the
// program asks for one at a time. Link with -lpagecast-hints, which needs neither the rest of Pagecast nor a special start.
//
// Hints are carried out by threads of the library, in the order in which they were given, as many at a time as the device
// can answer. They never change what a program reads. What is in memory already costs a look. No more is read ahead than a
// share of the memory that is left, or of the control group's limit; the program's own reads make room for more.
//
// All functions may be called from any thread, but not from a signal handler. None writes a message or ends the program.
// After fork() the child begins without hints.
#ifndef PAGECAST_HINTS_H
#define PAGECAST_HINTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A part of a file, in bytes.
struct pagecast_range {
  uint64_t offset, bytes;
};

/// Will read these parts of the open regular file `fd`, in this order. The file may be closed at once.
/// Returns how many of them were taken: fewer than `count` when the queue is full; give the rest later. The queue holds
/// 4,096 hints of up to 256 KiB; a longer range takes several places, and what of it there is no room for is forgotten.
/// Returns -EBADF: not open; -EINVAL: not a regular file; -ESTALE: the file has no name any more; -ENAMETOOLONG;
/// -ENOMEM or -EAGAIN: no memory or threads. Cost: 3 us, and 0.2 us for each range.
int pagecast_hint_file(int fd, const struct pagecast_range *ranges, size_t count);

/// Will read that file from its beginning, or that directory's names. Of a file up to 1 MiB all is read, else 128 KiB.
/// Symbolic links are not followed at the last part of the name. Whether there is such a file is not looked at.
/// Returns 1, or 0 when the queue is full. Returns -EINVAL for an empty name; -ENAMETOOLONG; -ENOMEM or -EAGAIN as above.
/// Cost: 1 us.
int pagecast_hint_path(const char *path);

/// Drops what is queued and has not begun. Returns how many hints that were. Cost: 1 us.
int pagecast_hint_cancel(void);

/// How many hints are queued or under way.
int pagecast_hint_queued(void);

#ifdef __cplusplus
}
#endif
#endif
