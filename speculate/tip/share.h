// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of memory may hold what was prefetched and not read yet. A cost stands against the benefit: what is displaced
// and read again (refaults, which the kernel counts) is the cost. The share halves when it shows, and grows slowly else.
//
//   room       bytes of memory that are free or hold the page cache: of the machine, or of the control group's limit
//   lead       what the share allows: between 1/16 and 1/2 of the room, at first 1/4
//
// Example: a control group of 6 MB, of which the program takes 2: the room is 4 MB, the lead 1 MB. The program rereads what
// is prefetched over: refaults, and the lead becomes half a megabyte.
//
// Not thread-safe. Bytes are arguments.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::speculate {

class Share {
public:
  static constexpr uint64_t kParts = 64; ///< of the room
  static constexpr uint64_t kLeast = 4, kFirst = 16, kMost = 32; ///< parts
  static constexpr uint64_t kLeastLead = 256 << 10; ///< bytes
  static constexpr uint64_t kRefaultsPerPrefetched = 16; ///< one byte in so many may come back

  static Share of(uint64_t room) {
    Share made;
    made.room_ = room;
    return made;
  }
  uint64_t lead() const { return std::max(room_ / kParts * parts_, kLeastLead); }

  /// Some time has passed: so many bytes were prefetched in it, and so many came back that had been displaced.
  void passed(uint64_t prefetched, uint64_t refaulted, uint64_t room) {
    room_ = room;
    if (prefetched == 0) return;
    if (refaulted * kRefaultsPerPrefetched > prefetched) parts_ = std::max(parts_ / 2, kLeast);
    else parts_ = std::min(parts_ + 1, kMost);
  }

private:
  uint64_t room_ = 0, parts_ = kFirst;
};

/// What the kernel says of this process's memory: of its control group if that has a limit, else of the machine.
uint64_t memory_left();
/// Bytes that had to be read again, ever, in that control group or on the machine.
uint64_t bytes_refaulted();

} // namespace pagecast::speculate
