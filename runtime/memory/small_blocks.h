// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Growth of what cannot be paged, between two looks at what memory there is: the C library's small blocks. A thread says how
// much it is about to have before it stores to it. When that would use up what is kept free, the thread waits until the pager has
// looked, and has given pages back if there was less left.
#pragma once
#include "runtime/kernel/os.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace pagecast {

class SmallBlocks {
public:
  /// Bytes: threads tell when they have asked for so much. What a thread asked for last may not have been stored to.
  static constexpr uint64_t kLot = 64u << 10;

  // --- any thread ---
  /// A thread will have so many bytes more. True: it is time for a look, so the pager should be woken.
  bool note(uint64_t bytes) {
    return grown_.fetch_add(bytes, std::memory_order_seq_cst) + bytes > wake_.load(std::memory_order_relaxed);
  }
  /// A thread has given so many bytes back, to be taken again: from what has grown, but not more than that.
  void note_freed(uint64_t bytes) {
    uint64_t grown = grown_.load(std::memory_order_seq_cst);
    while (!grown_.compare_exchange_weak(grown, grown - std::min(grown, bytes), std::memory_order_seq_cst)) {}
  }
  /// Returns when there is room for what was noted, or when the pager has nothing to give back for it; or after kMostWaitNs: it
  /// may be busy. Seldom waits at all.
  template <typename Wake> void wait_for_room(Wake wake) {
    if (grown_.load(std::memory_order_seq_cst) <= room_.load(std::memory_order_relaxed)) return;
    const uint64_t end = os::now_ns() + kMostWaitNs;
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
      const uint32_t looks = looks_.load(std::memory_order_acquire);
      wake();
      os::futex_wait(reinterpret_cast<const uint32_t *>(&looks_), looks, kRetryNs);
      const bool looked = looks_.load(std::memory_order_acquire) != looks;
      if (looked && !gives_back_.load(std::memory_order_relaxed)) break;
      if (grown_.load(std::memory_order_relaxed) <= room_.load(std::memory_order_relaxed) || os::now_ns() >= end) break;
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Whether it is time for a look. Cost: two loads.
  bool posted() const { return grown_.load(std::memory_order_seq_cst) > wake_.load(std::memory_order_relaxed); }

  // --- the pager's thread ---
  /// Somebody waits for room: looks are made this far apart then.
  bool waited_for() const { return waiting_.load(std::memory_order_relaxed) != 0; }
  static constexpr uint64_t kRetryNs = 300000;
  /// Before a look: what it will see of the growth, but for what may not have been stored to yet.
  uint64_t begin_look() const {
    const uint64_t grown = grown_.load(std::memory_order_seq_cst);
    return grown - std::min(grown, kLot);
  }
  /// After it: `seen` is what begin_look() said. `room`: bytes that may grow until the next one; `gives_back`: more is being
  /// made.
  void looked(uint64_t seen, uint64_t room, bool gives_back) {
    note_freed(seen); // some of it may have been given back meanwhile
    room_.store(room, std::memory_order_relaxed);
    wake_.store(std::max(room / kWakePart, 2 * kLot), std::memory_order_relaxed);
    gives_back_.store(gives_back, std::memory_order_relaxed);
    looks_.fetch_add(1, std::memory_order_release);
    if (waited_for()) os::futex_wake(reinterpret_cast<const uint32_t *>(&looks_));
  }
  /// In the child of a fork: nobody waits.
  void forked() {
    grown_.store(0, std::memory_order_relaxed);
    waiting_.store(0, std::memory_order_relaxed);
  }

private:
  static constexpr uint64_t kMostWaitNs = 100000000, kWakePart = 4;
  std::atomic<uint64_t> grown_{0}; ///< bytes since the last look
  std::atomic<uint64_t> wake_{~uint64_t{0}}, room_{~uint64_t{0}};
  std::atomic<uint32_t> looks_{0}, waiting_{0};
  std::atomic<bool> gives_back_{false};
};

} // namespace pagecast
