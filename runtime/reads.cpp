// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reads.h"

#include "runtime/blocks.h"
#include "runtime/os.h"
#include "runtime/sandbox.h"

#include <cerrno>
#include <fcntl.h>

namespace pagecast {

struct ReadEntry {
  enum State : uint32_t { kFree, kTaken, kNoted };
  std::atomic<uint32_t> state{kFree};
  std::atomic<bool> awaited{false}; ///< a block is to be paged when it is over
  std::atomic<int> fd{-1}, thread{0};
  std::atomic<uint64_t> begin{0}, end{0};
};

namespace {

constexpr unsigned kMost = 64;
ReadEntry entries[kMost];

bool overlaps(const ReadEntry &e, uint64_t begin, uint64_t end) {
  return e.state.load(std::memory_order_acquire) == ReadEntry::kNoted && e.begin < end && e.end > begin;
}

} // namespace

ReadUnderWay::ReadUnderWay(uint64_t begin, uint64_t end, int fd) : entry_(nullptr) {
  for (ReadEntry &e : entries) {
    uint32_t expected = ReadEntry::kFree;
    if (e.state.load(std::memory_order_relaxed) != ReadEntry::kFree || !e.state.compare_exchange_strong(expected, ReadEntry::kTaken)) continue;
    e.fd.store(fd, std::memory_order_relaxed);
    e.thread.store(os::thread_id(), std::memory_order_relaxed);
    e.begin.store(begin, std::memory_order_relaxed);
    e.end.store(end, std::memory_order_relaxed);
    e.awaited.store(false, std::memory_order_relaxed);
    e.state.store(ReadEntry::kNoted, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst); // before the look at the pager
    entry_ = &e;
    return;
  }
}

void ReadUnderWay::finish() {
  if (!entry_) return;
  ReadEntry &e = *entry_;
  entry_ = nullptr;
  // In this order: who awaits it holds the blocks' lock, and marks it before looking whether it is still there.
  e.state.store(ReadEntry::kTaken, std::memory_order_seq_cst);
  const bool awaited = e.awaited.load(std::memory_order_seq_cst);
  e.state.store(ReadEntry::kFree, std::memory_order_release);
  if (!awaited) return;
  const int error = errno;
  blocks_page();
  errno = error;
}

bool direct_reads_under_way(uint64_t begin, uint64_t end) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool any = false;
  for (ReadEntry &e : entries) {
    if (!overlaps(e, begin, end)) continue;
    // Of others the kernel copies, and faults where it has to. In a sandbox, asking may be deadly.
    const int flags = sandboxed() ? O_DIRECT : fcntl(e.fd, F_GETFL);
    if (flags >= 0 && !(flags & O_DIRECT)) continue;
    if (!sandboxed() && !os::has_thread(e.thread)) { // it was cancelled in the middle
      e.state.store(ReadEntry::kFree, std::memory_order_relaxed);
      continue;
    }
    e.awaited.store(true, std::memory_order_seq_cst);
    any |= e.state.load(std::memory_order_seq_cst) == ReadEntry::kNoted;
  }
  return any;
}

void reads_moved(uint64_t begin, uint64_t end, uint64_t to) {
  for (ReadEntry &e : entries) {
    if (!overlaps(e, begin, end)) continue;
    e.begin += to - begin;
    e.end += to - begin;
  }
}

void reads_forked() {
  for (ReadEntry &e : entries) e.state.store(ReadEntry::kFree, std::memory_order_relaxed);
}

} // namespace pagecast
