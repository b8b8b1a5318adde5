// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/store/local_store.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/own_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <linux/falloc.h>

namespace pagecast {

int Room::start_room(uint64_t most_bytes) {
  constexpr uint64_t kWords = 1u << 16;
  reserved_ = static_cast<uint64_t *>(os::reserve(kWords * sizeof(uint64_t)));
  if (!reserved_) return -ENOMEM;
  reserved_words_ = kWords;
  most_extents_ = std::min(kWords * 64, most_bytes / kExtent);
  return 0;
}

void Room::stop_room() {
  if (reserved_) os::unmap(reserved_, reserved_words_ * sizeof(uint64_t));
  reserved_ = nullptr;
}

const char *Backing::directory(const char *given) {
  if (!given) given = secure_getenv("TMPDIR");
  return given && *given ? given : "/var/tmp";
}

int Backing::start(const char *given, uint64_t need, char *why, unsigned capacity) {
  const char *directory = Backing::directory(given);
  os::DirectoryFacts facts;
  if (const int error = os::directory_facts(directory, &facts)) {
    write_text(why, capacity, "backing directory %s: %s", directory, error_text(-error));
    return error;
  }
  if (!facts.is_directory) {
    write_text(why, capacity, "backing directory %s is not a directory", directory);
    return -ENOTDIR;
  }
  if (facts.in_memory) {
    write_text(why, capacity, "backing directory %s is in memory (%s); choose one on a disk with --backing or PAGECAST_BACKING",
               directory, facts.in_memory);
    return -EINVAL;
  }
  if (facts.free_bytes < need) {
    write_text(why, capacity, "backing directory %s has %llu MiB free, but %llu MiB may be needed", directory,
               static_cast<unsigned long long>(facts.free_bytes >> 20), static_cast<unsigned long long>(need >> 20));
    return -ENOSPC;
  }
  const uint64_t most = os::most_file_bytes();
  if (most < kExtent) {
    write_text(why, capacity,
               "files may have no more than %llu KiB (ulimit -f), and pages need one of %llu MiB or more; raise that limit",
               static_cast<unsigned long long>(most >> 10), static_cast<unsigned long long>(kExtent >> 20));
    return -EFBIG;
  }
  const int fd = os::open_unlinked(directory);
  if (fd < 0) {
    write_text(why, capacity, "backing directory %s cannot be written: %s", directory, error_text(-fd));
    return fd;
  }
  fd_ = own_descriptor(fd);
  const int error = start_room(most);
  if (error) write_text(why, capacity, "no address space for the backing file's map");
  return error;
}

int Backing::reserve(uint64_t offset, uint64_t bytes) {
  for (uint64_t e = offset / kExtent; e * kExtent < offset + bytes; ++e) {
    if (e >= most_extents()) return -EFBIG;
    if (has_extent(e)) continue;
    const int error = os::reserve_space(fd_, e * kExtent, kExtent);
    if (error && error != -EOPNOTSUPP) return error; // a file system without reservation: the write itself will tell
    note_extent(e);
  }
  return 0;
}

void Backing::stop() {
  close_own(fd_);
  stop_room();
  fd_ = -1;
}

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
