// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A place where files for pages can be made: a directory (local_store.h) is one. Who uses it gives the files numbers
// (fork_files.h). Requests end as completions with their tag, in the pager's ring or by next(). One indirect call a request, none a
// page.
// Pager's thread, and the thread that forks while the pager holds still.
#pragma once
#include "runtime/kernel/uring.h"

#include <cstdint>

namespace pagecast {

// Which parts of a file in a store have room for data, in extents. Pager's thread only.

class Room {
public:
  /// Room is reserved in extents of so many bytes.
  static constexpr uint64_t kExtent = 16u << 20;
  /// Address space for the map; no extent is reserved then. `most_bytes`: that the file may ever have. 0 or -ENOMEM.
  int start_room(uint64_t most_bytes = ~uint64_t{0});
  void stop_room();
  /// Whether all of [offset, offset+bytes) was reserved before.
  bool reserved(uint64_t offset, uint64_t bytes) const {
    for (uint64_t e = offset / kExtent; e * kExtent < offset + bytes; ++e)
      if (!has_extent(e)) return false;
    return true;
  }
  /// Whether extent number `e` was reserved.
  bool has_extent(uint64_t e) const { return e / 64 < reserved_words_ && (reserved_[e / 64] >> (e % 64) & 1); }
  /// It has been.
  void note_extent(uint64_t e) { reserved_[e / 64] |= 1ull << (e % 64); }
  /// Extents beyond this one cannot be.
  uint64_t most_extents() const { return most_extents_; }

private:
  uint64_t reserved_words_ = 0, most_extents_ = 0;
  uint64_t *reserved_ = nullptr; ///< one bit per extent of the file
};

class Store {
public:
  static constexpr unsigned kFiles = 32; ///< numbers of files are below
  using Completion = Uring::Completion;

  /// For sentences: a directory, or an address.
  virtual const char *name() const = 0;
  /// That can be had at all; ~0: nobody knows.
  virtual uint64_t free_bytes() = 0;

  /// Makes an empty file of this number, for which `need` bytes must be free, else -ENOSPC. 0 with its room, or -errno with
  /// a sentence in `why`.
  virtual int make(unsigned file, uint64_t need, Room **room, char *why, unsigned capacity) = 0;
  /// Its contents are lost.
  virtual void remove(unsigned file) = 0;

  /// On the thread that will use it, also after recover(). 0 or -errno.
  virtual int open() { return 0; }
  /// In the child of a fork: what is shared with the parent is only read.
  virtual void recover() {}

  // --- requests: false if no more can be taken now ---
  virtual bool read(unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag) = 0;
  virtual bool write(unsigned file, const void *from, uint64_t bytes, uint64_t offset, uint64_t tag) = 0;
  /// Reserves room for [offset, offset+bytes).
  virtual bool reserve_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t tag) = 0;
  /// Gives up what was reserved.
  virtual bool give_back_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t tag) = 0;

  /// The next answer, of a store whose answers do not come through the pager's ring.
  virtual bool next(Completion *) { return false; }
  /// Readable when there are such answers; -1: there never are.
  virtual int event() const { return -1; }
  /// About once a second while requests are under way: whether who answers is still there.
  virtual void look() {}

  // --- the same at once; 0 or -errno. Cost: as long as the store takes. ---
  virtual int read_now(unsigned file, void *to, uint64_t bytes, uint64_t offset) = 0;
  virtual int write_now(unsigned file, const void *from, uint64_t bytes, uint64_t offset) = 0;
  virtual int reserve_room_now(unsigned file, uint64_t offset, uint64_t bytes) = 0;

protected:
  ~Store() = default; // stores live as long as the program
};

} // namespace pagecast
