// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/sharing/frame_order.h"

namespace pagecast::core {

void FrameOrder::start(StoragePolicy policy, Frame *frames, uint32_t count, Frame *names, uint32_t *buckets,
                       uint32_t bucket_count) {
  policy_ = policy;
  frames_ = frames;
  count_ = count;
  names_ = names;
  named_.start(buckets, bucket_count);
}

uint8_t FrameOrder::history_of(const Frame &frame) const {
  const uint32_t passed = period_ - frame.period;
  return passed > 7 ? 0 : uint8_t(frame.history >> passed);
}

void FrameOrder::note_use(uint32_t f) {
  Frame &frame = frames_[f];
  frame.history = uint8_t(history_of(frame) | 0x80);
  frame.period = period_;
}

void FrameOrder::insert(uint32_t f) {
  // By what comes in, and not by uses: many uses of few blocks must not age what was prefetched and is still to be used.
  if (++came_ > count_) {
    came_ = 1;
    ++period_;
  }
  Frame &frame = frames_[f];
  frame.history = 0;
  frame.queue = policy_ == StoragePolicy::kTwoQueues && !forget(frame.block) ? kNew : kMain;
  (frame.queue == kNew ? new_ : main_).push_front(frames_, f);
  note_use(f);
}

void FrameOrder::use(uint32_t f) {
  note_use(f);
  if (frames_[f].queue == kNew) return;
  main_.remove(frames_, f);
  main_.push_front(frames_, f);
}

uint32_t FrameOrder::least_history() const {
  uint32_t least = kNoFrame, seen = 0;
  for (uint32_t f = main_.back(); f != kNoFrame && seen < kLookAt; f = frames_[f].before) {
    if (!frames_[f].can_go()) continue;
    ++seen;
    if (least == kNoFrame || history_of(frames_[f]) < history_of(frames_[least])) least = f;
  }
  return least;
}

uint32_t FrameOrder::victim() const {
  if (policy_ == StoragePolicy::kAging) return least_history();
  const bool is_long = new_.size() > count_ / 4;
  const uint32_t f = (is_long ? new_ : main_).last_that_can_go(frames_);
  return f != kNoFrame ? f : (is_long ? main_ : new_).last_that_can_go(frames_);
}

void FrameOrder::remove(uint32_t f, bool is_displaced) {
  const bool is_new = frames_[f].queue == kNew;
  (is_new ? new_ : main_).remove(frames_, f);
  if (is_new && is_displaced) remember(frames_[f].block);
}

void FrameOrder::remember(uint64_t block) {
  Frame &name = names_[next_name_];
  if (name.block != kNoBlock) named_.remove(names_, next_name_);
  name.block = block;
  named_.insert(names_, next_name_);
  next_name_ = (next_name_ + 1) % remembered(count_);
}

bool FrameOrder::forget(uint64_t block) {
  const uint32_t name = named_.find(names_, block);
  if (name == kNoFrame) return false;
  named_.remove(names_, name);
  names_[name].block = kNoBlock;
  return true;
}

} // namespace pagecast::core
