// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/local_store.h"

#include "runtime/kernel/own_files.h"

#include <linux/falloc.h>

namespace pagecast {

void LocalStore::start(Disk &disk, const char *directory) {
  disk_ = &disk;
  given_ = directory;
}

int LocalStore::make(unsigned file, uint64_t need, Room **room, char *why, unsigned capacity) {
  if (const int error = file_[file].start(directory_[0] ? directory_ : given_, need, why, capacity)) return error;
  if (!directory_[0] && !os::absolute_path(Backing::directory(given_), directory_, sizeof directory_)) directory_[0] = 0;
  *room = &file_[file];
  return 0;
}

uint64_t LocalStore::free_bytes() {
  os::DirectoryFacts facts;
  return os::directory_facts(directory_, &facts) ? 0 : facts.free_bytes;
}

void LocalStore::remove(unsigned file) {
  disk_->use(file, -1);
  file_[file].stop();
}

bool LocalStore::read(unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag) {
  disk_->use(file, file_[file].fd());
  return disk_->read(file, to, bytes, offset, tag);
}

bool LocalStore::write(unsigned file, const void *from, uint64_t bytes, uint64_t offset, uint64_t tag) {
  disk_->use(file, file_[file].fd());
  return disk_->write(file, from, bytes, offset, tag);
}

bool LocalStore::reserve_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t tag) {
  disk_->use(file, file_[file].fd());
  return disk_->allocate(file, 0, offset, bytes, tag);
}

bool LocalStore::give_back_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t tag) {
  disk_->use(file, file_[file].fd());
  return disk_->allocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes, tag);
}

int LocalStore::read_now(unsigned file, void *to, uint64_t bytes, uint64_t offset) {
  return os::read_file(file_[file].fd(), to, bytes, offset);
}

int LocalStore::write_now(unsigned file, const void *from, uint64_t bytes, uint64_t offset) {
  return os::write_file(file_[file].fd(), from, bytes, offset);
}

int LocalStore::reserve_room_now(unsigned file, uint64_t offset, uint64_t bytes) { return file_[file].reserve(offset, bytes); }

} // namespace pagecast
