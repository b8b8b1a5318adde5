// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that the runtime and its helper for NBD (nbd/) share: what is asked, and what is answered. Pages lie behind it, in
// buffers for writes, and in the pager's staging memory, which is shared, too: the helper reads from the server into it.
//
//   piece      a part of a request, with a number that stays until it is answered
//   kCache     the server is asked to have these bytes at hand soon, and binds no one
//   kFlush     all that was answered before is to outlast a loss of power
//   asked      ring of numbers, that the runtime puts and the helper takes
//   answered   ring of numbers with results, the other way round
//
// A ring has room for all pieces, so that it is never full. Each side tells the other by an event descriptor.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pagecast {

struct NbdPiece {
  enum Kind : uint8_t { kRead, kWrite, kCache, kFlush };
  uint64_t offset; ///< in the export
  uint64_t memory; ///< offset in staging memory, or in the channel
  uint32_t bytes;
  bool staged;
  Kind kind;
};

struct NbdAnswer {
  uint32_t piece;
  int32_t error; ///< 0 or -errno
};

template <typename T, uint32_t kEntries> struct NbdRing {
  alignas(64) std::atomic<uint32_t> put_count;
  alignas(64) std::atomic<uint32_t> taken_count;
  T entry[kEntries];

  void put(const T &t) {
    const uint32_t at = put_count.load(std::memory_order_relaxed);
    entry[at % kEntries] = t;
    put_count.store(at + 1, std::memory_order_seq_cst);
  }
  bool take(T *t) {
    const uint32_t at = taken_count.load(std::memory_order_relaxed);
    if (at == put_count.load(std::memory_order_seq_cst)) return false;
    *t = entry[at % kEntries];
    taken_count.store(at + 1, std::memory_order_release);
    return true;
  }
  bool is_empty() const { return taken_count.load(std::memory_order_relaxed) == put_count.load(std::memory_order_seq_cst); }
  void clear() {
    put_count.store(0, std::memory_order_relaxed);
    taken_count.store(0, std::memory_order_relaxed);
  }
};

struct NbdChannel {
  static constexpr uint32_t kVersion = 3;
  static constexpr uint32_t kPieces = 4096;
  /// The helper's descriptors, from this number on, in this order.
  enum Descriptor : int { kControl = 3, kMemory, kStaging, kWork, kAnswers, kDescriptors };
  enum State : uint32_t { kStarting, kReady, kRefused };

  // --- the runtime's, before the helper begins ---
  uint32_t version;
  int32_t process; ///< with which the helper ends, even if children hold what they have inherited
  uint32_t patience_s; ///< without a connection, until what waits is answered with an error
  uint64_t channel_bytes, staging_bytes; ///< of the two memories
  uint32_t page_bytes;
  uint64_t bytes; ///< that the export must have; 0: the helper finds them out, and gives up if nobody answers
  char uri[1024];
  uint32_t writes; ///< 0: an export that may only be read will do

  // --- the helper's ---
  std::atomic<uint32_t> state;
  char why[300]; ///< kRefused
  uint32_t read_only; ///< the export is; kReady
  uint64_t block; ///< bytes of the requests that the server likes best; 0: it does not say; kReady
  std::atomic<uint32_t> losses, returns; ///< times that the connections were lost, and made again
  std::atomic<uint32_t> asleep; ///< it waits for its event

  NbdRing<uint32_t, kPieces> asked;
  NbdRing<NbdAnswer, kPieces> answered;
  NbdPiece piece[kPieces];
};

} // namespace pagecast
