// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about files. Those of a name that a directory listed as a regular file are made up when they are not in memory,
// and looked up in the background.
#include "speculate/copy/state.h"

namespace pagecast::speculate {
namespace {

constexpr uint32_t kMode = 0644;
constexpr unsigned kStatxBasic = 0x7ff;

/// The beginning of the kernel's struct statx.
struct Statx {
  uint32_t mask, block;
  uint64_t attributes;
  uint32_t links, user, group;
  uint16_t mode, unused;
  uint64_t inode, size, blocks, attributes_mask;
  uint64_t rest[24];
};
static_assert(sizeof(Statx) == 256);

void make_up(Stat &facts, uint64_t inode, int64_t size) {
  memset(&facts, 0, sizeof facts);
  facts.inode = inode;
  facts.links = 1;
  facts.mode = kTypeRegular | kMode;
  facts.size = size;
  facts.block = 4096;
  facts.blocks = (size + 511) / 512;
}

/// Asks the caches, then the table of names. -kAgain: neither knows.
long quick_facts(int directory, const char *path, Stat *to, int flags) {
  char full[kPathBytes];
  const bool composed = compose(full, sizeof full, directory_of(directory), path);
  if (state.written && composed)
    if (const Written *const created = created_file(full)) {
      make_up(*to, created->inode, created->size);
      return 0;
    }
  OpenHow how = {static_cast<uint64_t>(kPathOnly | kCloseOnExec | (flags & kAtNoFollow ? kNoFollow : 0)), 0, kResolveCached};
  const long look = call(__NR_openat2, directory, path, &how, sizeof how);
  if (look >= 0) {
    const long result = call(__NR_fstat, look, to);
    call(__NR_close, look);
    return result;
  }
  if ((look == -kNoEntry || look == -kAgain) && composed && is_made(full)) {
    make_up(*to, path_hash(full), 4096);
    to->mode = kTypeDirectory | 0755;
    return 0;
  }
  if (look != -kAgain) return look;
  uint64_t inode = 0;
  if (!composed) return -kAgain;
  if (!is_known_regular(full, &inode) && !(learn_names(full) && is_known_regular(full, &inode))) return -kAgain;
  state.channel->guesses++;
  give_hint(HintKind::kStat, full, device_of(directory), inode, 0, 0);
  make_up(*to, inode, kGuessedSize);
  return 0;
}

} // namespace

long stat_descriptor(int number, Stat *to) {
  const Descriptor *const file = descriptor(number);
  if (!file) return -kBadDescriptor;
  if (file->kind != Kind::kGuess && file->kind != Kind::kSink) return call(__NR_fstat, number, to);
  const Written *const written = file->kind == Kind::kSink ? written_file(file->device, file->inode) : nullptr;
  make_up(*to, file->inode, written ? written->size : file->size);
  return 0;
}

long stat_path(int directory, const char *path, Stat *to, int flags) {
  if (!path || !path[0]) {
    if (!(flags & kAtEmptyPath)) return -kNoEntry;
    return directory == kAtCwd ? call(__NR_newfstatat, directory, "", to, flags) : stat_descriptor(directory, to);
  }
  const long quick = quick_facts(directory, path, to, flags);
  return quick == -kAgain ? call(__NR_newfstatat, directory, path, to, flags) : quick;
}

long statx_path(int directory, const char *path, int flags, unsigned mask, void *to) {
  Stat facts;
  const bool guessable = (mask & ~kStatxBasic) == 0;
  long known = -kAgain;
  if (guessable && path && path[0]) known = quick_facts(directory, path, &facts, flags);
  else if (const Descriptor *const file = descriptor(directory);
           file && (file->kind == Kind::kGuess || file->kind == Kind::kSink))
    known = stat_descriptor(directory, &facts);
  if (known != 0 || facts.device)
    return known == 0 || known == -kAgain ? call(__NR_statx, directory, path, flags, mask, to) : known;
  Statx made;
  memset(&made, 0, sizeof made);
  made.mask = kStatxBasic;
  made.block = 4096;
  made.links = 1;
  made.mode = static_cast<uint16_t>(facts.mode);
  made.inode = facts.inode;
  made.size = static_cast<uint64_t>(facts.size);
  made.blocks = static_cast<uint64_t>(facts.blocks);
  memcpy(to, &made, sizeof made);
  return 0;
}

} // namespace pagecast::speculate
