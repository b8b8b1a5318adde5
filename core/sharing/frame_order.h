// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which the blocks of a storage cache go, by one of two policies.
//
// LRU with aging, as the paper has it (PACT 2008, section 5; it says no more than the name, and this is our reading).
// Each block has a history of eight bits. A use sets the highest, and each time that as many blocks came in as there are
// frames, all histories move one bit down. Of the kLookAt least recently used blocks the one with the lowest history
// goes. A block used often thus outlives one whose last use was in the same period, but its only one.
//
// 2Q (Johnson and Shasha, VLDB 1994, the full version). What is new enters a queue, a quarter of the frames, and goes
// from it in the order in which it came, however often it was used. The names of those that went, half as many as there
// are frames, are remembered. Only what is wanted again while its name is remembered enters the main list, which is
// least recently used. A sweep over much data, which empties an LRU list, passes through the queue alone.
//
// A prefetch is a use: it foretells one.
#pragma once
#include "core/sharing/frames.h"

namespace pagecast::core {

enum class StoragePolicy : uint8_t { kAging, kTwoQueues };

class FrameOrder {
public:
  static constexpr uint32_t kLookAt = 8;

  /// Names that 2Q remembers for so many frames.
  static uint32_t remembered(uint32_t frames) { return frames / 2 + 1; }

  FrameOrder() = default;
  FrameOrder(const FrameOrder &) = delete;
  FrameOrder &operator=(const FrameOrder &) = delete;

  /// `frames`: the cache's. `names` and `buckets`: room for what is remembered; `bucket_count` a power of two.
  void start(StoragePolicy policy, Frame *frames, uint32_t count, Frame *names, uint32_t *buckets, uint32_t bucket_count);

  /// The frame has got its block.
  void insert(uint32_t f);
  /// The frame's block is used.
  void use(uint32_t f);
  /// The one to go next, or kNoFrame when none can go.
  uint32_t victim() const;
  /// Its block goes, to make room for another or because it could not be read.
  void remove(uint32_t f, bool is_displaced);

private:
  enum Queue : uint8_t { kMain, kNew };

  void note_use(uint32_t f);
  uint8_t history_of(const Frame &frame) const;
  uint32_t least_history() const;
  void remember(uint64_t block);
  bool forget(uint64_t block);

  StoragePolicy policy_ = StoragePolicy::kAging;
  Frame *frames_ = nullptr;
  uint32_t count_ = 0;
  FrameList main_, new_; ///< under LRU with aging all are in `main_`
  uint32_t period_ = 0, came_ = 0; ///< in this period
  Frame *names_ = nullptr; ///< a ring of blocks that went from the queue, with a table to find them
  uint32_t next_name_ = 0;
  FrameTable named_{&Frame::block, &Frame::next};
};

} // namespace pagecast::core
