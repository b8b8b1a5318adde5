// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The disk below a storage cache: reads that someone waits for come before those that prefetches ask for, and otherwise
// in the order in which they were asked for. What is read is reported on a thread of the disk's.
//
// Reads go through io_uring, which keeps many under way with one thread. With a latency, for measurements, and where the
// host refuses io_uring, threads make one request each: with a latency there is one thread, so that one request at a
// time takes at least that long, and its bytes a time of their own, as on a disk with one arm.
//
// Such a thread makes one request of reads that wait and follow each other in a file, as the kernel does for a disk. One that
// someone waits for thus takes along what was foretold beside it, and the union that a helper asks for costs few requests.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <liburing.h>
#include <mutex>
#include <thread>
#include <vector>

namespace pagecast::storage {

struct Read {
  int fd;
  void *into;
  uint32_t bytes; ///< fewer may be there: at the end of the file
  uint64_t offset;
  uint64_t token; ///< the caller's
};

/// A disk that is imitated, for measurements.
struct DiskTiming {
  uint64_t latency = 0; ///< of each request at least, in microseconds; 0 = as fast as it goes
  uint64_t rate = 0;    ///< bytes in a second, which take their time beside the latency; 0 = none
};

class Disk {
public:
  /// What becomes of a read: bytes, or -errno. Called without a lock of the disk's.
  using Done = void (*)(void *context, const Read &, int64_t result);

  static constexpr unsigned kDepth = 32; ///< reads under way at a time
  static constexpr uint64_t kLargest = 1u << 20; ///< bytes of reads that become one request

  Disk() = default;
  Disk(const Disk &) = delete;
  Disk &operator=(const Disk &) = delete;
  ~Disk() { stop(); }

  void start(const DiskTiming &, Done done, void *context);
  /// Ends when what is under way has been reported; what waits is not read.
  void stop();

  void ask(const Read &read, bool is_waited_for) { ask(&read, 1, is_waited_for); }
  /// Those that follow each other may be one request.
  void ask(const Read *, unsigned count, bool is_waited_for);
  /// Someone waits for a read that a prefetch asked for. Cost: the number of reads that wait.
  void hurry(uint64_t token);

  /// Waits until the bytes are written. 0 or -errno. Imitated, a request takes its time, and the disk reads nothing meanwhile; writes
  /// that wait and follow each other are one, too.
  int write(int fd, const void *from, uint32_t bytes, uint64_t offset);

  bool uses_uring() const { return uses_uring_; }
  /// Requests, and what they read.
  uint64_t reads() const;
  uint64_t bytes() const;
  uint64_t writes() const;

private:
  /// A write that waits, on the stack of its thread.
  struct Write {
    int fd;
    const void *from;
    uint32_t bytes;
    uint64_t offset;
    bool is_done = false;
    int result = 0;
  };
  void write_with_neighbours(Write *);
  bool take(Read *);
  void take_run(std::vector<Read> *);
  bool take_neighbour(std::deque<Read> *, std::vector<Read> *);
  void count(int64_t result);
  void submit_locked();
  void reap();
  void work();
  template <class Work> int64_t one_at_a_time(uint64_t bytes, const Work &);

  Done done_ = nullptr;
  void *context_ = nullptr;
  DiskTiming timing_;
  bool uses_uring_ = false;

  std::mutex arm_; ///< with a latency: of who reads or writes
  mutable std::mutex mutex_; ///< of all below
  std::condition_variable wanted_;
  std::deque<Read> waited_for_, foretold_;
  std::vector<Write *> writes_waiting_;
  bool is_stopping_ = false;
  uint64_t reads_ = 0, bytes_ = 0, writes_ = 0;
  io_uring ring_{};
  Read under_way_[kDepth]{};
  std::vector<unsigned> free_; ///< entries of `under_way_`
  std::vector<std::thread> threads_;
};

} // namespace pagecast::storage
