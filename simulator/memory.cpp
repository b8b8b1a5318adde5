// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/memory.h"
#include <algorithm>

namespace pagecast::simulator {

Memory::Memory(uint32_t frames) : frames_(frames), links_(frames) {
  order_.attach(links_.data(), frames);
  for (uint32_t s = frames; s-- > 0;) free_.push_back(s);
}

Frame *Memory::find(uint64_t page) {
  const auto it = slot_of_.find(page);
  return it == slot_of_.end() ? nullptr : &frames_[it->second];
}

void Memory::touch(const Frame &f) { order_.touch(slot(f)); }

void Memory::release(const Frame &f, unsigned priority) { order_.release(slot(f), priority); }

bool Memory::is_released(const Frame &f) const { return order_.is_released(slot(f)); }

Frame *Memory::allocate(uint64_t page, uint64_t now, const std::function<void(const Frame &)> &evicted) {
  uint32_t slot = core::Replacement::kNone;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else {
    // Pages in flight cannot be evicted; they wait at the end of the list for their turn.
    for (size_t tries = 0; tries <= frames_.size(); ++tries) {
      slot = order_.victim();
      if (slot == core::Replacement::kNone || frames_[slot].arrives <= now) break;
      order_.touch(slot);
      slot = core::Replacement::kNone;
    }
    if (slot == core::Replacement::kNone) return nullptr;
    evicted(frames_[slot]);
    slot_of_.erase(frames_[slot].page);
    order_.remove(slot);
  }
  frames_[slot] = Frame();
  frames_[slot].page = page;
  slot_of_[page] = slot;
  order_.insert_active(slot);
  return &frames_[slot];
}

uint64_t Memory::next_arrival(uint64_t now) const {
  uint64_t next = ~uint64_t{0};
  for (const Frame &f : frames_)
    if (f.arrives > now) next = std::min(next, f.arrives);
  return next == ~uint64_t{0} ? now : next;
}

} // namespace pagecast::simulator
