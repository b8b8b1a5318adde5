// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processors that share I/O nodes, each with a storage cache of core's before a disk that serves one request at a time,
// first come, first served. Virtual time, in microseconds; deterministic.
#pragma once
#include "core/sharing/storage_cache.h"
#include <deque>
#include <memory>
#include <vector>

namespace pagecast::simulator {

struct IoMachine {
  uint32_t processors = 8;
  uint32_t nodes = 1;
  uint32_t cache = 150;          ///< blocks of each node
  uint64_t disk = 35'000;        ///< a block from the disk: 10 ms to find it, and 1 MiB at 40 MB/s
  uint64_t network = 5'000;      ///< a block from the node to a processor
  uint64_t prefetch_call = 6'000; ///< of a processor, to ask for a block
  core::StoragePolicy policy = core::StoragePolicy::kAging;
};

/// An I/O node. Times that it is given never fall.
class IoNode {
public:
  IoNode(const IoMachine &, uint32_t clients);

  /// When the block is in the cache; 0: every frame is on its way, until next_arrival().
  uint64_t reference(uint64_t now, uint64_t block, uint32_t client);
  /// As above, of a block that no one waits for.
  uint64_t prefetch(uint64_t now, uint64_t block, uint32_t client);
  uint64_t next_arrival() const { return coming_.empty() ? 0 : coming_.front().at; }

  core::ClientCounts counts(uint32_t client) const { return cache_.final_counts(client); }
  uint64_t reads() const { return reads_; }

private:
  struct Coming {
    uint64_t at;
    uint32_t frame;
  };
  uint64_t act(uint64_t now, core::StorageCache::Lookup lookup);
  void advance(uint64_t now);

  uint64_t disk_, free_at_ = 0, reads_ = 0;
  std::vector<uint64_t> tables_;
  core::StorageCache cache_;
  std::deque<Coming> coming_;       ///< in the order in which they arrive
  std::vector<uint64_t> arrives_;   ///< of each frame: when what is coming is there
  std::vector<uint32_t> waits_for_; ///< of each frame: pins to give back then
};

} // namespace pagecast::simulator
