// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A futex lock: no allocation, no dependence on the threading library's state. For short critical sections.
#pragma once
#include "runtime/os.h"

#include <atomic>

namespace pagecast {

class Lock {
public:
  void acquire() {
    uint32_t expected = 0;
    if (word_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return;
    while (word_.exchange(2, std::memory_order_acquire) != 0)
      os::futex_wait(reinterpret_cast<const uint32_t *>(&word_), 2);
  }
  void release() {
    if (word_.exchange(0, std::memory_order_release) == 2) os::futex_wake(reinterpret_cast<const uint32_t *>(&word_));
  }

private:
  std::atomic<uint32_t> word_{0}; ///< 0 free, 1 held, 2 held and somebody waits
};

class Guard {
public:
  explicit Guard(Lock &lock) : lock_(lock) { lock_.acquire(); }
  ~Guard() { lock_.release(); }
  Guard(const Guard &) = delete;
  Guard &operator=(const Guard &) = delete;

private:
  Lock &lock_;
};

} // namespace pagecast
