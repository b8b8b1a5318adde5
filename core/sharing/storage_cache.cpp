// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/storage_cache.h"
#include <new>

namespace pagecast::core {

uint64_t StorageCache::bytes(uint32_t frames, uint32_t clients) {
  return (uint64_t(frames) + FrameOrder::remembered(frames)) * sizeof(Frame) +
         clients * (sizeof(ClientCounts) + sizeof(PrefetchCredit)) +
         uint64_t(3) * FrameTable::buckets_for(frames) * sizeof(uint32_t);
}

void StorageCache::start(void *tables, StoragePolicy policy, uint32_t frames, uint32_t clients, uint32_t most_coming,
                         bool refuses) {
  refuses_ = refuses;
  count_ = frames;
  most_coming_ = most_coming;
  const uint32_t names = FrameOrder::remembered(frames), buckets = FrameTable::buckets_for(frames);
  frames_ = new (tables) Frame[frames + names];
  counts_ = new (frames_ + frames + names) ClientCounts[clients];
  credit_ = new (counts_ + clients) PrefetchCredit[clients];
  auto *table = reinterpret_cast<uint32_t *>(credit_ + clients);
  resident_.start(table, buckets);
  displaced_.start(table + buckets, buckets);
  order_.start(policy, frames_, frames, frames_ + frames, table + 2 * buckets, buckets);
  for (uint32_t f = frames; f-- > 0;) {
    frames_[f].next = free_;
    free_ = f;
  }
}

StorageCache::Lookup StorageCache::reference(uint64_t block, uint32_t client) {
  uint32_t f = resident_.find(frames_, block);
  Found found = Found::kFetch;
  if (f != kNoFrame) {
    found = is_coming(f) ? Found::kComing : Found::kHere;
    ++(found == Found::kHere ? counts_[client].hits : counts_[client].late);
    settle_useful(f);
    order_.use(f);
  } else {
    f = frame_for(block, client, false);
    if (f == kNoFrame) return {Found::kFull, f};
    ++counts_[client].misses;
  }
  settle_wanted(block);
  ++frames_[f].pins;
  return {found, f};
}

StorageCache::Lookup StorageCache::prefetch(uint64_t block, uint32_t client) {
  const uint32_t there = resident_.find(frames_, block);
  if (there != kNoFrame) {
    ++counts_[client].duplicate;
    return {is_coming(there) ? Found::kComing : Found::kHere, there};
  }
  if (refuses_ && !credit_[client].has_any()) {
    credit_[client].refused();
    ++counts_[client].refused;
    return {Found::kFull, kNoFrame};
  }
  const uint32_t f = prefetches_coming_ < most_coming_ ? frame_for(block, client, true) : kNoFrame;
  if (f == kNoFrame) {
    ++counts_[client].dropped;
    return {Found::kFull, f};
  }
  ++counts_[client].prefetches;
  ++prefetches_coming_;
  return {Found::kFetch, f};
}

/// A frame that is coming with the block: a free one, or that of the block that goes. kNoFrame: none can go.
uint32_t StorageCache::frame_for(uint64_t block, uint32_t client, bool is_prefetch) {
  uint64_t displaced = kNoBlock;
  uint32_t displaced_client = 0, f = take_free();
  if (f == kNoFrame) {
    f = order_.victim();
    if (f == kNoFrame) return kNoFrame;
    displaced = frames_[f].block;
    displaced_client = frames_[f].client;
    displace(f);
  }
  Frame &frame = frames_[f];
  frame.block = block;
  frame.client = client;
  frame.state = FrameState::kComing;
  frame.is_unproven = is_prefetch;
  frame.is_prefetch = is_prefetch;
  if (is_prefetch && displaced != kNoBlock) {
    frame.displaced = displaced;
    frame.displaced_client = displaced_client;
    displaced_.insert(frames_, f);
  }
  resident_.insert(frames_, f);
  order_.insert(f);
  return f;
}

uint32_t StorageCache::take_free() {
  const uint32_t f = free_;
  if (f == kNoFrame) return f;
  free_ = frames_[f].next;
  ++used_;
  return f;
}

/// The frame's block goes, to make room.
void StorageCache::displace(uint32_t f) {
  Frame &frame = frames_[f];
  if (frame.is_unproven) {
    ++counts_[frame.client].unused;
    if (frame.displaced != kNoBlock) count_harmful(frame);
  }
  forget_displaced(f);
  frame.is_unproven = false;
  order_.remove(f, true);
  resident_.remove(frames_, f);
}

void StorageCache::unpin(uint32_t f) {
  if (--frames_[f].pins == 0 && has_failed(f)) give_up(f);
}

void StorageCache::arrived(uint32_t f) {
  if (frames_[f].is_prefetch) --prefetches_coming_;
  frames_[f].is_prefetch = false;
  frames_[f].state = FrameState::kHere;
}

void StorageCache::failed(uint32_t f) {
  arrived(f);
  Frame &frame = frames_[f];
  frame.state = FrameState::kFailed;
  frame.is_unproven = false;
  forget_displaced(f);
  order_.remove(f, false);
  resident_.remove(frames_, f);
  if (frame.pins == 0) give_up(f);
}

/// A frame that has failed, and that no one waits for, becomes free.
void StorageCache::give_up(uint32_t f) {
  frames_[f].state = FrameState::kFree;
  frames_[f].block = kNoBlock;
  frames_[f].next = free_;
  free_ = f;
  --used_;
}

/// The block is referenced: those prefetches for which it had to go, and which no one has referenced, were harmful.
void StorageCache::settle_wanted(uint64_t block) {
  for (uint32_t f; (f = displaced_.find(frames_, block)) != kNoFrame; forget_displaced(f)) count_harmful(frames_[f]);
}

void StorageCache::settle_useful(uint32_t f) {
  if (frames_[f].is_unproven) credit_[frames_[f].client].used();
  frames_[f].is_unproven = false;
  forget_displaced(f);
}

void StorageCache::count_harmful(const Frame &frame) {
  ClientCounts &counts = counts_[frame.client];
  credit_[frame.client].harmed();
  ++(frame.client == frame.displaced_client ? counts.harmful_intra : counts.harmful_inter);
}

void StorageCache::forget_displaced(uint32_t f) {
  if (frames_[f].displaced == kNoBlock) return;
  displaced_.remove(frames_, f);
  frames_[f].displaced = kNoBlock;
}

ClientCounts StorageCache::final_counts(uint32_t client) const {
  ClientCounts out = counts_[client];
  for (uint32_t f = 0; f < count_; ++f) {
    const Frame &frame = frames_[f];
    if (frame.state == FrameState::kFree || !frame.is_unproven || frame.client != client) continue;
    ++out.unused;
    if (frame.displaced != kNoBlock) ++(frame.displaced_client == client ? out.harmful_intra : out.harmful_inter);
  }
  return out;
}

bool StorageCache::is_valid() const {
  uint32_t used = 0, coming = 0;
  for (uint32_t f = 0; f < count_; ++f) {
    const Frame &frame = frames_[f];
    if (frame.state == FrameState::kFree) continue;
    ++used;
    coming += frame.is_prefetch;
    if (frame.state == FrameState::kFailed ? frame.pins == 0 : resident_.find(frames_, frame.block) != f) return false;
    if (frame.displaced != kNoBlock && (!frame.is_unproven || displaced_.find(frames_, frame.displaced) == kNoFrame))
      return false;
    if (frame.is_prefetch && frame.state != FrameState::kComing) return false;
  }
  uint32_t free = 0;
  for (uint32_t f = free_; f != kNoFrame; f = frames_[f].next) ++free;
  return used == used_ && free == count_ - used_ && coming == prefetches_coming_;
}

} // namespace pagecast::core
