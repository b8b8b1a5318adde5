// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pager/marks.h"

#include <algorithm>
#include <cstring>

namespace pagecast {

bool Marks::start() {
  std::fill_n(slot_, kMost, kNoSlot);
  buffer_ = static_cast<char *>(os::map_memory(bytes(), false));
  return buffer_ != nullptr;
}

bool Marks::keep(uint32_t slot, const char *from) {
  Page &p = memory_[slot];
  p.flags &= static_cast<uint8_t>(~kToMark);
  uint32_t *free = std::find(slot_, slot_ + kMost, kNoSlot);
  if (free == slot_ + kMost) return false;
  *free = slot;
  memcpy(buffer_ + memory_.bytes(static_cast<uint64_t>(free - slot_)), from, memory_.page);
  p.state = PageState::kMark;
  p.flags &= kPrefetched;
  memory_.residency.clear(memory_.extent(slot, 1)); // a hint for it comes through
  return true;
}

/// The contents stay where the result says until another page is kept.
const char *Marks::let_go(uint32_t slot) {
  uint32_t *kept = std::find(slot_, slot_ + kMost, slot);
  *kept = kNoSlot;
  return buffer_ + memory_.bytes(static_cast<uint64_t>(kept - slot_));
}

void Marks::show(uint32_t slot, bool write) {
  const char *contents = let_go(slot);
  Page &p = memory_[slot];
  p.flags = 0;
  if (placement_.place(slot, contents, 1, write) == 0) { // it stays in the backing store
    p.state = PageState::kAbsent;
    --memory_.used;
    return;
  }
  p.state = write ? PageState::kDirty : PageState::kClean;
  memory_.came(slot);
  memory_.residency.set(memory_.extent(slot, 1));
  placement_.end_wait(slot, 1);
}

const char *Marks::contents(uint32_t slot) const {
  return buffer_ + memory_.bytes(static_cast<uint64_t>(std::find(slot_, slot_ + kMost, slot) - slot_));
}

void Marks::drop(uint32_t slot) {
  let_go(slot);
  memory_[slot].state = PageState::kAbsent;
  memory_[slot].flags = 0;
  --memory_.used;
}

} // namespace pagecast
