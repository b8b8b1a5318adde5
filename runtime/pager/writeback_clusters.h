// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks with pages that wait for the rest of their block (gather.cpp), the oldest first; some are complete by
// now. Pager's thread only.
#pragma once
#include "runtime/state/pages.h"

namespace pagecast {

struct Gathered {
  uint32_t slot;
  Wanted wanted;
};

class GatheredBlocks {
public:
  bool any() const { return count_ != 0; }
  bool full() const { return count_ == kMost; }
  /// There must be room.
  void add(const Gathered &block) { block_[(first_ + count_++) % kMost] = block; }
  /// The oldest, which is taken out. There must be one.
  Gathered take() {
    const Gathered oldest = block_[first_];
    first_ = (first_ + 1) % kMost;
    --count_;
    return oldest;
  }

private:
  static constexpr uint32_t kMost = 16384;
  Gathered block_[kMost];
  uint32_t first_ = 0, count_ = 0;
};

} // namespace pagecast
