// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the program that wait for the pager: faults that could not be served yet, and stalls on pages that are on
// their way. Pager's thread only.
#pragma once
#include "runtime/state/statistics.h"

#include <algorithm>
#include <cstdint>

namespace pagecast {

/// Faults that found no memory or queue, to be tried again in the order in which they came.
class WaitingFaults {
public:
  unsigned count() const { return count_; }
  /// False: there is no room.
  bool add(uint64_t address, bool write, uint8_t owner) {
    if (count_ == kMost) return false;
    fault_[count_++] = {address, write, owner};
    return true;
  }
  /// Those that `serve(address, write, owner)` serves are done with. True if some are.
  template <typename Serve> bool retry(Serve serve) {
    const unsigned before = count_;
    unsigned kept = 0;
    for (unsigned i = 0; i < before; ++i)
      if (!serve(fault_[i].address, fault_[i].write, fault_[i].owner)) fault_[kept++] = fault_[i];
    count_ = kept;
    return kept < before;
  }
  void clear() { count_ = 0; }

private:
  static constexpr unsigned kMost = 4096;
  struct Fault {
    uint64_t address;
    bool write;
    uint8_t owner; ///< whose it is (core/memory/favour.h)
  };
  Fault fault_[kMost];
  unsigned count_ = 0;
};

/// Since when threads stall on which pages, and for what. Those beyond kMost are not counted.
class Stalls {
public:
  bool any() const { return count_ != 0; }
  void begin(uint32_t slot, StallKind kind, uint64_t now) {
    if (count_ < kMost) stall_[count_++] = {now, slot, kind};
  }
  /// What a thread that stalls on the page already waits for; `none` where there is none.
  StallKind kind_of(uint32_t slot, StallKind none) const {
    for (unsigned i = 0; i < count_; ++i)
      if (stall_[i].slot == slot) return stall_[i].kind;
    return none;
  }
  /// What stalls on the page waits for something else from now on.
  void turn_into(uint32_t slot, StallKind kind, uint64_t now, StallTimes &times) {
    for (unsigned i = 0; i < count_; ++i) {
      if (stall_[i].slot != slot) continue;
      times[stall_[i].kind] += std::max(now, stall_[i].since) - stall_[i].since;
      stall_[i] = {now, slot, kind};
    }
  }
  /// Adds how long all have stalled so far: one of them may last until the program is ended.
  void count(uint64_t now, StallTimes &times) {
    for (unsigned i = 0; i < count_; ++i) {
      if (now <= stall_[i].since) continue;
      times[stall_[i].kind] += std::max(now, stall_[i].since) - stall_[i].since;
      stall_[i].since = now;
    }
  }
  /// Nobody stalls on the pages any more: adds how long they did.
  void end(uint32_t slot, uint32_t pages, uint64_t now, StallTimes &times) {
    for (unsigned i = 0; i < count_;) {
      if (stall_[i].slot - slot < pages) {
        times[stall_[i].kind] += std::max(now, stall_[i].since) - stall_[i].since;
        stall_[i] = stall_[--count_];
      } else {
        ++i;
      }
    }
  }
  void clear() { count_ = 0; }

private:
  static constexpr unsigned kMost = 256;
  struct Stall {
    uint64_t since;
    uint32_t slot;
    StallKind kind;
  };
  Stall stall_[kMost];
  unsigned count_ = 0;
};

} // namespace pagecast
