// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What memory in a file (memory_file.h) asks of the operating system: facts about mappings, and room in the file. As
// in os.h: 0 or a count, or -errno; nothing prints, throws or allocates.
#pragma once
#include <csignal>
#include <cstdint>

namespace pagecast::os {

/// A part of this process's address space with one protection.
struct Mapping {
  uint64_t begin, end;
  int protection;   ///< PROT_READ and so on
  bool own;         ///< private
  uint64_t file;    ///< its inode; 0: there is no file behind it
  bool plain() const { return own && !file; }
};
/// The first `most` mappings that overlap [begin, end), cut to it, in order. 0: none, or they cannot be told.
/// Cost: 0.3 us for each mapping of the process below `end`.
unsigned mappings(uint64_t begin, uint64_t end, Mapping *out, unsigned most);

/// Whether the program has queues for I/O that goes on behind its back (io_uring, Linux AIO), from and to memory that it
/// was given long ago. Cost: 0.3 us for each mapping of the process.
bool may_have_io_under_way();
/// Whether the program has a thread besides the calling one. True if that cannot be told. Cost: 2 us.
bool other_threads();

/// All signals wait while it lives: no handler of the program runs on this thread.
class SignalsHeld {
public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld &) = delete;
  SignalsHeld &operator=(const SignalsHeld &) = delete;

private:
  sigset_t before_;
};

/// Why room that was reserved in this file might still not be there when it is stored to; NULL: it will be.
const char *reservation_fails(int fd);
/// Makes sure that stores to a mapping of [offset, offset+bytes) find room; what was never stored reads as zero.
/// -ENOSPC; -EFBIG: the process may not have such files (without the signal that goes with it). Cost: 2 ms a GiB.
int reserve_room(int fd, uint64_t offset, uint64_t bytes);
/// The range reads as zero from now on, mappings included, and keeps its room.
int zero_room(int fd, uint64_t offset, uint64_t bytes);
/// Gives the room back.
int free_room(int fd, uint64_t offset, uint64_t bytes);
/// Copies what was stored in the range, at the same offset, block by block: a copy that shares blocks with the original
/// (FICLONE, or copy_file_range on xfs and btrfs) would need room at the next store. Cost: 0.2 to 0.3 s a GiB that is in
/// memory, else what the disk takes to read and write it. Measured on ext4, Linux 6.18: copy_file_range is no faster; two
/// threads gain nothing in memory, a file having one writer at a time, and a tenth on the disk; direct I/O takes twice as long.
int copy_room(int from, int to, uint64_t offset, uint64_t bytes);
/// From the program's cache and not past it: no direct I/O through this descriptor.
int use_page_cache(int fd);

/// Wakes who waits (futex) for a word in shared mappings of the range: once it is private memory, nobody else would find
/// them. That they look again harms nobody. Cost: 0.2 us a word.
void wake_all(int fd, uint64_t offset, uint64_t bytes);

} // namespace pagecast::os
