// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "storage/disk.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <unistd.h>

namespace pagecast::storage {
namespace {

constexpr uint64_t kStop = ~uint64_t{0}; ///< of a request that only ends the thread

int64_t read_now(const Read &read) {
  ssize_t n;
  do n = pread(read.fd, read.into, read.bytes, off_t(read.offset));
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}

} // namespace

void Disk::start(uint64_t latency, Done done, void *context) {
  latency_ = latency;
  done_ = done;
  context_ = context;
  // One more entry than there are reads, for the request that ends the thread.
  uses_uring_ = latency == 0 && io_uring_queue_init(kDepth + 1, &ring_, 0) == 0;
  for (unsigned i = 0; i < kDepth; ++i) free_.push_back(i);
  if (uses_uring_) {
    threads_.emplace_back([this] { reap(); });
    return;
  }
  for (unsigned i = 0; i < (latency ? 1 : kDepth); ++i) threads_.emplace_back([this] { work(); });
}

void Disk::stop() {
  if (threads_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    waited_for_.clear();
    foretold_.clear();
    if (uses_uring_) {
      io_uring_sqe *sqe = io_uring_get_sqe(&ring_);
      io_uring_prep_nop(sqe);
      io_uring_sqe_set_data64(sqe, kStop);
      io_uring_submit(&ring_);
    }
  }
  wanted_.notify_all();
  for (std::thread &thread : threads_) thread.join();
  threads_.clear();
  if (uses_uring_) io_uring_queue_exit(&ring_);
}

void Disk::ask(const Read &read, bool is_waited_for) {
  const std::lock_guard lock(mutex_);
  (is_waited_for ? waited_for_ : foretold_).push_back(read);
  if (uses_uring_) submit_locked();
  else wanted_.notify_one();
}

void Disk::hurry(uint64_t token) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(foretold_.begin(), foretold_.end(), [&](const Read &read) { return read.token == token; });
  if (at == foretold_.end()) return;
  waited_for_.push_back(*at);
  foretold_.erase(at);
}

bool Disk::take(Read *read) {
  std::deque<Read> &from = waited_for_.empty() ? foretold_ : waited_for_;
  if (from.empty()) return false;
  *read = from.front();
  from.pop_front();
  return true;
}

/// Hands the kernel what there is a free entry for.
void Disk::submit_locked() {
  bool is_any = false;
  for (Read read; !is_stopping_ && !free_.empty() && take(&read); is_any = true) {
    const unsigned entry = free_.back();
    free_.pop_back();
    under_way_[entry] = read;
    io_uring_sqe *sqe = io_uring_get_sqe(&ring_); // there are more than entries
    io_uring_prep_read(sqe, read.fd, read.into, read.bytes, read.offset);
    io_uring_sqe_set_data64(sqe, entry);
  }
  if (is_any) io_uring_submit(&ring_);
}

void Disk::count(int64_t result) {
  ++reads_;
  bytes_ += result > 0 ? uint64_t(result) : 0;
}

/// The thread of io_uring: it alone sees what is complete, and all who ask hand in requests.
void Disk::reap() {
  for (bool is_ending = false;;) {
    io_uring_cqe *cqe;
    if (io_uring_wait_cqe(&ring_, &cqe) != 0) continue; // a signal
    const uint64_t entry = io_uring_cqe_get_data64(cqe);
    const int64_t result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    if (entry != kStop) {
      std::unique_lock lock(mutex_);
      const Read read = under_way_[entry];
      free_.push_back(unsigned(entry));
      count(result);
      submit_locked();
      lock.unlock();
      done_(context_, read, result);
    }
    is_ending |= entry == kStop;
    const std::lock_guard lock(mutex_);
    if (is_ending && free_.size() == kDepth) return;
  }
}

/// As a disk with one arm, which takes at least the latency.
template <class Work> int64_t Disk::one_at_a_time(const Work &work) {
  const std::lock_guard arm(arm_);
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(latency_);
  const int64_t result = work();
  std::this_thread::sleep_until(end);
  return result;
}

/// A thread that reads one request at a time.
void Disk::work() {
  std::unique_lock lock(mutex_);
  for (Read read;;) {
    wanted_.wait(lock, [&] { return is_stopping_ || !waited_for_.empty() || !foretold_.empty(); });
    if (is_stopping_ || !take(&read)) return;
    lock.unlock();
    const int64_t result = latency_ ? one_at_a_time([&] { return read_now(read); }) : read_now(read);
    lock.lock();
    count(result);
    lock.unlock();
    done_(context_, read, result);
    lock.lock();
  }
}

int Disk::write(int fd, const void *from, uint32_t bytes, uint64_t offset) {
  const auto write_all = [&]() -> int64_t {
    for (uint32_t done = 0; done < bytes;) {
      const ssize_t n = pwrite(fd, static_cast<const char *>(from) + done, bytes - done, off_t(offset + done));
      if (n < 0 && errno != EINTR) return -errno;
      if (n > 0) done += uint32_t(n);
    }
    return 0;
  };
  const auto result = int(latency_ ? one_at_a_time(write_all) : write_all());
  const std::lock_guard lock(mutex_);
  ++writes_;
  return result;
}

uint64_t Disk::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

uint64_t Disk::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

uint64_t Disk::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

} // namespace pagecast::storage
