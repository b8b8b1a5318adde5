// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that the program reads in order, by read() and what is built on it. What it has passed of them is page cache that
// stays until somebody lacks memory; and where little of it can be had, the kernel puts memory of neighbours that sleep on
// swap for it (core/memory/limit.h: reserve()). So where there are such neighbours the cache behind the program is given up at
// once. Measured: BUK, which reads 58 MB, in 256 MiB beside a task that sleeps, over and over: 67 MB of cache stayed, 175 MB
// were left for its data, and it took 1.90 s; with this 1.43 s, and 1.35 s without the task.
//
//     first seen    moved on                     moved back
//     at            all before the position go   it is read more than once, and left alone from now on
//
// When it is closed, having been read for the greater part, the rest goes, too.
//
// Only of descriptors that are open for reading alone: nothing is written by it. Where the program has come to is read
// from /proc: lseek would wait for a read that is under way there, which may wait for the pager.
//
// A thread of its own, with descriptors of its own: closing one gives up the process's record locks on its file.
#pragma once
#include <atomic>
#include <cstdint>

namespace pagecast {

class ReadFiles {
public:
  /// The thread's body, which keeps given_up_bytes() in `given_up`; returns where the kernel does not give it descriptors of its own.
  void run(std::atomic<uint64_t> &given_up);
  /// Files are to be followed for a while from now on. Any thread, one at a time. Cost: a store, at times a system call.
  void mind(uint64_t now_ns);
  /// Looks where the program has come to, and gives up what it has passed. Returns how long it is until the next look, ns.
  /// Cost: 3 us for each file that is followed; every 40 ms, 3 us for each open descriptor; 0.2 us for each page given up.
  uint64_t look(uint64_t now_ns);
  /// In the child of a fork, where there is no such thread: its positions are its own from now on.
  void forget();
  /// Bytes of files that were given up so far.
  uint64_t given_up_bytes() const { return given_up_; }

private:
  struct File {
    int fd;
    uint64_t mount, inode;
    uint64_t at; ///< position at the last look
    uint64_t given_up; ///< from the beginning up to here
    bool again; ///< it is read more than once
    int own; ///< a reopened one, once something was given up: for what is read before the program closes its own
  };
  static constexpr unsigned kMost = 32;

  void search();
  bool follow(File &, uint64_t now_ns);
  void finish(File &);

  File file_[kMost];
  unsigned count_ = 0;
  uint64_t next_search_ns_ = 0, moved_ns_ = 0;
  uint64_t given_up_ = 0;
  std::atomic<uint64_t> until_ns_{0};
  std::atomic<uint32_t> asked_{0}; ///< how often mind() found nobody following
};

} // namespace pagecast
