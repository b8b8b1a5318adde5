// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/frames.h"

namespace pagecast::core {

void FrameList::push_front(Frame *frames, uint32_t f) {
  frames[f].before = kNoFrame;
  frames[f].after = first_;
  (first_ == kNoFrame ? last_ : frames[first_].before) = f;
  first_ = f;
  ++size_;
}

void FrameList::remove(Frame *frames, uint32_t f) {
  const Frame &frame = frames[f];
  (frame.before == kNoFrame ? first_ : frames[frame.before].after) = frame.after;
  (frame.after == kNoFrame ? last_ : frames[frame.after].before) = frame.before;
  --size_;
}

uint32_t FrameList::last_that_can_go(const Frame *frames) const {
  uint32_t f = last_;
  while (f != kNoFrame && !frames[f].can_go()) f = frames[f].before;
  return f;
}

uint32_t FrameTable::buckets_for(uint32_t frames) {
  uint32_t buckets = 1;
  while (buckets < frames) buckets *= 2;
  return buckets;
}

void FrameTable::start(uint32_t *buckets, uint32_t count) {
  buckets_ = buckets;
  mask_ = count - 1;
  for (uint32_t i = 0; i < count; ++i) buckets[i] = kNoFrame;
}

uint32_t &FrameTable::bucket(uint64_t block) const {
  const uint64_t mixed = block * 0x9e3779b97f4a7c15u; // blocks of a file differ in their low bits, files in their high ones
  return buckets_[uint32_t(mixed >> 32) & mask_];
}

void FrameTable::insert(Frame *frames, uint32_t f) {
  uint32_t &head = bucket(frames[f].*key_);
  frames[f].*link_ = head;
  head = f;
}

void FrameTable::remove(Frame *frames, uint32_t f) {
  uint32_t *at = &bucket(frames[f].*key_);
  while (*at != f) at = &(frames[*at].*link_);
  *at = frames[f].*link_;
}

uint32_t FrameTable::find(const Frame *frames, uint64_t block) const {
  uint32_t f = bucket(block);
  while (f != kNoFrame && frames[f].*key_ != block) f = frames[f].*link_;
  return f;
}

} // namespace pagecast::core
