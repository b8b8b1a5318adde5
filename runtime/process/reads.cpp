// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/reads.h"

#include "runtime/process/allocations.h"
#include "runtime/kernel/lock.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/kernel/sandbox.h"

#include <cerrno>
#include <fcntl.h>
#include <iterator>

namespace pagecast {

struct ReadEntry {
  enum State : uint32_t { kFree, kTaken, kNoted, kDetoured };
  std::atomic<uint32_t> state{kFree};
  std::atomic<bool> awaited{false}; ///< an allocation is to be paged when it is over
  std::atomic<int> fd{-1}, thread{0};
  std::atomic<uint64_t> begin{0}, end{0};
  // Of the thread that reads.
  const ReadUnderWay *on_stack = nullptr;
  ReadEntry *outer = nullptr; ///< the one that this one's handler has interrupted, or that was left
  void *buffer = nullptr;
  uint64_t buffer_bytes = 0;
};

namespace {

/// By descriptor: the number of the file that it was, times 256, and the advice. Files may be closed where nobody sees it.
std::atomic<uint64_t> advice_of[1024];
static_assert(POSIX_FADV_NORMAL == 0);

/// By descriptor: it is open, and not for direct reads. Kept only once the program has put on a filter.
std::atomic<bool> buffered[1024];

constexpr unsigned kMost = 64;
ReadEntry entries[kMost];
thread_local ReadEntry *innermost __attribute__((tls_model("initial-exec"))) = nullptr; ///< of this thread

bool overlaps(const ReadEntry &e, uint64_t begin, uint64_t end) {
  return e.state.load(std::memory_order_acquire) == ReadEntry::kNoted && e.begin < end && e.end > begin;
}

/// Its range is none any more, in the state `then`. Returns whether an allocation waits for it to be paged.
bool end_range(ReadEntry &e, ReadEntry::State then) {
  // In this order: who awaits it holds the allocations' lock, and marks it before looking whether it is still there.
  e.state.store(ReadEntry::kTaken, std::memory_order_seq_cst);
  const bool awaited = e.awaited.exchange(false, std::memory_order_seq_cst);
  e.state.store(then, std::memory_order_release);
  return awaited;
}

/// Takes back what was noted of a read that is not executed any more.
void forget(ReadEntry &e) {
  if (e.buffer) os::unmap(e.buffer, e.buffer_bytes);
  end_range(e, ReadEntry::kFree);
}

void page_those_that_waited() {
  const int error = errno;
  const NoSignals whole;
  allocations_page();
  errno = error;
}

/// Whether the calling thread, which begins a read at `here` on its stack, has left the read at `inner` by a jump: what it is in
/// the middle of lies above. A handler on a stack of its own cannot tell of what it has interrupted.
bool was_left(const void *inner, const void *here) {
  os::HandlerStack handlers;
  if (sandboxed() || !os::handler_stack(&handlers)) return false;
  const auto offset = static_cast<uint64_t>(static_cast<const char *>(inner) - handlers.base);
  const bool on_handlers = offset < handlers.bytes;
  if (handlers.in_use != on_handlers) return on_handlers;
  return inner <= here;
}

/// Forgets what jumps have left. What allocations waited for there, the next one that is added brings about: a handler must not
/// take their lock.
void forget_those_left(const void *here) {
  const NoSignals whole;
  while (innermost && was_left(innermost->on_stack, here)) {
    ReadEntry &e = *innermost;
    innermost = e.outer;
    forget(e);
  }
}

/// Cost: a system call for each read under way.
void forget_those_of_dead_threads() {
  if (sandboxed()) return;
  const NoSignals whole;
  for (ReadEntry &e : entries) {
    uint32_t state = e.state.load(std::memory_order_acquire);
    const bool begun = state == ReadEntry::kNoted || state == ReadEntry::kDetoured;
    if (begun && !os::has_thread(e.thread) && e.state.compare_exchange_strong(state, ReadEntry::kTaken)) forget(e);
  }
}

/// The second of two threads that call this sees what the first one has stored before. Not a fence: those the thread
/// sanitizer does not know.
void let_others_see() {
  static std::atomic<uint32_t> turns{0};
  turns.fetch_add(1, std::memory_order_acq_rel);
}

ReadEntry *take_entry() {
  for (ReadEntry &e : entries) {
    uint32_t expected = ReadEntry::kFree;
    if (e.state.load(std::memory_order_relaxed) == ReadEntry::kFree &&
        e.state.compare_exchange_strong(expected, ReadEntry::kTaken))
      return &e;
  }
  return nullptr;
}

} // namespace

ReadUnderWay::ReadUnderWay(uint64_t begin, uint64_t end, int fd) : entry_(nullptr) {
  if (innermost) forget_those_left(this);
  const int thread = os::thread_id();
  ReadEntry *e = take_entry();
  if (!e) forget_those_of_dead_threads(), e = take_entry();
  if (!e) return;
  e->buffer = nullptr;
  e->on_stack = this;
  e->outer = innermost;
  innermost = e;
  e->fd.store(fd, std::memory_order_relaxed);
  e->thread.store(thread, std::memory_order_relaxed);
  e->begin.store(begin, std::memory_order_relaxed);
  e->end.store(end, std::memory_order_relaxed);
  e->awaited.store(false, std::memory_order_relaxed);
  e->state.store(ReadEntry::kNoted, std::memory_order_release);
  let_others_see(); // before the look at the pager
  entry_ = e;
}

void ReadUnderWay::finish() {
  if (!entry_) return;
  ReadEntry &e = *entry_;
  entry_ = nullptr;
  for (ReadEntry **at = &innermost; *at; at = &(*at)->outer) {
    if (*at != &e) continue;
    *at = e.outer;
    break;
  }
  if (end_range(e, ReadEntry::kFree)) page_those_that_waited();
}

void ReadUnderWay::detour() {
  if (entry_ && end_range(*entry_, ReadEntry::kDetoured)) page_those_that_waited();
}

char *ReadUnderWay::take_buffer(uint64_t bytes) {
  const NoSignals whole;
  buffer_ = os::map_memory(bytes, false);
  buffer_bytes_ = bytes;
  if (!entry_) return static_cast<char *>(buffer_);
  entry_->buffer_bytes = bytes;
  entry_->buffer = buffer_;
  return static_cast<char *>(buffer_);
}

void ReadUnderWay::drop_buffer() {
  if (entry_) entry_->buffer = nullptr;
  os::unmap(buffer_, buffer_bytes_);
}

bool direct_reads_under_way(uint64_t begin, uint64_t end) {
  let_others_see();
  bool any = false;
  for (ReadEntry &e : entries) {
    if (!overlaps(e, begin, end)) continue;
    // Of others the kernel copies, and faults where it has to.
    if (!may_be_direct(e.fd)) continue;
    if (!sandboxed() && !os::has_thread(e.thread)) { // it was cancelled in the middle
      forget(e);
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

void note_direct_descriptors() {
  for (unsigned fd = 0; fd < std::size(buffered); ++fd) {
    const int flags = os::open_flags(static_cast<int>(fd));
    buffered[fd].store(flags >= 0 && !(flags & O_DIRECT), std::memory_order_relaxed);
  }
}

int note_opened(int fd, int flags) {
  if (sandboxed() && static_cast<unsigned>(fd) < std::size(buffered))
    buffered[fd].store(!(flags & O_DIRECT), std::memory_order_relaxed);
  return fd;
}

void note_closed(unsigned first, unsigned last) {
  if (!sandboxed()) return;
  for (uint64_t fd = first; fd <= last && fd < std::size(buffered); ++fd) buffered[fd].store(false, std::memory_order_relaxed);
}

bool may_be_direct(int fd) {
  if (sandboxed()) return static_cast<unsigned>(fd) >= std::size(buffered) || !buffered[fd].load(std::memory_order_relaxed);
  const int flags = os::open_flags(fd);
  return flags < 0 || flags & O_DIRECT;
}

void note_read_advice(int fd, int advice) {
  if (sandboxed()) return;
  const bool is_order = advice == POSIX_FADV_NORMAL || advice == POSIX_FADV_SEQUENTIAL || advice == POSIX_FADV_RANDOM;
  if (is_order && static_cast<unsigned>(fd) < std::size(advice_of))
    advice_of[fd].store(os::file_number(fd) << 8 | static_cast<uint64_t>(advice), std::memory_order_relaxed);
}

int read_advice(int fd) {
  const uint64_t noted = static_cast<unsigned>(fd) < std::size(advice_of) ? advice_of[fd].load(std::memory_order_relaxed) : 0;
  const int advice = noted & 0xff;
  return advice && noted >> 8 == os::file_number(fd) << 8 >> 8 ? advice : POSIX_FADV_NORMAL;
}

void reads_forked() {
  for (ReadEntry *e = innermost; e; e = e->outer) e->thread.store(-1, std::memory_order_relaxed);
  for (ReadEntry &e : entries) {
    const uint32_t state = e.state.load(std::memory_order_relaxed);
    if (e.thread.exchange(os::thread_id(), std::memory_order_relaxed) != -1 && state != ReadEntry::kFree) forget(e);
  }
}

} // namespace pagecast
