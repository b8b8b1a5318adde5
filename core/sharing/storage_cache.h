// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache of an I/O node that several clients share: which blocks are in it, which one goes when another comes, and
// what became of each client's prefetches. It holds no data and reads nothing: the caller has the frames, and says when
// what was to be read has arrived.
//
// A prefetch is harmful when the block that had to go for it was referenced before the prefetched one was, or when the
// prefetched one went without having been referenced (PACT 2008, section 1 and footnote 1). It is inter-client when
// another client had brought the block that went, and intra-client when the same one had (figure 1 there).
//
// Example, with two frames. Client 0 references blocks 1 and 2. Client 1 prefetches 3, and 1 goes. Client 0 references
// 1 again: the prefetch was harmful, and inter-client. Had client 1 referenced 3 first, it would have been useful.
//
// No clock, no allocation. Not thread-safe: the caller holds its own lock.
#pragma once
#include "core/sharing/frame_order.h"
#include "core/sharing/prefetch_credit.h"

namespace pagecast::core {

/// What a client has done, in blocks.
struct ClientCounts {
  uint64_t hits = 0;      ///< references that found the block
  uint64_t late = 0;      ///< references that waited for a block on its way
  uint64_t misses = 0;    ///< references that had it read
  uint64_t prefetches = 0; ///< reads that prefetches started
  uint64_t dropped = 0;    ///< prefetches that found no room
  uint64_t duplicate = 0;  ///< prefetches of what was there or on its way
  uint64_t refused = 0;    ///< prefetches that were not made, since most of those before were harmful
  uint64_t unused = 0;     ///< prefetched blocks that went without a reference
  uint64_t harmful_intra = 0, harmful_inter = 0;

  ClientCounts &operator+=(const ClientCounts &);
};

/// Each of the counts, by its name for people and programs.
struct NamedCount {
  const char *name;
  uint64_t ClientCounts::*value;
};
inline constexpr NamedCount kClientCounts[] = {
    {"hits", &ClientCounts::hits},
    {"late", &ClientCounts::late},
    {"misses", &ClientCounts::misses},
    {"prefetches", &ClientCounts::prefetches},
    {"dropped", &ClientCounts::dropped},
    {"duplicate", &ClientCounts::duplicate},
    {"refused", &ClientCounts::refused},
    {"unused", &ClientCounts::unused},
    {"harmful_intra", &ClientCounts::harmful_intra},
    {"harmful_inter", &ClientCounts::harmful_inter},
};

inline ClientCounts &ClientCounts::operator+=(const ClientCounts &more) {
  for (const NamedCount &count : kClientCounts) this->*count.value += more.*count.value;
  return *this;
}

class StorageCache {
public:
  enum class Found : uint8_t {
    kHere,   ///< its data are in the frame
    kComing, ///< ... will be there: the caller waits
    kFetch,  ///< ... are to be read into the frame by the caller
    kFull,   ///< every frame is in use: later, perhaps
  };
  struct Lookup {
    Found found;
    uint32_t frame;
  };

  StorageCache() = default;
  StorageCache(const StorageCache &) = delete;
  StorageCache &operator=(const StorageCache &) = delete;

  /// Bytes of the tables for so many frames and clients; aligned as a uint64_t.
  static uint64_t bytes(uint32_t frames, uint32_t clients);
  /// `most_coming`: prefetches that may be on their way at a time. `refuses`: those of clients whose prefetches do harm.
  /// Frames: at least 2.
  void start(void *tables, StoragePolicy policy, uint32_t frames, uint32_t clients, uint32_t most_coming, bool refuses = false);

  /// The client reads the block. The frame is pinned, unless all are in use: unpin() it when its data are copied.
  Lookup reference(uint64_t block, uint32_t client);
  /// The client will read the block. kFetch: read it; nothing is pinned. Anything else: nothing is to be done.
  Lookup prefetch(uint64_t block, uint32_t client);
  void unpin(uint32_t f);
  /// What was to be fetched is there, or cannot be read: those who wait find it failed, and unpin it.
  void arrived(uint32_t f);
  void failed(uint32_t f);
  bool is_coming(uint32_t f) const { return frames_[f].state == FrameState::kComing; }
  bool has_failed(uint32_t f) const { return frames_[f].state == FrameState::kFailed; }

  const ClientCounts &counts(uint32_t client) const { return counts_[client]; }
  /// As counts() would be if no client came any more: what was prefetched and not referenced was unused.
  ClientCounts final_counts(uint32_t client) const;
  uint32_t frames() const { return count_; }
  uint32_t used() const { return used_; }

  /// Checks the invariants, in O(frames). For tests.
  bool is_valid() const;

private:
  uint32_t frame_for(uint64_t block, uint32_t client, bool is_prefetch);
  uint32_t take_free();
  void displace(uint32_t f);
  void give_up(uint32_t f);
  void settle_wanted(uint64_t block);
  void settle_useful(uint32_t f);
  void count_harmful(const Frame &frame);
  void forget_displaced(uint32_t f);

  Frame *frames_ = nullptr;
  ClientCounts *counts_ = nullptr;
  PrefetchCredit *credit_ = nullptr;
  bool refuses_ = false;
  uint32_t count_ = 0, used_ = 0, free_ = kNoFrame;
  uint32_t most_coming_ = 0, prefetches_coming_ = 0;
  FrameTable resident_{&Frame::block, &Frame::next};
  FrameTable displaced_{&Frame::displaced, &Frame::next_displaced};
  FrameOrder order_;
};

} // namespace pagecast::core
