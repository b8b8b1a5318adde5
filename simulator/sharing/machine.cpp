// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/machine.h"
#include <algorithm>

namespace pagecast::simulator {

using Found = core::StorageCache::Found;

IoNode::IoNode(const IoMachine &m, uint32_t clients)
    : disk_(m.disk), tables_(core::StorageCache::bytes(m.cache, clients) / 8 + 1), arrives_(m.cache), waits_for_(m.cache) {
  cache_.start(tables_.data(), m.policy, m.cache, clients, m.cache);
}

/// What has arrived by now is there.
void IoNode::advance(uint64_t now) {
  for (; !coming_.empty() && coming_.front().at <= now; coming_.pop_front()) {
    const uint32_t f = coming_.front().frame;
    cache_.arrived(f);
    for (; waits_for_[f]; --waits_for_[f]) cache_.unpin(f);
  }
}

uint64_t IoNode::act(uint64_t now, core::StorageCache::Lookup lookup) {
  if (lookup.found == Found::kFull) return 0;
  if (lookup.found == Found::kHere) return now;
  if (lookup.found == Found::kFetch) {
    ++reads_;
    free_at_ = arrives_[lookup.frame] = std::max(now, free_at_) + disk_;
    coming_.push_back({free_at_, lookup.frame});
  }
  return arrives_[lookup.frame];
}

uint64_t IoNode::reference(uint64_t now, uint64_t block, uint32_t client) {
  advance(now);
  const core::StorageCache::Lookup lookup = cache_.reference(block, client);
  if (lookup.found == Found::kHere) cache_.unpin(lookup.frame);
  else if (lookup.found != Found::kFull) ++waits_for_[lookup.frame];
  return act(now, lookup);
}

uint64_t IoNode::prefetch(uint64_t now, uint64_t block, uint32_t client) {
  advance(now);
  return act(now, cache_.prefetch(block, client));
}

} // namespace pagecast::simulator
