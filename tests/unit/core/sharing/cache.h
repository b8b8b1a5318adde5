// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A storage cache with tables of its own, whose reads arrive at once.
#pragma once
#include "core/sharing/storage_cache.h"
#include <vector>

namespace pagecast::core::test {

struct Cache {
  explicit Cache(StoragePolicy policy, uint32_t frames, uint32_t clients = 4, uint32_t most_coming = ~0u, bool refuses = false)
      : tables(StorageCache::bytes(frames, clients) / 8 + 1), block_of(frames, kNoBlock) {
    cache.start(tables.data(), policy, frames, clients, most_coming, refuses);
  }
  /// What the reference found; the data arrive, and nothing stays pinned.
  StorageCache::Found reference(uint64_t block, uint32_t client = 0) {
    const StorageCache::Lookup lookup = cache.reference(block, client);
    if (lookup.found == StorageCache::Found::kFull) return lookup.found;
    arrive(lookup, block);
    EXPECT_EQ(block_of[lookup.frame], block);
    cache.unpin(lookup.frame);
    return lookup.found;
  }
  StorageCache::Found prefetch(uint64_t block, uint32_t client = 0) {
    const StorageCache::Lookup lookup = cache.prefetch(block, client);
    arrive(lookup, block);
    return lookup.found;
  }
  bool has(uint64_t block) const {
    for (const uint64_t b : block_of)
      if (b == block) return true;
    return false;
  }

  StorageCache cache;
  std::vector<uint64_t> tables;
  std::vector<uint64_t> block_of; ///< of each frame, as its reader sees it

private:
  void arrive(const StorageCache::Lookup &lookup, uint64_t block) {
    if (lookup.found != StorageCache::Found::kFetch) return;
    block_of[lookup.frame] = block;
    cache.arrived(lookup.frame);
  }
};

} // namespace pagecast::core::test
