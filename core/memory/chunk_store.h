// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contents of many lengths in memory that is handed out in chunks of one size. What is longer than a chunk is a chain of them, so that
// any free chunk serves, and nothing is lost between what stays and what goes. For pages that were compressed to some 1,600 bytes,
// the last chunk of a chain is half empty: 8 % are lost.
//
// It grows and shrinks as the caller says, within memory that the caller has. Not thread-safe.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pagecast::core {

class ChunkStore {
public:
  static constexpr uint32_t kChunk = 256; ///< bytes
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr uint32_t chunks_for(uint32_t bytes) { return std::max((bytes + kChunk - 1) / kChunk, 1u); }
  /// Memory of so many chunks takes so many bytes, with what is kept about them.
  static constexpr uint64_t bytes_for(uint64_t chunks) { return chunks * (kChunk + sizeof(uint32_t)); }

  /// `contents`, `next`: for as many chunks as it may ever have; none of that is touched yet.
  void start(char *contents, uint32_t *next) { *this = ChunkStore(), contents_ = contents, next_ = next; }
  /// There are so many chunks more.
  void grow(uint32_t chunks) {
    for (const uint32_t end = count_ + chunks; count_ < end; ++count_) next_[count_] = first_free_, first_free_ = count_;
    free_ += chunks;
  }
  /// There are only so many, as many at least as are in use. lowered() must follow for all that is kept, before anything else.
  void shrink(uint32_t chunks) {
    uint32_t left = kNone, n = 0;
    for (uint32_t chunk = first_free_, next; chunk != kNone; chunk = next) {
      next = next_[chunk];
      if (chunk < chunks) next_[chunk] = left, left = chunk, ++n;
    }
    first_free_ = left, free_ = n, count_ = chunks;
  }
  /// The same contents, all in chunks that there are. Returns by what they are known now.
  uint32_t lowered(uint32_t first, uint32_t bytes) {
    uint32_t *link = &first;
    for (uint32_t n = chunks_for(bytes); n; --n, link = &next_[*link]) {
      if (*link < count_) continue;
      const uint32_t chunk = first_free_;
      first_free_ = next_[chunk];
      --free_;
      std::memcpy(at(chunk), at(*link), kChunk);
      next_[chunk] = next_[*link];
      *link = chunk;
    }
    return first;
  }
  /// All of them are gone, and whatever was there.
  void clear() { start(contents_, next_); }
  uint32_t count() const { return count_; }
  uint32_t free() const { return free_; }

  /// Keeps a copy; there must be chunks_for(bytes) free. Returns by what get() and drop() know it.
  uint32_t put(const char *from, uint32_t bytes) {
    const uint32_t first = first_free_;
    uint32_t last = first, left = chunks_for(bytes);
    free_ -= left;
    for (;; last = next_[last], from += kChunk, bytes -= kChunk) {
      std::memcpy(at(last), from, std::min(bytes, kChunk));
      if (--left == 0) break;
    }
    first_free_ = next_[last];
    return first;
  }
  /// `bytes`: as with put().
  void get(uint32_t first, uint32_t bytes, char *to) const {
    for (;; first = next_[first], to += kChunk, bytes -= kChunk) {
      std::memcpy(to, at(first), std::min(bytes, kChunk));
      if (bytes <= kChunk) return;
    }
  }
  void drop(uint32_t first, uint32_t bytes) {
    uint32_t last = first, n = chunks_for(bytes);
    free_ += n;
    while (--n) last = next_[last];
    next_[last] = first_free_;
    first_free_ = first;
  }

private:
  char *at(uint32_t chunk) const { return contents_ + uint64_t{chunk} * kChunk; }

  char *contents_ = nullptr;
  uint32_t *next_ = nullptr; ///< of each chunk, the next one of its chain, or of the free ones
  uint32_t count_ = 0, free_ = 0, first_free_ = kNone;
};

} // namespace pagecast::core
