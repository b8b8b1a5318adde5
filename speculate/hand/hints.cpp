// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API of hints about files (pagecast/hints.h): the program's own prefetcher, started at the first hint.
#include "pagecast/hints.h"
#include "speculate/tip/prefetcher.h"
#include "speculate/tip/share.h"
#include "speculate/watch/proc.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <limits.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

struct Hand {
  HintLog log;
  Prefetcher prefetcher;
  uint32_t round = 1; ///< hints of earlier rounds are cancelled
};

pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
Hand *hand = nullptr; ///< with the lock
bool watches_forks = false;

/// The child has no threads. What the parent's were doing, and with which locks, it never looks at.
void begin_anew() {
  hand = nullptr;
  pthread_mutex_init(&starting, nullptr);
}

/// By read calls of all kinds, of all threads, those of the library too. One thread at a time.
uint64_t bytes_read_by_this_process() {
  static uint64_t for_this; // reading the number is itself charged; the caller holds a lock
  char text[512];
  const unsigned length = read_whole("/proc/self/io", text, sizeof text);
  const uint64_t read = length ? field(text, "rchar", 0) - for_this : 0;
  for_this += length;
  return read;
}

void *allocate(size_t bytes) {
  void *const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

/// With the lock. 0 or -errno.
int start() {
  if (hand) return 0;
  void *const memory = allocate(sizeof(Hand));
  void *const fingerprints = allocate(HintLog::kFewFingerprints * sizeof(uint32_t)); // nobody asks it here
  if (!memory || !fingerprints) return -ENOMEM;
  Hand *const made = new (memory) Hand;
  made->log.attach(static_cast<uint32_t *>(fingerprints), HintLog::kFewFingerprints);
  made->prefetcher.set_lead(Share::of(memory_left()).lead());
  made->prefetcher.set_progress(bytes_read_by_this_process);
  if (!made->prefetcher.start(&made->log)) return -EAGAIN;
  if (!watches_forks) pthread_atfork(nullptr, nullptr, begin_anew);
  watches_forks = true;
  hand = made;
  return 0;
}

class Lock {
public:
  Lock() { pthread_mutex_lock(&starting); }
  ~Lock() { pthread_mutex_unlock(&starting); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;
};

/// The name under which the file can be opened again. 0 or -errno.
int name_of(int fd, Hint *hint) {
  struct stat open, named;
  if (fstat(fd, &open)) return -errno;
  if (!S_ISREG(open.st_mode)) return -EINVAL;
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, hint->path, sizeof hint->path);
  if (length < 0) return -errno;
  if (static_cast<size_t>(length) >= sizeof hint->path) return -ENAMETOOLONG;
  hint->path[length] = 0;
  if (stat(hint->path, &named) || named.st_ino != open.st_ino || named.st_dev != open.st_dev) return -ESTALE;
  hint->device = open.st_dev;
  hint->inode = open.st_ino;
  return 0;
}

/// A long range in pieces that several threads take. Returns how many pieces there was room for.
unsigned give_pieces(Hint *hint, const pagecast_range &range) {
  constexpr uint64_t kPiece = 256 << 10;
  unsigned given = 0;
  for (uint64_t done = 0; done < range.bytes; given++) {
    hint->offset = range.offset + done;
    hint->length = std::min(range.bytes - done, kPiece);
    if (!hand->prefetcher.give(*hint)) break;
    done += hint->length;
  }
  return given;
}

/// Prefetching threads may be in another directory by then: names are made absolute.
int absolute(const char *path, Hint *hint) {
  char directory[PATH_MAX] = "";
  if (path[0] != '/' && !getcwd(directory, sizeof directory)) return -errno;
  const int length = snprintf(hint->path, sizeof hint->path, "%s%s%s", directory, path[0] == '/' ? "" : "/", path);
  return length < 0 || static_cast<size_t>(length) >= sizeof hint->path ? -ENAMETOOLONG : 0;
}

} // namespace
} // namespace pagecast::speculate

using namespace pagecast::speculate;

extern "C" __attribute__((visibility("default"))) int pagecast_hint_file(int fd, const pagecast_range *ranges, size_t count) {
  Hint hint = {};
  if (const int failure = name_of(fd, &hint)) return failure;
  const Lock lock;
  if (const int failure = start()) return failure;
  hint.kind = HintKind::kRange;
  hint.copy = hand->round;
  const size_t most = std::min<size_t>(count, INT_MAX);
  size_t taken = 0;
  for (; taken < most; taken++) {
    if (ranges[taken].bytes && give_pieces(&hint, ranges[taken]) == 0) break;
  }
  return static_cast<int>(taken);
}

extern "C" __attribute__((visibility("default"))) int pagecast_hint_path(const char *path) {
  Hint hint = {};
  if (!path || !path[0]) return -EINVAL;
  if (const int failure = absolute(path, &hint)) return failure;
  const Lock lock;
  if (const int failure = start()) return failure;
  hint.kind = HintKind::kAny;
  hint.copy = hand->round;
  return hand->prefetcher.give(hint) ? 1 : 0;
}

extern "C" __attribute__((visibility("default"))) int pagecast_hint_cancel(void) {
  const Lock lock;
  if (!hand) return 0;
  return static_cast<int>(hand->prefetcher.drop_queued(hand->round++));
}

extern "C" __attribute__((visibility("default"))) int pagecast_hint_queued(void) {
  const Lock lock;
  return hand ? static_cast<int>(hand->prefetcher.queued()) : 0;
}
