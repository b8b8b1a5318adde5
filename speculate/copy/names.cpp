// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names that directories have listed as regular files: a table that forgets when it is full.
//
// The program may have listed a directory before the copy was made, or know its names from elsewhere. A copy that looked up each of them
// could not get ahead. So it lists the directory of the second in a row that nothing is in memory of.
#include "speculate/copy/state.h"
#include "speculate/shared/channel.h"

namespace pagecast::speculate {
namespace {

constexpr unsigned kNames = 1u << 16; ///< a power of two
constexpr unsigned kNear = 8; ///< places in which a name may be

struct Known {
  uint64_t key, inode; ///< key 0: none
};
Known known[kNames];
constexpr unsigned kListed = 32 << 10; ///< bytes
constexpr int kMostLists = 64; ///< parts of so many bytes of one directory: as many names as there is room for
alignas(8) char listed[kListed];

/// Behind a directory's path: what no name can be.
constexpr const char *kWasListed = "//", *kWasMade = "///";

void append(char *to, unsigned at, const char *name) {
  while ((to[at++] = *name++) != 0) {}
}

void list_names(char *path, unsigned length) {
  const OpenHow how = {static_cast<uint64_t>(kDirectoryOnly | kCloseOnExec | kNoAccessTime), 0, 0};
  const long directory = call(__NR_openat2, kAtCwd, length ? path : "/", &how, sizeof how);
  if (directory < 0) return; // of another user, too: to list it would be seen by its access time
  path[length] = '/';
  long bytes = 1;
  for (int i = 0; i < kMostLists && bytes > 0 && !state.channel->stop; i++) {
    bytes = call(__NR_getdents64, directory, listed, kListed);
    for (long at = 0; at < bytes;) {
      const Entry &entry = *reinterpret_cast<const Entry *>(listed + at);
      at += entry.length;
      unsigned size = 0;
      while (entry.name[size]) size++;
      if (entry.type != kEntryRegular || length + 1 + size >= kPathBytes) continue;
      append(path, length + 1, entry.name);
      remember_name(path, entry.inode);
    }
  }
  call(__NR_close, directory);
}

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

bool learn_names(const char *path) {
  if (state.channel->unlisted) return false;
  char directory[kPathBytes];
  unsigned length = 0, end = 0;
  for (; path[length]; length++)
    if (path[length] == '/') end = length;
  if (length + 3 >= kPathBytes) return false;
  memcpy(directory, path, end);
  append(directory, end, kWasListed);
  const uint64_t key = path_hash(directory);
  uint64_t number;
  if (state.missed != key || is_known_regular(directory, &number)) {
    state.missed = key;
    return false;
  }
  remember_name(directory, 1);
  directory[end] = 0;
  list_names(directory, end);
  return true;
}

namespace {

/// Whether there is room for it.
bool mark_made(char *to, const char *path) {
  unsigned length = 0;
  while (path[length]) length++;
  if (length + 4 >= kPathBytes) return false;
  memcpy(to, path, length);
  append(to, length, kWasMade);
  return true;
}

} // namespace

void remember_made(const char *path) {
  char marked[kPathBytes];
  if (mark_made(marked, path)) remember_name(marked, 1);
}

bool is_made(const char *path) {
  char marked[kPathBytes];
  uint64_t number;
  return mark_made(marked, path) && is_known_regular(marked, &number);
}

} // namespace pagecast::speculate
