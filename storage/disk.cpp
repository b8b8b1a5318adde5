// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "storage/disk.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sys/uio.h>
#include <unistd.h>

namespace pagecast::storage {
namespace {

constexpr uint64_t kStop = ~uint64_t{0}; ///< of a request that only ends the thread

/// Reads that follow each other.
int64_t read_now(const std::vector<Read> &run) {
  std::vector<iovec> into;
  for (const Read &read : run) into.push_back({read.into, read.bytes});
  ssize_t n;
  do n = preadv(run[0].fd, into.data(), int(into.size()), off_t(run[0].offset));
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}

/// All bytes of the writes, which follow each other.
int64_t write_now(const std::vector<iovec> &from, int fd, uint64_t offset) {
  for (iovec part : from)
    while (part.iov_len) {
      const ssize_t n = pwrite(fd, part.iov_base, part.iov_len, off_t(offset));
      if (n < 0 && errno != EINTR) return -errno;
      if (n <= 0) continue;
      part.iov_base = static_cast<char *>(part.iov_base) + n;
      part.iov_len -= size_t(n);
      offset += uint64_t(n);
    }
  return 0;
}

bool follows(const Read &first, const Read &second) {
  return first.fd == second.fd && first.offset + first.bytes == second.offset;
}

} // namespace

void Disk::start(const DiskTiming &timing, Done done, void *context) {
  timing_ = timing;
  done_ = done;
  context_ = context;
  // One more entry than there are reads, for the request that ends the thread.
  uses_uring_ = timing.latency == 0 && timing.rate == 0 && io_uring_queue_init(kDepth + 1, &ring_, 0) == 0;
  for (unsigned i = 0; i < kDepth; ++i) free_.push_back(i);
  if (uses_uring_) {
    threads_.emplace_back([this] { reap(); });
    return;
  }
  for (unsigned i = 0; i < (timing.latency || timing.rate ? 1 : kDepth); ++i) threads_.emplace_back([this] { work(); });
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

void Disk::ask(const Read *reads, unsigned count, bool is_waited_for) {
  if (!count) return;
  const std::lock_guard lock(mutex_);
  std::deque<Read> &queue = is_waited_for ? waited_for_ : foretold_;
  queue.insert(queue.end(), reads, reads + count);
  if (uses_uring_) submit_locked();
  else wanted_.notify_all();
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

/// Moves what comes right before or behind the run from the queue into it. Cost: the reads that wait.
bool Disk::take_neighbour(std::deque<Read> *from, std::vector<Read> *run) {
  for (auto at = from->begin(); at != from->end(); ++at) {
    const bool is_behind = follows(run->back(), *at);
    if (!is_behind && !follows(*at, run->front())) continue;
    run->insert(is_behind ? run->end() : run->begin(), *at);
    from->erase(at);
    return true;
  }
  return false;
}

/// The next request: a read, and those that wait beside it.
void Disk::take_run(std::vector<Read> *run) {
  run->resize(1);
  if (!take(&run->front())) return run->clear();
  const auto has_room = [&] { return run->back().offset + 2 * run->back().bytes - run->front().offset <= kLargest; };
  while (has_room() && (take_neighbour(&waited_for_, run) || take_neighbour(&foretold_, run))) {}
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

/// With the arm: as a disk that has one, which takes at least the latency and the time of the bytes.
template <class Work> int64_t Disk::one_at_a_time(uint64_t bytes, const Work &work) {
  const uint64_t moving = timing_.rate ? bytes * 1'000'000 / timing_.rate : 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(timing_.latency + moving);
  const int64_t result = work();
  std::this_thread::sleep_until(end);
  return result;
}

/// A thread that makes one request at a time.
void Disk::work() {
  std::unique_lock lock(mutex_);
  for (std::vector<Read> run;;) {
    wanted_.wait(lock, [&] { return is_stopping_ || !waited_for_.empty() || !foretold_.empty(); });
    if (is_stopping_) return;
    take_run(&run);
    if (run.empty()) continue;
    lock.unlock();
    const uint64_t bytes = run.back().offset + run.back().bytes - run[0].offset;
    const bool is_imitated = timing_.latency || timing_.rate;
    std::unique_lock arm(arm_, std::defer_lock);
    if (is_imitated) arm.lock();
    const int64_t result = is_imitated ? one_at_a_time(bytes, [&] { return read_now(run); }) : read_now(run);
    if (is_imitated) arm.unlock();
    lock.lock();
    count(result);
    lock.unlock();
    for (const Read &read : run) {
      const int64_t left = result - int64_t(read.offset - run[0].offset);
      done_(context_, read, result < 0 ? result : std::clamp<int64_t>(left, 0, read.bytes));
    }
    lock.lock();
  }
}

/// With the arm: the write, unless another has taken it along, and those that wait beside it, as one request.
void Disk::write_with_neighbours(Write *first) {
  std::deque<Write *> run;
  {
    const std::lock_guard lock(mutex_);
    if (first->is_done) return;
    run.push_back(first);
    std::erase(writes_waiting_, first);
    for (bool is_any = true; is_any && run.back()->offset + run.back()->bytes - run.front()->offset < kLargest;) {
      const auto at = std::find_if(writes_waiting_.begin(), writes_waiting_.end(), [&](const Write *w) {
        return w->fd == first->fd &&
               (w->offset == run.back()->offset + run.back()->bytes || w->offset + w->bytes == run.front()->offset);
      });
      is_any = at != writes_waiting_.end();
      if (!is_any) break;
      if ((*at)->offset > run.back()->offset) run.push_back(*at);
      else run.push_front(*at);
      writes_waiting_.erase(at);
    }
  }
  std::vector<iovec> from;
  for (const Write *w : run) from.push_back({const_cast<void *>(w->from), w->bytes});
  const uint64_t bytes = run.back()->offset + run.back()->bytes - run.front()->offset;
  const auto result = int(one_at_a_time(bytes, [&] { return write_now(from, first->fd, run.front()->offset); }));
  const std::lock_guard lock(mutex_);
  ++writes_;
  for (Write *w : run) w->result = result, w->is_done = true;
}

int Disk::write(int fd, const void *from, uint32_t bytes, uint64_t offset) {
  if (!timing_.latency && !timing_.rate) {
    const auto result = int(write_now({{const_cast<void *>(from), bytes}}, fd, offset));
    const std::lock_guard lock(mutex_);
    ++writes_;
    return result;
  }
  Write write{fd, from, bytes, offset};
  {
    const std::lock_guard lock(mutex_);
    writes_waiting_.push_back(&write);
  }
  const std::lock_guard arm(arm_);
  write_with_neighbours(&write);
  return write.result;
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
