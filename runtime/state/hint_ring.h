// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bounded queue from any thread to the pager's (after D. Vyukov's bounded queue: a sequence number per
// cell tells whose turn it is). A full queue refuses: hints are dropped, never waited for.
#pragma once
#include "core/types.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

struct Hint {
  enum Kind : uint8_t { kFetch, kFetchWrite, kRelease, kPassed, kLarge }; ///< the last two within the advise back end alone
  uint64_t address; ///< page-aligned
  uint32_t pages;
  Kind kind;
  uint8_t priority;
  uint16_t site; ///< 0 = by hand
  uint32_t wanted_by;  ///< slices: the step that wants it
  uint8_t nest;  ///< slices: the nest's number in nest_table

  core::Extent extent(unsigned page_shift) const { return {address, address + (uint64_t{pages} << page_shift)}; }
};

template <unsigned kMost> class HintRing {
  static_assert((kMost & (kMost - 1)) == 0);

public:
  /// For so many hints, a power of two: those that come go through all of its cells, whose memory is in use from then on.
  void start(uint32_t size = kMost) {
    unused_ = kMost - size;
    tail_.store(0, std::memory_order_relaxed);
    head_.store(0, std::memory_order_relaxed);
    for (Cell &cell : cells_)
      if (cell.rounds.load(std::memory_order_relaxed)) cell.rounds.store(0, std::memory_order_relaxed);
  }

  bool push(const Hint &hint) {
    uint64_t at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell &cell = cells_[place(at)];
      const int64_t difference = static_cast<int64_t>(turn(at) - at);
      if (difference < 0) return false;
      if (difference > 0) {
        at = tail_.load(std::memory_order_relaxed);
      } else if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        cell.hint = hint;
        set_turn(at, at + 1);
        return true;
      }
    }
  }

  /// The oldest hint, which stays in the queue; NULL when empty. Pager's thread.
  const Hint *front() const {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    return turn(head) == head + 1 ? &cells_[place(head)].hint : nullptr;
  }

  /// The first `pages` of the oldest hint have been seen to, but not all of it. Pager's thread.
  void shorten(uint32_t pages, unsigned page_shift) {
    Hint &hint = cells_[place(head_.load(std::memory_order_relaxed))].hint;
    hint.address += static_cast<uint64_t>(pages) << page_shift;
    hint.pages -= pages;
  }

  void pop() {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    set_turn(head, head + kMost - unused_);
    head_.store(head + 1, std::memory_order_release);
  }

  /// Hints in it, at most: some may have been taken meanwhile. A thread that alone pushes finds room for the rest.
  uint64_t size() const {
    const uint64_t head = head_.load(std::memory_order_acquire);
    return tail_.load(std::memory_order_relaxed) - head;
  }

private:
  /// The number at which the cell will be filled; that number and 1 when it has been. Of a new ring, the cell's own number, so
  /// that what is kept is all zero, and takes no memory before it is used.
  struct Cell {
    std::atomic<uint64_t> rounds;
    Hint hint;
  };
  uint64_t place(uint64_t at) const { return at & (kMost - 1 - unused_); }
  uint64_t turn(uint64_t at) const { return cells_[place(at)].rounds.load(std::memory_order_acquire) + place(at); }
  void set_turn(uint64_t at, uint64_t turn) { cells_[place(at)].rounds.store(turn - place(at), std::memory_order_release); }
  uint64_t unused_ = 0; ///< cells; these are counted, so that a ring that is not used yet is all zeros
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) std::atomic<uint64_t> head_{0}; ///< changed by the pager's thread alone
  alignas(64) Cell cells_[kMost];
};

} // namespace pagecast
