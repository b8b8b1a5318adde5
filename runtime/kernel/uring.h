// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests for files, and a sleep until one is done: io_uring, or, where that is refused, the kernel's older queue (Linux AIO).
// Many containers and hosts refuse io_uring. The older queue serves the same direct I/O with a system call more in each turn, and does
// not make room in files. One thread.
#pragma once
#include <cstdint>

struct io_uring_sqe;

namespace pagecast {

class Uring {
public:
  struct Completion {
    uint64_t tag;
    int32_t result; ///< bytes or -errno
  };
  /// Tags with this bit are wake-ups of watched descriptors, not requests.
  static constexpr uint64_t kWatch = 1ull << 63;

  static constexpr unsigned kFiles = 32;
  /// A queue for `depth` requests. 0 or -errno.
  int start(unsigned depth);
  /// Requests for `file` (below kFiles) go to this descriptor; -1: to none. Costs a system call when it changes.
  void use(unsigned file, int fd);
  /// Most requests will be for this memory, which exists as long as the ring: the kernel looks its pages up once, not at
  /// each request. Where it will not (it counts as locked memory), all goes as without.
  void use_memory(void *memory, uint64_t bytes);
  /// It is no longer what use_memory() said: its pages can be given back.
  void leave_memory();
  void stop();

  /// False when the queue is full.
  bool read(unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag);
  bool write(unsigned file, const void *from, uint64_t bytes, uint64_t offset, uint64_t tag);
  /// fallocate: done by a thread of the kernel's, since it may take as long as the disk stalls. Its result is -EINVAL where the
  /// kernel has none for that.
  bool allocate(unsigned file, int mode, uint64_t offset, uint64_t bytes, uint64_t tag);
  /// Reports tag | kWatch whenever `fd` is readable, until the ring goes.
  bool watch(int fd, uint64_t tag);

  /// Hands what was queued to the kernel. Cost: 1 us, and 5 to 20 us for each of the first requests; nothing if none is queued.
  void hand_over();
  /// The same, and lets completions come. Costs nothing where there is neither.
  void submit();
  /// Up to `most` completions, without waiting.
  unsigned completions(Completion *out, unsigned most);
  /// Whether completions() would have one. Only looks at memory; false where io_uring is refused.
  bool has_completions() const;
  /// Sleeps until there is a completion, or `timeout_ns` have passed (0 = no limit).
  void wait(uint64_t timeout_ns);

private:
  struct Ring;
  Ring *ring_ = nullptr;
  class Aio;
  Aio *aio_ = nullptr; ///< where io_uring is refused
  void aim(io_uring_sqe *, unsigned file, uint64_t tag);
  void bound_threads();
  int fd_[kFiles];
  bool by_thread_[kFiles] = {}; ///< a thread of the kernel's starts the I/O, since that may sleep
  bool may_wait_[kFiles] = {}; ///< the kernel may have to wait before it has begun a request for the file
  unsigned threads_ = 0, usual_threads_ = 0; ///< of the kernel's, at most: now, and by itself; 0: not known
  bool fixed_ = false; ///< the files are registered with the ring
  const char *memory_ = nullptr;
  uint64_t memory_bytes_ = 0; ///< 0: none is registered
};

} // namespace pagecast
