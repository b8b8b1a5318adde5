// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory in a file: how large data are served where userfaultfd is refused. A block of private memory becomes, at the
// same address and with the same contents, a shared mapping of an unlinked file on the backing directory. Its pages are the
// page cache's then: the kernel writes them out and reads them again, and advice (advise.h) moves them.
//
// To the program it stays private memory:
//   room    is reserved before a block moves here: a store never meets a full disk, which would raise SIGBUS
//   fork    copies the file for the child while both stand still, since they would see each other's stores. Children
//           made past fork() have nothing at these addresses
//   zeros   MADV_DONTNEED zeroes the file's range, which takes the pages out of all page tables
// While a block moves, nobody may store to it: so with other threads about, or with queues for I/O (a device may be
// reading into it), only blocks that are new and untouched move. Signals wait meanwhile.
//
// Example: a block at page 7000 of the address space with slot 256 is at 1 MiB in the file.
//
// Threads: whoever holds the allocations' lock.
#pragma once
#include "runtime/store/local_store.h"
#include "runtime/state/regions.h"

#include <cstdint>

namespace pagecast {

class MemoryFile {
public:
  /// Opens it; `need` bytes should be free. 0, or -errno with a sentence in `why`.
  int start(const char *directory, uint64_t need, char *why, unsigned capacity);
  bool active() const { return file_.fd() >= 0; }

  /// Moves [address, address+bytes) to `slot` on, from its beginning as far as it can be: returns these bytes; the rest
  /// stays as it is. `fresh`: only the caller can know of it yet. Cost: 2 us, and 0.5 ms for each MiB with contents.
  uint64_t take(uint64_t address, uint64_t bytes, uint32_t slot, bool fresh);
  /// Ends it for a part of a region: untouched private memory is there then. True: its room is, and may be used again; else
  /// it still has contents.
  bool give_back(const FileRegion &, uint64_t begin, uint64_t end);
  /// Makes a part of a region zero.
  void clear(const FileRegion &, uint64_t begin, uint64_t end);
  /// The same of memory that is in no region.
  void clear_private(uint64_t begin, uint64_t end);
  /// Bytes that one piece of advice surely reads.
  uint32_t request_bytes() const { return request_bytes_; }

  /// Before fork: a copy for the child of what the regions hold. 0 or -errno.
  int copy(FileRegions &);
  /// A part of a region that has the stack of who forks cannot be copied while it runs on it: stores there become private to
  /// parent and child, as it is now. The caller makes it no part of a region.
  void make_private(const FileRegion &, uint64_t begin, uint64_t end);
  /// After it, in the parent.
  void copied(FileRegions &);
  /// In the child: the copy takes the place of the parent's file. 0 or -errno: abandon().
  int take_over(FileRegions &);
  /// In the child: the regions are the parent's; touching them is a segmentation fault.
  void abandon(FileRegions &);

private:
  uint64_t offset(const FileRegion &r, uint64_t address) const;
  bool may_move(uint64_t address, uint64_t bytes, bool fresh) const;
  int move_piece(uint64_t address, uint64_t bytes, uint64_t offset);
  int remap(const FileRegion &, uint64_t begin, uint64_t end, int fd, bool shared);

  Backing file_, copy_;
  uint32_t request_bytes_ = 0;
  char directory_[1024] = ""; ///< absolute: the program may change its own
};

} // namespace pagecast
