// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A store in a directory: unlinked files, for which requests go through the pager's ring.
#pragma once
#include "runtime/kernel/disk.h"
#include "runtime/store/backing.h"
#include "runtime/store/store.h"

namespace pagecast {

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
