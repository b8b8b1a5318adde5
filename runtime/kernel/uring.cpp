// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/uring.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"

#include <algorithm>
#include <cerrno>
#include <linux/aio_abi.h>
#include <liburing.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast {
/// The kernel's queue of direct I/O that is older than io_uring (Linux AIO), and a sleep until a request is done or a descriptor can be
/// read. In memory of its own, zeroed. Requests that are not submitted yet are in asked_[0, asked_count_), and completions that nobody
/// has taken in told_, a ring.
class Uring::Aio {
public:
  /// A queue for `depth` requests. NULL where the kernel refuses that, too.
  static Aio *start(unsigned depth);
  void stop();
  /// False when the queue is full.
  bool ask(bool write, int fd, const void *memory, uint64_t bytes, uint64_t offset, uint64_t tag);
  /// Something that is done already. False when there is no room for that.
  bool tell(uint64_t tag, int32_t result);
  bool watch(int fd, uint64_t tag);
  void submit();
  unsigned completions(Completion *out, unsigned most);
  void wait(uint64_t timeout_ns);

private:
  static constexpr unsigned kMost = 512; ///< requests
  static constexpr unsigned kTold = 2 * kMost; ///< of all requests, and as many wake-ups
  static constexpr unsigned kAtOnce = 64; ///< completions, in one call
  static constexpr uint64_t kDone = ~0ull; ///< the tag of the kernel's own wake-up, which nobody is told of
  void fetch();

  aio_context_t context_;
  int watched_; ///< an epoll descriptor, which tells of each change once
  int done_; ///< an event that the kernel posts when a request is done
  unsigned depth_, asked_count_, under_way_, told_first_, told_count_;
  iocb asked_[kMost];
  Completion told_[kTold];
};

struct Uring::Ring {
  io_uring ring;
};

int Uring::start(unsigned depth) {
  ring_ = static_cast<Ring *>(os::map_memory(sizeof(Ring), true));
  if (!ring_) return -ENOMEM;
  for (int &fd : fd_) fd = -1;
  std::fill(may_wait_, may_wait_ + kFiles, false);
  threads_ = usual_threads_ = 0;
  memory_bytes_ = 0;
  io_uring_params params{};
  // One thread submits and completions are run only when it asks: no interrupts of its other work.
  // The flag tells that there are some to be run.
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CLAMP;
  int error = io_uring_queue_init_params(depth, &ring_->ring, &params);
  if (error == -EINVAL) {
    params = {};
    params.flags = IORING_SETUP_CLAMP;
    error = io_uring_queue_init_params(depth, &ring_->ring, &params);
  }
  if (error) {
    os::unmap(ring_, sizeof(Ring));
    ring_ = nullptr;
    fixed_ = false;
    aio_ = Aio::start(depth);
    return aio_ ? 0 : error;
  }
  own_descriptor(ring_->ring.ring_fd);
  // Registered files save looking the file up at each request. And the ring, which the kernel takes apart in the background,
  // then lets go of the file last: the program's exit does not wait until the disk has freed the space (0.7 s
  // for 600 MB on ext4 mounted with `discard`).
  fixed_ = io_uring_register_files(&ring_->ring, fd_, kFiles) == 0;
  return 0;
}

void Uring::stop() {
  if (aio_) aio_->stop(), aio_ = nullptr;
  if (!ring_) return;
  disown_descriptor(ring_->ring.ring_fd); // the library closes it
  io_uring_queue_exit(&ring_->ring);
  os::unmap(ring_, sizeof(Ring));
  ring_ = nullptr;
}

void Uring::use(unsigned file, int fd) {
  if (fd_[file] == fd) return;
  fd_[file] = fd;
  by_thread_[file] = fd >= 0 && os::is_served_by_program(fd);
  may_wait_[file] = fd >= 0 && !os::begins_at_once(fd);
  bound_threads();
  if (fixed_ && io_uring_register_files_update(&ring_->ring, file, &fd, 1) != 1) {
    io_uring_unregister_files(&ring_->ring); // then by their descriptors
    fixed_ = false;
  }
}

/// What the kernel cannot do without waiting is done by threads of its own, up to four for each processor, which take 23 KiB of a memory
/// limit each. Where it can begin all I/O at once, the only waits are for room in a file, and of writes meanwhile for the same lock:
/// more threads than these need would only wait side by side.
void Uring::bound_threads() {
  const bool waits = std::any_of(may_wait_, may_wait_ + kFiles, [](bool may_wait) { return may_wait; });
  const auto files = static_cast<unsigned>(std::count_if(fd_, fd_ + kFiles, [](int fd) { return fd >= 0; }));
  const unsigned most = waits ? usual_threads_ : files + 1;
  if (!ring_ || most == threads_) return;
  unsigned number[2] = {most, 0}; // 0: as it is
  if (io_uring_register_iowq_max_workers(&ring_->ring, number)) return;
  if (!usual_threads_) usual_threads_ = number[0];
  threads_ = most;
}

/// Aims a prepared request at a file.
void Uring::aim(io_uring_sqe *sqe, unsigned file, uint64_t tag) {
  if (fixed_) {
    sqe->fd = static_cast<int>(file);
    sqe->flags |= IOSQE_FIXED_FILE;
  }
  if (by_thread_[file]) sqe->flags |= IOSQE_ASYNC;
  io_uring_sqe_set_data64(sqe, tag);
}

void Uring::use_memory(void *memory, uint64_t bytes) {
  const iovec all{memory, bytes};
  memory_ = static_cast<const char *>(memory);
  memory_bytes_ = ring_ && os::may_lock(bytes) && io_uring_register_buffers(&ring_->ring, &all, 1) == 0 ? bytes : 0;
}

void Uring::leave_memory() {
  if (memory_bytes_) io_uring_unregister_buffers(&ring_->ring);
  memory_bytes_ = 0;
}

bool Uring::read(unsigned file, void *to, uint64_t bytes, uint64_t offset, uint64_t tag) {
  if (aio_) return aio_->ask(false, fd_[file], to, bytes, offset, tag);
  io_uring_sqe *sqe = io_uring_get_sqe(&ring_->ring);
  if (!sqe) return false;
  const auto at = static_cast<uint64_t>(static_cast<const char *>(to) - memory_);
  if (at < memory_bytes_ && bytes <= memory_bytes_ - at)
    io_uring_prep_read_fixed(sqe, fd_[file], to, static_cast<unsigned>(bytes), offset, 0);
  else io_uring_prep_read(sqe, fd_[file], to, static_cast<unsigned>(bytes), offset);
  aim(sqe, file, tag);
  return true;
}

bool Uring::write(unsigned file, const void *from, uint64_t bytes, uint64_t offset, uint64_t tag) {
  if (aio_) return aio_->ask(true, fd_[file], from, bytes, offset, tag);
  io_uring_sqe *sqe = io_uring_get_sqe(&ring_->ring);
  if (!sqe) return false;
  io_uring_prep_write(sqe, fd_[file], from, static_cast<unsigned>(bytes), offset);
  aim(sqe, file, tag);
  return true;
}

bool Uring::allocate(unsigned file, int mode, uint64_t offset, uint64_t bytes, uint64_t tag) {
  if (aio_) return aio_->tell(tag, -EINVAL);
  io_uring_sqe *sqe = io_uring_get_sqe(&ring_->ring);
  if (!sqe) return false;
  io_uring_prep_fallocate(sqe, fd_[file], mode, offset, bytes);
  aim(sqe, file, tag);
  return true;
}

bool Uring::watch(int fd, uint64_t tag) {
  if (aio_) return aio_->watch(fd, tag | kWatch);
  io_uring_sqe *sqe = io_uring_get_sqe(&ring_->ring);
  if (!sqe) return false;
  io_uring_prep_poll_multishot(sqe, fd, POLLIN);
  io_uring_sqe_set_data64(sqe, tag | kWatch);
  return true;
}

void Uring::hand_over() {
  if (aio_) return aio_->submit();
  if (io_uring_sq_ready(&ring_->ring)) io_uring_submit(&ring_->ring);
}

void Uring::submit() {
  if (aio_) return aio_->submit();
  // Also runs deferred completions (io_uring_enter with GETEVENTS).
  if (io_uring_sq_ready(&ring_->ring) || has_completions()) io_uring_submit_and_get_events(&ring_->ring);
}

unsigned Uring::completions(Completion *out, unsigned most) {
  if (aio_) return aio_->completions(out, most);
  io_uring_cqe *cqe;
  unsigned n = 0;
  while (n < most && io_uring_peek_cqe(&ring_->ring, &cqe) == 0) {
    out[n++] = {cqe->user_data, cqe->res};
    io_uring_cqe_seen(&ring_->ring, cqe);
  }
  return n;
}

bool Uring::has_completions() const {
  if (!ring_) return false;
  const unsigned flags = IO_URING_READ_ONCE(*ring_->ring.sq.kflags);
  return (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) || io_uring_cq_ready(&ring_->ring);
}

void Uring::wait(uint64_t timeout_ns) {
  if (aio_) return aio_->wait(timeout_ns);
  io_uring_cqe *cqe;
  if (timeout_ns == 0) {
    io_uring_submit_and_wait(&ring_->ring, 1);
    return;
  }
  __kernel_timespec t{static_cast<long long>(timeout_ns / 1000000000u), static_cast<long long>(timeout_ns % 1000000000u)};
  io_uring_submit_and_wait_timeout(&ring_->ring, &cqe, 1, &t, nullptr);
}

// --- where io_uring is refused --------------------------------------------------------------------

Uring::Aio *Uring::Aio::start(unsigned depth) {
  auto *aio = static_cast<Aio *>(os::map_memory(sizeof(Aio), false));
  if (!aio) return nullptr;
  aio->depth_ = std::min(depth, kMost);
  const bool refused = syscall(SYS_io_setup, aio->depth_, &aio->context_) != 0;
  aio->watched_ = refused ? -1 : own_descriptor(epoll_create1(EPOLL_CLOEXEC));
  aio->done_ = refused ? -1 : os::event_open();
  if (aio->watched_ >= 0 && aio->done_ >= 0 && aio->watch(aio->done_, kDone)) return aio;
  aio->stop();
  return nullptr;
}

void Uring::Aio::stop() {
  if (context_) syscall(SYS_io_destroy, context_); // the kernel knows nothing of the parent's in the child of a fork
  close_own(watched_);
  close_own(done_);
  os::unmap(this, sizeof *this);
}

bool Uring::Aio::ask(bool write, int fd, const void *memory, uint64_t bytes, uint64_t offset, uint64_t tag) {
  if (asked_count_ + under_way_ >= depth_) return false;
  iocb &request = asked_[asked_count_++];
  request = {};
  request.aio_data = tag;
  request.aio_lio_opcode = write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
  request.aio_fildes = static_cast<uint32_t>(fd);
  request.aio_buf = reinterpret_cast<uint64_t>(memory);
  request.aio_nbytes = bytes;
  request.aio_offset = static_cast<int64_t>(offset);
  request.aio_flags = IOCB_FLAG_RESFD;
  request.aio_resfd = static_cast<uint32_t>(done_);
  return true;
}

bool Uring::Aio::tell(uint64_t tag, int32_t result) {
  if (told_count_ == kTold) return false;
  told_[(told_first_ + told_count_++) % kTold] = {tag, result};
  return true;
}

bool Uring::Aio::watch(int fd, uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = tag;
  return epoll_ctl(watched_, EPOLL_CTL_ADD, fd, &event) == 0;
}

/// A request that the kernel does not take has failed, and those behind it are tried. What finds the kernel short of memory stays,
/// and is tried again in the next turn.
void Uring::Aio::submit() {
  iocb *requests[kMost];
  for (unsigned i = 0; i < asked_count_; ++i) requests[i] = &asked_[i];
  unsigned taken = 0;
  while (taken < asked_count_) {
    const long n = syscall(SYS_io_submit, context_, asked_count_ - taken, requests + taken);
    if (n > 0) {
      taken += static_cast<unsigned>(n);
      under_way_ += static_cast<unsigned>(n);
    } else if (errno == EAGAIN || errno == EINTR || !tell(asked_[taken].aio_data, -errno)) {
      break;
    } else {
      ++taken;
    }
  }
  std::copy(asked_ + taken, asked_ + asked_count_, asked_);
  asked_count_ -= taken;
}

/// Completions that the kernel has.
void Uring::Aio::fetch() {
  io_event events[kAtOnce];
  timespec none{};
  while (under_way_ && told_count_ + kAtOnce <= kTold) {
    const long n = syscall(SYS_io_getevents, context_, 0L, static_cast<long>(kAtOnce), events, &none);
    for (long i = 0; i < n; ++i) tell(events[i].data, static_cast<int32_t>(events[i].res));
    if (n > 0) under_way_ -= static_cast<unsigned>(n);
    if (n < static_cast<long>(kAtOnce)) return;
  }
}

unsigned Uring::Aio::completions(Completion *out, unsigned most) {
  if (told_count_ == 0) fetch();
  unsigned n = 0;
  for (; n < most && told_count_; --told_count_, ++n) {
    out[n] = told_[told_first_];
    told_first_ = (told_first_ + 1) % kTold;
  }
  return n;
}

void Uring::Aio::wait(uint64_t timeout_ns) {
  submit();
  if (told_count_ == 0) fetch();
  if (told_count_) return;
  pollfd ready{watched_, POLLIN, 0};
  const timespec most{static_cast<time_t>(timeout_ns / 1'000'000'000), static_cast<long>(timeout_ns % 1'000'000'000)};
  if (ppoll(&ready, 1, timeout_ns ? &most : nullptr, nullptr) <= 0) return;
  epoll_event events[kAtOnce];
  const int n = epoll_wait(watched_, events, kAtOnce, 0);
  for (int i = 0; i < n; ++i)
    if (events[i].data.u64 != kDone) tell(events[i].data.u64, POLLIN);
}

} // namespace pagecast
