// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages that were read but are kept out of the program's sight: the marks of streams (history.cpp). Pager's
// thread only.
#pragma once
#include "core/faults/fault_streams.h"
#include "runtime/kernel/os.h"
#include "runtime/state/pages.h"

#include <algorithm>
#include <cstring>

namespace pagecast {

class Marks {
public:
  /// False if the memory cannot be had.
  bool start() {
    std::fill_n(slot_, kMost, kNoSlot);
    memory_ = static_cast<char *>(os::map_memory(bytes(), true));
    return memory_ != nullptr;
  }
  static uint64_t bytes() { return kMost * os::page_size(); }

  /// Keeps the contents `from` of the slot's page. False: there is no room.
  bool keep(uint32_t slot, const char *from) {
    uint32_t *free = std::find(slot_, slot_ + kMost, kNoSlot);
    if (free == slot_ + kMost) return false;
    *free = slot;
    memcpy(memory_ + (free - slot_) * static_cast<int64_t>(os::page_size()), from, os::page_size());
    return true;
  }
  /// Lets go of a page that is kept. Its contents stay where the result says until another one comes.
  const char *let_go(uint32_t slot) {
    uint32_t *kept = std::find(slot_, slot_ + kMost, slot);
    *kept = kNoSlot;
    return memory_ + (kept - slot_) * static_cast<int64_t>(os::page_size());
  }

private:
  static constexpr unsigned kMost = core::FaultStreams::kMost;
  uint32_t slot_[kMost]; ///< whose contents are page i of memory_, or kNoSlot
  char *memory_ = nullptr;
};

} // namespace pagecast
