// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the pager's thread is told to do while the caller waits for it: one command at a time, which may have to be
// tried again while I/O is under way or nests go on.
#pragma once
#include "runtime/kernel/lock.h"
#include "runtime/kernel/os.h"
#include "runtime/state/regions.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class NbdStore;

struct Command {
  enum Kind { kAdd, kRemove, kClear, kFork, kCheck, kFinishOverwriting, kAttach, kFlush, kRefresh };
  Kind kind;
  uint64_t address, bytes;
  Origin origin{}; ///< kAdd
  NbdStore *map = nullptr; ///< kAttach
  int result = 0;
};

class Commands {
public:
  /// Any thread: posts it, calls `wake()` and waits until it is done. The result. Calls `late()` once if that takes longer than
  /// `patience_ns` (0: never).
  template <typename Wake, typename Late> int call(const Command &command, Wake wake, uint64_t patience_ns, Late late) {
    Guard guard(lock_);
    command_ = command;
    done_.store(0, std::memory_order_relaxed);
    posted_.store(1, std::memory_order_seq_cst);
    wake();
    const uint64_t end = patience_ns ? os::now_ns() + patience_ns : 0;
    while (done_.load(std::memory_order_acquire) == 0) {
      os::futex_wait(reinterpret_cast<const uint32_t *>(&done_), 0, patience_ns);
      if (!patience_ns || done_.load(std::memory_order_acquire) || os::now_ns() < end) continue;
      patience_ns = 0;
      late();
    }
    return command_.result;
  }
  template <typename Wake> int call(const Command &command, Wake wake) {
    return call(command, wake, 0, [] {});
  }

  // --- the pager's thread ---
  /// There is one that front() has not shown yet.
  bool posted() const { return posted_.load(std::memory_order_seq_cst) != 0; }
  /// One that front() has shown is to be tried again.
  bool pending() const { return pending_; }
  /// The command that somebody waits for, or NULL.
  Command *front() {
    if (posted_.load(std::memory_order_relaxed)) pending_ = posted_.exchange(0, std::memory_order_acquire) != 0;
    return pending_ ? &command_ : nullptr;
  }
  /// It is done; the caller goes on.
  void finish() {
    pending_ = false;
    done_.store(1, std::memory_order_release);
    os::futex_wake(reinterpret_cast<const uint32_t *>(&done_));
  }
  /// In the child of a fork, before its pager runs: there is none.
  void forked() {
    posted_.store(0, std::memory_order_relaxed);
    pending_ = false;
  }

private:
  Lock lock_;
  Command command_; ///< not on its thread's stack: that may lie in a region
  std::atomic<uint32_t> posted_{0}, done_{0};
  bool pending_ = false;
};

} // namespace pagecast
