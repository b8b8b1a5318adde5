// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/files/read_files.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint64_t kMillisecond = 1000000;
/// A disk reads some megabytes meanwhile; while nothing is read, looks are rare.
constexpr uint64_t kFastNs = 5 * kMillisecond, kSlowNs = 40 * kMillisecond, kFastForNs = 100 * kMillisecond;
constexpr uint64_t kLeastBytes = 1u << 20; ///< given up at a time
/// Since it was last asked for: longer than it takes to see that there is cache again, which has been given up; five of the
/// rarest looks at the limit.
constexpr uint64_t kMindNs = 2000 * kMillisecond;
constexpr unsigned kMostDescriptors = 256; ///< that are looked at in a search
} // namespace

uint64_t ReadFiles::look(uint64_t now) {
  if (sandboxed()) return kSlowNs; // a filter on all threads need not allow it
  if (now >= next_search_ns_) {
    search();
    next_search_ns_ = now + kSlowNs;
  }
  for (unsigned i = 0; i < count_;) {
    if (follow(file_[i], now)) {
      ++i;
    } else {
      finish(file_[i]);
      file_[i] = file_[--count_];
    }
  }
  return moved_ns_ && now - moved_ns_ < kFastForNs ? kFastNs : kSlowNs;
}

/// For files that are not followed yet.
void ReadFiles::search() {
  int fds[kMostDescriptors];
  const unsigned n = os::open_descriptors(fds, kMostDescriptors);
  for (unsigned i = 0; i < n && count_ < kMost; ++i) {
    const int fd = fds[i];
    os::OpenFile open;
    if (is_own(fd) || std::any_of(file_, file_ + count_, [fd](const File &f) { return f.fd == fd; })) continue;
    if (os::open_file(fd, &open) && open.read_only) file_[count_++] = {fd, open.mount, open.inode, open.position, 0, false, -1};
  }
}

/// False: it is closed, or another file has its number.
bool ReadFiles::follow(File &f, uint64_t now) {
  os::OpenFile open;
  if (!os::open_file(f.fd, &open) || !open.read_only || open.mount != f.mount || open.inode != f.inode) return false;
  f.again |= open.position < f.at;
  const bool moved = open.position > f.at;
  f.at = open.position;
  if (moved) moved_ns_ = now;
  if (!moved || f.again || f.at - f.given_up < kLeastBytes) return true;
  if (f.own < 0) f.own = os::reopen(f.fd);
  // From the beginning: a large folio that the last end lay in could not go then. Where nothing is left this costs nothing.
  if (!os::drop_cached(f.own, 0, f.at)) return true;
  given_up_ += f.at - f.given_up;
  f.given_up = f.at;
  return true;
}

/// It is followed no more.
void ReadFiles::finish(File &f) {
  os::OpenFile open;
  if (f.own >= 0 && !f.again && os::open_file(f.own, &open) && open.mount == f.mount && open.inode == f.inode)
    if (const uint64_t bytes = os::file_bytes(f.own); f.given_up >= bytes / 2) os::drop_cached(f.own, 0, bytes);
  os::close_reopened(f.own);
}

void ReadFiles::run(std::atomic<uint64_t> &given_up) {
  for (bool ready = false;;) {
    const uint32_t asked = asked_.load(std::memory_order_acquire);
    const uint64_t now = os::now_ns();
    if (now >= until_ns_.load(std::memory_order_relaxed)) {
      os::futex_wait(reinterpret_cast<const uint32_t *>(&asked_), asked);
      continue;
    }
    if (!ready && !(ready = os::unshare_descriptors())) return;
    const uint64_t pause = look(now);
    given_up.store(given_up_, std::memory_order_relaxed);
    os::wait_readable(-1, pause);
  }
}

void ReadFiles::mind(uint64_t now) {
  if (until_ns_.exchange(now + kMindNs, std::memory_order_relaxed) > now) return;
  asked_.fetch_add(1, std::memory_order_release);
  os::futex_wake(reinterpret_cast<const uint32_t *>(&asked_));
}

void ReadFiles::forget() {
  until_ns_.store(0, std::memory_order_relaxed);
  count_ = 0;
  next_search_ns_ = moved_ns_ = 0;
}

} // namespace pagecast
