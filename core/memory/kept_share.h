// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of memory holds pages that were shown to be used again. Such a page had gone, or was about to, and came back soon: it is
// kept apart from those that come and are used once. Else what streams past pushes it out each time that as much has come as memory
// holds, and each time it must be shown anew, by a fault or a read, that it is in use.
//
// The share is found as the adaptive replacement cache does (Megiddo and Modha, FAST 2003): a page that is waited for, and has gone
// not longer ago than memory holds, would be there had its side had more room.
//
//   it had been kept        the share grows by a page
//   it had not been kept    the share shrinks by a page
//
// Example: 46 MB of a table at random, between 90 MB that are stored once, in 64. The table's pages come back, and are kept: what is
// stored once goes through the rest of memory.
//
// The pager's thread; O(1).
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class KeptShare {
public:
  static constexpr uint32_t kMostEighths = 7, kFirstEighths = 4; ///< of the pages in memory

  /// Pages that may be kept, of so many in memory.
  uint32_t pages(uint32_t memory) const { return std::min(uint32_t(double(memory) * share_), memory / 8 * kMostEighths); }
  /// The program waits for a page that went when memory was gone through less than once since.
  void missed(bool was_kept, uint32_t memory) {
    const double step = 1.0 / std::max(memory, 1u);
    share_ = std::clamp(share_ + (was_kept ? step : -step), 0.0, kMostEighths / 8.0);
  }

private:
  double share_ = kFirstEighths / 8.0;
};

} // namespace pagecast::core
