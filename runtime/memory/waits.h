// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the program that wait for the pager: faults that could not be served yet, and stalls on pages that are on
// their way. Pager's thread only.
#pragma once
#include <cstdint>

namespace pagecast {

/// Faults that found no memory or queue, to be tried again in the order in which they came.
class WaitingFaults {
public:
  unsigned count() const { return count_; }
  /// False: there is no room.
  bool add(uint64_t address, bool write) {
    if (count_ == kMost) return false;
    fault_[count_++] = {address, write};
    return true;
  }
  /// Those that `serve(address, write)` serves are done with. True if some are.
  template <typename Serve> bool retry(Serve serve) {
    const unsigned before = count_;
    unsigned kept = 0;
    for (unsigned i = 0; i < before; ++i)
      if (!serve(fault_[i].address, fault_[i].write)) fault_[kept++] = fault_[i];
    count_ = kept;
    return kept < before;
  }
  void clear() { count_ = 0; }

private:
  static constexpr unsigned kMost = 4096;
  struct Fault {
    uint64_t address;
    bool write;
  };
  Fault fault_[kMost];
  unsigned count_ = 0;
};

/// Since when threads stall on which pages. Those beyond kMost are not counted.
class Stalls {
public:
  bool any() const { return count_ != 0; }
  void begin(uint32_t slot, uint64_t now) {
    if (count_ < kMost) stall_[count_++] = {slot, now};
  }
  /// Nobody stalls on the pages any more. How long they did, summed over threads.
  uint64_t end(uint32_t slot, uint32_t pages, uint64_t now) {
    uint64_t stalled = 0;
    for (unsigned i = 0; i < count_;) {
      if (stall_[i].slot - slot < pages) {
        stalled += now - stall_[i].since;
        stall_[i] = stall_[--count_];
      } else {
        ++i;
      }
    }
    return stalled;
  }
  void clear() { count_ = 0; }

private:
  static constexpr unsigned kMost = 256;
  struct Stall {
    uint32_t slot;
    uint64_t since;
  };
  Stall stall_[kMost];
  unsigned count_ = 0;
};

} // namespace pagecast
