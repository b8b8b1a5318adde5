// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A store on another machine, or in another program: an NBD server's export, reached by a helper (runtime/nbd/link.h).
//
//   extents   files of this process and of its relatives share the export in extents of 16 MiB, by a table that they have in common
//   sums      each page's checksum is kept in memory. A server that comes back empty, or sends something else, is found out
//   map       an export that is mapped (runtime/process/maps.h) has its own data: a page's offset is the export's own, and what is there
//             may be another's, so that there are neither extents nor sums. Its last page may be a part of one.
//   copies    reads go into staging, which the helper shares. What is written from elsewhere is copied into buffers, in turns
//
// Pager's thread, and the thread that forks.
#pragma once
#include "runtime/nbd/link.h"
#include "runtime/store/staging.h"
#include "runtime/store/store.h"

namespace pagecast {

class NbdStore final : public Store {
public:
  /// Memory that the servers in such a list take: helpers, and buffers for writes.
  static uint64_t bytes_to_start(const char *list, uint64_t budget);

  /// Connects. `staging`: shared, where reads arrive; `budget`: bytes of memory that the program may hold; `patience_s`: without
  /// a connection, until requests fail. 0, or -errno with a sentence.
  int start(const char *uri, const Staging &staging, uint64_t budget, unsigned patience_s, char *why, unsigned capacity);

  /// The same of an export that is mapped: requests are for offsets in the export, and any file is it.
  int start_map(const char *uri, unsigned patience_s, char *why, unsigned capacity);
  /// The size of the export that is mapped.
  uint64_t bytes() const { return link_.bytes(); }
  /// Bytes of the blocks in which it is best asked ahead: its server's, or those of storage caches where that does not say.
  uint64_t block() const;
  bool is_read_only() const { return link_.is_read_only(); }
  /// Memory that an export takes which is mapped.
  static uint64_t bytes_of_map();
  /// Asks it to keep what was written through a loss of power. synced(): 1 until it does; then 0 or -errno, -EOPNOTSUPP where it
  /// does not know how.
  void sync();
  int synced() const { return synced_; }
  /// Asks it to have the bytes at hand soon. False: it does not know how, or has not answered the last ones.
  bool ask_ahead(uint64_t offset, uint64_t bytes);

  const char *name() const override { return uri_; }
  uint64_t free_bytes() override;
  int make(unsigned file, uint64_t need, Room **room, char *why, unsigned capacity) override;
  void remove(unsigned file) override;
  bool read(unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag) override;
  bool write(unsigned file, const void *from, uint64_t bytes, uint64_t offset, uint64_t tag) override;
  bool reserve_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t tag) override;
  bool give_back_room(unsigned file, uint64_t offset, uint64_t bytes, uint64_t tag) override;
  int open() override;
  bool next(Completion *) override;
  int event() const override { return link_.event(); }
  void look() override;
  int read_now(unsigned file, void *to, uint64_t bytes, uint64_t offset) override;
  int write_now(unsigned file, const void *from, uint64_t bytes, uint64_t offset) override;
  int reserve_room_now(unsigned file, uint64_t offset, uint64_t bytes) override;
  void recover() override;

private:
  static constexpr unsigned kTags = 1024;
  static constexpr uint64_t kNowTag = kTags - 1, kSyncTag = kTags - 2, kAheadTag = kTags - 3; ///< requests use fewer
  /// A request that is not answered yet: its pieces are with the helper, or wait for buffers.
  struct OpenRequest {
    const char *memory;
    uint64_t offset, bytes; ///< in the file
    uint64_t asked; ///< of the bytes
    uint32_t pieces; ///< not answered yet
    int error; ///< -errno of one of them
    uint8_t file;
    bool write;
  };
  void give_back(unsigned file, uint64_t extent);
  bool room_done(uint64_t tag, int result);
  void begin(unsigned file, bool write, const void *memory, uint64_t bytes, uint64_t offset, uint64_t tag);
  bool is_staged(const char *memory) const;
  bool ask_more(uint64_t tag);
  void ask_waiting();
  void ask(uint64_t tag, uint64_t bytes, bool staged, uint64_t memory);
  uint64_t in_export(const OpenRequest &) const;
  void end_piece(const NbdPiece &, OpenRequest &, bool good);
  bool finished(uint64_t tag) const;
  void piece_done(const NbdAnswer &);
  int result_of(uint64_t tag);
  void note_sums(const OpenRequest &, const char *contents, uint64_t bytes);
  int wait_now();
  void say_changes();
  int claim();
  bool is_map() const { return !staging_; }
  NbdLink::Staging shared() const {
    return is_map() ? NbdLink::Staging{-1, 0} : NbdLink::Staging{staging_->fd(), staging_->bytes()};
  }

  char uri_[1024] = {};
  NbdLink link_;
  const Staging *staging_ = nullptr;
  Staging buffers_; ///< in the channel
  uint64_t extents_ = 0;
  uint8_t *used_ = nullptr; ///< by extent of the export; shared with relatives
  int claim_ = -1;
  Room room_[kFiles];
  uint32_t *export_extent_[kFiles] = {}; ///< 1 + extent of the export, by extent of the file
  uint32_t *sum_ = nullptr; ///< by slot
  OpenRequest open_request_[kTags] = {};
  uint16_t tag_of_[NbdChannel::kPieces] = {}; ///< by piece
  uint16_t waiting_[kTags]; ///< ring of writes that want buffers
  uint16_t done_[kTags]; ///< ring of requests that are over
  unsigned first_waiting_ = 0, waiting_count_ = 0, first_done_ = 0, done_count_ = 0;
  Completion room_done_{}; ///< tag 0: none
  int synced_ = 0;
  uint32_t asked_ahead_ = 0; ///< not answered
  bool caches_ = true; ///< it knows how
  unsigned losses_ = 0, returns_ = 0;
  bool strange_said_ = false;
};

} // namespace pagecast
