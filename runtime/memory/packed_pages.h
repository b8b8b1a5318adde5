// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contents of pages in memory of the runtime's own: compressed by LZ4 where that makes them smaller, else as they are.
//
// Cost: some 5 us to compress a page, 2 to have it back, 1 each where it is kept as it is. Pager's thread.
#pragma once
#include "core/memory/chunk_store.h"
#include "core/memory/compressibility.h"

#include <algorithm>
#include <cstdint>

namespace pagecast {

class PackedPages {
public:
  /// Of a page: where its contents are, and how many bytes they take; a page's bytes where they are as they were.
  struct Packed {
    uint32_t first, bytes;
  };

  /// Reserves address space for so many bytes of memory. `page`: bytes of a page. False: there is none.
  bool start(uint64_t most_bytes, uint64_t page);
  void compress(bool on) { compress_ = on; }
  /// There is memory for so many bytes more. Returns how many that are, in whole chunks, of which no more come than were reserved.
  uint64_t grow(uint64_t bytes);
  /// Gives memory back, down to so many bytes(). False: more are in use. `each` must call lower() for all that is kept.
  template <class Each> bool shrink(uint64_t bytes, Each each) {
    const uint32_t before = chunks_.count(), chunks = chunks_in(bytes);
    if (before - chunks_.free() > chunks || chunks >= before) return false;
    chunks_.shrink(chunks);
    each();
    discard(chunks, before);
    return true;
  }
  void lower(Packed &p) { p.first = chunks_.lowered(p.first, p.bytes); }
  /// Gives all memory back.
  void clear();
  /// Bytes that it takes.
  uint64_t bytes() const { return core::ChunkStore::bytes_for(chunks_.count()) + (chunks_.count() ? kOwn : 0); }
  /// Bytes of contents for which there is room.
  uint64_t room() const { return uint64_t{chunks_.free()} * core::ChunkStore::kChunk; }
  /// Bytes that there would be room for if it were empty.
  uint64_t capacity() const { return uint64_t{chunks_.count()} * core::ChunkStore::kChunk; }

  /// Bytes of that which a page takes.
  static uint64_t taken_by(const Packed &p) { return uint64_t{core::ChunkStore::chunks_for(p.bytes)} * core::ChunkStore::kChunk; }

  /// Keeps a page's contents; there must be room() for a page.
  Packed pack(const char *page);
  void unpack(const Packed &, char *to) const;
  void drop(const Packed &p) { chunks_.drop(p.first, p.bytes); }
  /// Pages that wait in the memory of one.
  double ratio() const { return compress_ ? compressibility_.ratio() : 1; }

private:
  static constexpr uint64_t kOwn = 24u << 10; ///< bytes of state_ and packed_

  static uint32_t chunks_in(uint64_t bytes) {
    return static_cast<uint32_t>((bytes - std::min(bytes, kOwn)) / core::ChunkStore::bytes_for(1));
  }
  uint32_t compressed(const char *page);
  void discard(uint32_t first, uint32_t end);

  core::ChunkStore chunks_;
  core::Compressibility compressibility_;
  char *contents_ = nullptr;
  uint32_t *next_ = nullptr;
  char *state_ = nullptr, *packed_ = nullptr; ///< LZ4's, and a page that it has made or will read
  uint32_t most_ = 0; ///< chunks
  uint32_t page_ = 0; ///< bytes
  bool compress_ = true;
};

} // namespace pagecast
