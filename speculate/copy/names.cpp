// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names that directories have listed as regular files: a table that forgets when it is full.
#include "speculate/copy/state.h"
#include "speculate/shared/channel.h"

namespace pagecast::speculate {
namespace {

constexpr unsigned kNames = 1u << 16; ///< a power of two
constexpr unsigned kNear = 8;         ///< places in which a name may be

struct Known {
  uint64_t key, inode; ///< key 0: none
};
Known known[kNames];

} // namespace

void remember_name(const char *path, uint64_t inode) {
  const uint64_t key = path_hash(path);
  Known *entry = &known[key & (kNames - 1)];
  for (unsigned i = 0; i < kNear; i++) {
    Known &candidate = known[(key + i) & (kNames - 1)];
    if (candidate.key && candidate.key != key) continue;
    entry = &candidate;
    break;
  }
  *entry = {key, inode};
}

bool is_known_regular(const char *path, uint64_t *inode) {
  const uint64_t key = path_hash(path);
  for (unsigned i = 0; i < kNear; i++) {
    const Known &candidate = known[(key + i) & (kNames - 1)];
    if (candidate.key != key) continue;
    *inode = candidate.inode;
    return true;
  }
  return false;
}

} // namespace pagecast::speculate
