// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a storage cache knows of each place for a block, and lists of such places. Blocks are 64-bit names that the caller
// gives; clients are small numbers that it gives, too. Not thread-safe: the caller holds its own lock.
#pragma once
#include <cstdint>

namespace pagecast::core {

inline constexpr uint64_t kNoBlock = ~uint64_t{0};
inline constexpr uint32_t kNoFrame = ~uint32_t{0};

enum class FrameState : uint8_t {
  kFree,
  kComing, ///< its block is being read
  kHere,
  kFailed, ///< the read failed; it becomes free when the last one who waits for it has seen that
};

/// One place for a block.
struct Frame {
  uint64_t block = kNoBlock;
  uint64_t displaced = kNoBlock; ///< the block that had to go for this prefetched one, while it is open whether that was harmful
  uint32_t displaced_client = 0; ///< who had brought that one
  uint32_t client = 0; ///< who brought the block
  uint32_t next = kNoFrame; ///< in the chain of its block's hash
  uint32_t next_displaced = kNoFrame;
  uint32_t before = kNoFrame, after = kNoFrame; ///< in its list of the order in which blocks go
  uint32_t pins = 0; ///< those who wait for it or copy from it
  uint32_t period = 0; ///< in which `history` was right; LRU with aging
  uint8_t history = 0; ///< a bit for each of eight periods, the latest highest
  uint8_t queue = 0; ///< 2Q
  FrameState state = FrameState::kFree;
  bool is_prefetch = false; ///< being read because of a prefetch
  bool is_unproven = false; ///< prefetched, and not referenced yet

  bool can_go() const { return state == FrameState::kHere && pins == 0; }
};

/// A list of frames through their `before` and `after`. A frame is in one list at most.
class FrameList {
public:
  void push_front(Frame *frames, uint32_t f);
  void remove(Frame *frames, uint32_t f);
  uint32_t back() const { return last_; }
  uint32_t size() const { return size_; }
  /// The one nearest to the back that can go, or kNoFrame. Cost: the number of those behind it that cannot.
  uint32_t last_that_can_go(const Frame *frames) const;

private:
  uint32_t first_ = kNoFrame, last_ = kNoFrame, size_ = 0;
};

/// Finds the frame of a block: chains of frames under hashes, in buckets that the caller provides.
class FrameTable {
public:
  /// Which of a frame's blocks is looked up, and the link that its chains go through.
  using Key = uint64_t Frame::*;
  using Link = uint32_t Frame::*;

  FrameTable(Key key, Link link) : key_(key), link_(link) {}
  /// Buckets for so many frames: a power of two.
  static uint32_t buckets_for(uint32_t frames);
  void start(uint32_t *buckets, uint32_t count);

  void insert(Frame *frames, uint32_t f);
  void remove(Frame *frames, uint32_t f);
  /// The frame that has `block` for its key, or kNoFrame; the latest inserted, if there are several.
  uint32_t find(const Frame *frames, uint64_t block) const;

private:
  uint32_t &bucket(uint64_t block) const;

  Key key_;
  Link link_;
  uint32_t *buckets_ = nullptr;
  uint32_t mask_ = 0;
};

} // namespace pagecast::core
