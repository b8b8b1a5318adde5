// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A futex lock: no allocation, no dependence on the threading library's state. For short critical sections.
#pragma once
#include "runtime/kernel/os.h"
#include "runtime/kernel/sandbox.h"

#include <atomic>
#include <csignal>
#include <pthread.h>

namespace pagecast {

class Lock {
public:
  void acquire() {
    if (try_acquire()) return;
    while (word_.exchange(2, std::memory_order_acquire) != 0) os::futex_wait(reinterpret_cast<const uint32_t *>(&word_), 2);
  }
  /// Takes it if nobody holds it, the calling thread included. True: it did.
  bool try_acquire() {
    uint32_t expected = 0;
    return word_.compare_exchange_strong(expected, 1, std::memory_order_acquire);
  }
  void release() {
    if (word_.exchange(0, std::memory_order_release) == 2) os::futex_wake(reinterpret_cast<const uint32_t *>(&word_));
  }

private:
  std::atomic<uint32_t> word_{0}; ///< 0 free, 1 held, 2 held and somebody waits
};

/// The calling thread is not cancelled while this lives: it would take its locks along. Cost: some ns.
class NoCancellation {
public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation &) = delete;
  NoCancellation &operator=(const NoCancellation &) = delete;

private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

/// The calling thread handles no signals while this lives: a handler could meet its locks, or leave by a jump and take them
/// along. For functions that programs may call in handlers. Cost: two system calls, none in a sandbox.
class NoSignals {
public:
  NoSignals() : off_(!sandboxed()) {
    sigset_t all;
    sigfillset(&all);
    if (off_) pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() {
    if (off_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSignals(const NoSignals &) = delete;
  NoSignals &operator=(const NoSignals &) = delete;

private:
  const bool off_;
  sigset_t before_;
};

class Guard {
public:
  explicit Guard(Lock &lock) : lock_(lock) { lock_.acquire(); }
  ~Guard() { lock_.release(); }
  Guard(const Guard &) = delete;
  Guard &operator=(const Guard &) = delete;

private:
  NoCancellation whole_; ///< first to begin, last to end
  Lock &lock_;
};

/// The same where the lock may be the calling thread's already, or where another's is not worth a wait.
class TryGuard {
public:
  explicit TryGuard(Lock &lock) : lock_(lock), holds_(lock.try_acquire()) {}
  ~TryGuard() {
    if (holds_) lock_.release();
  }
  bool holds() const { return holds_; }
  TryGuard(const TryGuard &) = delete;
  TryGuard &operator=(const TryGuard &) = delete;

private:
  NoCancellation whole_; ///< first to begin, last to end
  Lock &lock_;
  const bool holds_;
};

} // namespace pagecast
