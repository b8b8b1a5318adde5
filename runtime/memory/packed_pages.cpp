// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/packed_pages.h"

#include "runtime/kernel/os.h"

#include <algorithm>
#include <lz4.h>

namespace pagecast {
namespace {
constexpr int kAcceleration = 2; ///< takes three quarters of the time of 1, and compresses by 2 to 3 % less
constexpr uint64_t kChunk = core::ChunkStore::kChunk;
} // namespace

bool PackedPages::start(uint64_t most_bytes, uint64_t page) {
  const uint64_t chunks = std::min<uint64_t>(most_bytes / core::ChunkStore::bytes_for(1), core::ChunkStore::kNone - 1);
  page_ = static_cast<uint32_t>(page);
  contents_ = static_cast<char *>(os::reserve(os::page_up(chunks * kChunk)));
  next_ = static_cast<uint32_t *>(os::reserve(os::page_up(chunks * sizeof(uint32_t))));
  state_ = static_cast<char *>(os::reserve(os::page_up(static_cast<uint64_t>(LZ4_sizeofState()))));
  packed_ = static_cast<char *>(os::reserve(page));
  if (!contents_ || !next_ || !state_ || !packed_) return false;
  most_ = static_cast<uint32_t>(chunks);
  chunks_.start(contents_, next_);
  return true;
}

uint64_t PackedPages::grow(uint64_t bytes) {
  const auto chunks = static_cast<uint32_t>(std::min<uint64_t>(bytes / core::ChunkStore::bytes_for(1), most_ - chunks_.count()));
  chunks_.grow(chunks);
  return core::ChunkStore::bytes_for(chunks);
}

/// Memory of chunks that there are no more.
void PackedPages::discard(uint32_t first, uint32_t end) {
  const auto part = [](void *all, uint64_t begin, uint64_t stop) {
    const uint64_t from = os::page_up(begin), to = os::page_up(stop);
    return iovec{static_cast<char *>(all) + from, to - std::min(from, to)};
  };
  const iovec memory[] = {part(contents_, first * kChunk, end * kChunk),
                          part(next_, first * sizeof(uint32_t), end * sizeof(uint32_t))};
  for (const iovec &m : memory)
    if (m.iov_len) os::discard(&m, 1);
}

void PackedPages::clear() {
  const uint64_t chunks = chunks_.count();
  const iovec memory[] = {{contents_, os::page_up(chunks * kChunk)},
                          {next_, os::page_up(chunks * sizeof(uint32_t))},
                          {state_, os::page_up(static_cast<uint64_t>(LZ4_sizeofState()))},
                          {packed_, page_}};
  os::discard(memory, 4);
  chunks_.clear();
}

/// Compresses a page into packed_. Returns its bytes then; a page's: it stays as it is.
uint32_t PackedPages::compressed(const char *page) {
  if (!compress_ || !compressibility_.worthwhile()) return page_;
  const auto most = static_cast<int>(page_ * core::Compressibility::kWorthwhile);
  const int bytes = LZ4_compress_fast_extState(state_, page, packed_, static_cast<int>(page_), most, kAcceleration);
  const uint32_t taken = bytes > 0 ? static_cast<uint32_t>(bytes) : page_;
  compressibility_.tried(double(core::ChunkStore::chunks_for(taken)) * kChunk / page_);
  return taken;
}

PackedPages::Packed PackedPages::pack(const char *page) {
  const uint32_t bytes = compressed(page);
  return {chunks_.put(bytes == page_ ? page : packed_, bytes), bytes};
}

void PackedPages::unpack(const Packed &p, char *to) const {
  if (p.bytes == page_) return chunks_.get(p.first, p.bytes, to);
  chunks_.get(p.first, p.bytes, packed_);
  LZ4_decompress_safe(packed_, to, static_cast<int>(p.bytes), static_cast<int>(page_));
}

} // namespace pagecast
