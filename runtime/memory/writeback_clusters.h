// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clusters of sixteen pages, of which some wait for the others (releases.h), the oldest first; some are complete by
// now. Pager's thread only.
#pragma once
#include "runtime/state/pages.h"

namespace pagecast {

struct WritebackCluster {
  uint32_t slot;
  Wanted wanted;
};

class WritebackClusters {
public:
  bool any() const { return count_ != 0; }
  bool full() const { return count_ == kMost; }
  /// There must be room.
  void add(const WritebackCluster &cluster) {
    if (count_ == capacity_) widen();
    cluster_[(first_ + count_++) % capacity_] = cluster;
  }
  /// The oldest, which is taken out. There must be one.
  WritebackCluster take() {
    const WritebackCluster oldest = cluster_[first_];
    first_ = (first_ + 1) % capacity_;
    --count_;
    return oldest;
  }

private:
  /// What has come round to the beginning comes behind the rest.
  void widen() {
    for (uint32_t i = 0; i < first_; ++i) cluster_[capacity_ + i] = cluster_[i];
    capacity_ *= 2;
  }

  static constexpr uint32_t kMost = 16384;
  WritebackCluster cluster_[kMost];
  uint32_t capacity_ = 256; ///< so many entries are gone round in, since what is never needed should take no memory
  uint32_t first_ = 0, count_ = 0;
};

} // namespace pagecast
