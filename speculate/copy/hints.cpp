// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/copy/state.h"

namespace pagecast::speculate {

bool compose(char *to, unsigned capacity, const char *directory, const char *name) {
  if (name[0] != '/' && directory[0] != '/') return false;
  unsigned n = 0;
  for (int i = 0; i < 2; i++) {
    const char *part = i ? name : name[0] == '/' ? "" : directory;
    while (*part) {
      while (*part == '/' || (part[0] == '.' && (part[1] == '/' || !part[1]))) part++;
      if (!*part) break;
      if (n + 1 >= capacity) return false;
      to[n++] = '/';
      while (*part && *part != '/') {
        if (n + 1 >= capacity) return false;
        to[n++] = *part++;
      }
    }
  }
  if (n == 0) to[n++] = '/';
  to[n] = 0;
  return true;
}

const char *directory_of(int number) {
  if (number == kAtCwd) return state.directory;
  const Descriptor *const found = descriptor(number);
  return found && found->kind == Kind::kDirectory ? found->path : "";
}

uint64_t device_of(int number) {
  const Descriptor *const found = descriptor(number);
  return found ? found->device : 0;
}

namespace {

constexpr long kFutexWake = 1;
constexpr int64_t kPiece = 128 << 10; ///< bytes that a sequence of reads is hinted in

/// Sleeps until the prefetcher has taken hints: they are in order, and none may be lost.
void wait_for_room(Channel &channel) {
  const int64_t millisecond[2] = {0, 1000000};
  while (channel.head - __atomic_load_n(&channel.tail, __ATOMIC_ACQUIRE) >= kRing) {
    if (__atomic_load_n(&channel.stop, __ATOMIC_RELAXED)) end(Ended::kNot, 0);
    call(__NR_nanosleep, millisecond, 0L);
  }
}

} // namespace

void give_hint(HintKind kind, const char *path, uint64_t device, uint64_t inode, uint64_t offset, uint64_t length, bool begun) {
  Channel &channel = *state.channel;
  if (!path[0]) return;
  wait_for_room(channel);
  Hint &hint = channel.ring[channel.head & (kRing - 1)];
  if (!compose(hint.path, kPathBytes, "", path)) return;
  hint.kind = kind;
  hint.copy = pagecast_order.copy;
  hint.begun = begun;
  hint.device = device;
  hint.inode = inode;
  hint.offset = offset;
  hint.length = length;
  hint.position = channel.position;
  __atomic_store_n(&channel.head, channel.head + 1, __ATOMIC_SEQ_CST);
  if (__atomic_exchange_n(&channel.listening, 0u, __ATOMIC_SEQ_CST)) call(__NR_futex, &channel.head, kFutexWake, 1L, 0L, 0L);
}

void wait_for_original() {
  const int64_t millisecond[2] = {0, 1000000};
  const Channel &channel = *state.channel;
  while (channel.position >
         __atomic_load_n(&channel.progress, __ATOMIC_RELAXED) + __atomic_load_n(&channel.ahead_limit, __ATOMIC_RELAXED)) {
    if (__atomic_load_n(&channel.stop, __ATOMIC_RELAXED)) end(Ended::kNot, 0);
    call(__NR_nanosleep, millisecond, 0L);
  }
}

void hint_read(Descriptor &file, int64_t offset, int64_t length, bool begun) {
  state.channel->hinted_reads++;
  if (file.size <= static_cast<int64_t>(kSmallFile)) {
    if (file.whole) return;
    file.whole = true;
    return give_hint(HintKind::kRange, file.path, file.device, file.inode, 0, file.size,
                     begun && offset == 0 && length >= file.size);
  }
  int64_t end = offset + length;
  if (offset == file.hinted && offset != 0) {
    if (end < offset + kPiece) end = offset + kPiece;
  } else if (offset < file.hinted && end <= file.hinted && file.hinted - offset <= kPiece) return;
  file.hinted = end;
  give_hint(HintKind::kRange, file.path, file.device, file.inode, offset, end - offset, begun && end == offset + length);
}

} // namespace pagecast::speculate
