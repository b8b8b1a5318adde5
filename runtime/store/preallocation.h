// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room in the backing files: fallocate through io_uring. It waits for the requests under way on the file, and on a disk
// that stalls for as long as that lasts; the pager goes on serving what needs no room meanwhile.
//
//   needed   a write has no room: its extent is asked for, and the write is tried again when it is there
//   ahead    where writes go through the file in order, the extents that follow are asked for before they are needed: as
//            many as have been written in a row, up to 128 MiB, and none beyond the end of the data
//   back     what ahead got before the disk was full, others may have
//
// Example: extents 0 and 1 have been reserved one by one; the first write to extent 1 asks for 2, the first to 2 for 3
// and 4, the first to 3 (one of three is left) for 5 to 7.
//
// One request at a time. Pager's thread only.
#pragma once
#include "runtime/store/fork_files.h"
#include "runtime/store/disk_errors.h"

#include <cstdint>

namespace pagecast {

class Preallocation {
public:
  /// For a store's files; all must outlive this. `number`: the store's.
  void start(ForkFiles &, DiskErrors &, unsigned number = 0);

  /// Whether [offset, offset+bytes) of the file can be written without running out of space. False: not now: room is
  /// being made, or could not be had. `end`: bytes of the file that may be needed at all. Cost: 10 ns where there is
  /// room, else what it costs to queue a request.
  bool have_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t end);

  /// The disk's answer to the request under way, which has this bit in its tag, and the store's number.
  static constexpr uint64_t kTag = 1ull << 62;
  void done(int result);

  bool busy() const { return started_ns_ != 0; }
  /// When the request under way was started; 0: none is.
  uint64_t started_ns() const { return started_ns_; }

private:
  static constexpr uint64_t kMostAhead = 8;                  ///< extents
  static constexpr uint64_t kAheadAgainNs = 10'000'000'000;  ///< after it failed
  enum Purpose { kNeeded, kAhead, kBack };

  bool ask(Purpose, unsigned file, uint64_t first, uint64_t extents);
  void grow_ahead(unsigned file, uint64_t last, uint64_t end);

  ForkFiles *fork_files_ = nullptr;
  DiskErrors *disk_errors_ = nullptr;
  uint64_t tag_ = kTag;
  bool asynchronous_ = true; ///< the kernel takes such requests
  uint64_t ahead_again_ns_ = 0;

  // The request under way.
  uint64_t started_ns_ = 0;
  Purpose purpose_ = kNeeded;
  unsigned file_ = 0;
  uint64_t first_ = 0, extents_ = 0;
};

} // namespace pagecast
