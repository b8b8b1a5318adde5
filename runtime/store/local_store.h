// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A store in a directory: unlinked files, for which requests go through the pager's ring. Backing is one such file, which memory in a
// file (runtime/files/memory_file.h) has, too.
#pragma once
#include "runtime/kernel/disk.h"
#include "runtime/store/store.h"

#include <cstdint>

namespace pagecast {

// A file in a directory: unlinked, sparse, opened for direct I/O. A page's place is its slot.

class Backing : public Room {
public:
  /// Opens it in `directory` (NULL: $TMPDIR, then /var/tmp). On failure returns -errno and `why` holds a
  /// sentence. `need` bytes must be free, else -ENOSPC; and a file may be as long as an extent at least, else -EFBIG.
  int start(const char *directory, uint64_t need, char *why, unsigned capacity);
  int fd() const { return fd_; }
  /// What start() makes of the option.
  static const char *directory(const char *given);
  /// Makes sure that [offset, offset+bytes) can be written without running out of space. 0 or -errno.
  /// Cost: nothing when it was reserved before, about 0.1 ms per extent otherwise, and as long as the disk stalls.
  int reserve(uint64_t offset, uint64_t bytes);
  /// Closes it; start() may follow.
  void stop();

private:
  int fd_ = -1;
};

class LocalStore final : public Store {
public:
  /// `directory`: as in Backing::start. It is remembered as an absolute path when the first file is made, since the program may
  /// be in another directory later. Both must outlive this until then.
  void start(Disk &disk, const char *directory);

  const char *name() const override { return directory_; }
  uint64_t free_bytes() override;
  int make(unsigned file, uint64_t need, Room **room, char *why, unsigned capacity) override;
  void remove(unsigned file) override;
  bool read(unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag) override;
  bool write(unsigned file, const void *from, uint64_t bytes, uint64_t offset, uint64_t tag) override;
  bool reserve_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t tag) override;
  bool give_back_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t tag) override;
  int read_now(unsigned file, void *to, uint64_t bytes, uint64_t offset) override;
  int write_now(unsigned file, const void *from, uint64_t bytes, uint64_t offset) override;
  int reserve_room_now(unsigned file, uint64_t offset, uint64_t bytes) override;
  int fd(unsigned file) const { return file_[file].fd(); }

private:
  Disk *disk_ = nullptr;
  const char *given_ = nullptr;
  char directory_[1024] = {};
  Backing file_[kFiles];
};

} // namespace pagecast
