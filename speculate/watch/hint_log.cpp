// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/watch/hint_log.h"
#include "speculate/shared/channel.h"

namespace pagecast::speculate {

uint64_t HintLog::mix(uint64_t h) {
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9u;
  h ^= h >> 32;
  return h;
}

uint64_t HintLog::path_key(const char *path) { return mix(path_hash(path)); }

/// Never 0, and another one in each generation.
uint32_t HintLog::fingerprint(uint64_t key) const {
  const uint32_t generation = __atomic_load_n(&generation_, __ATOMIC_RELAXED);
  return static_cast<uint32_t>(mix(key + generation * 0x9e3779b97f4a7c15u) >> 16) | 1;
}

void HintLog::add_key(uint64_t key) { __atomic_store_n(&fingerprints_[key & mask_], fingerprint(key), __ATOMIC_RELAXED); }

bool HintLog::has_key(uint64_t key) const {
  return __atomic_load_n(&fingerprints_[key & mask_], __ATOMIC_RELAXED) == fingerprint(key);
}

void HintLog::add(uint64_t inode, uint64_t offset, uint64_t length) {
  if (length > kMostLength) length = kMostLength;
  const uint64_t last = (offset + (length ? length - 1 : 0)) >> kPageShift;
  for (uint64_t page = offset >> kPageShift; page <= last; page++) add_key(page_key(inode, page));
}

} // namespace pagecast::speculate
