// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the adviser's thread is to tell the kernel, how that thread sleeps while there is nothing, and what it has told and may not
// have come. Any thread pushes.
#pragma once
#include "core/types.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/state/hint_ring.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class AdviceQueue {
public:
  static constexpr uint32_t kMostPages = 1024; ///< of one entry

  /// 0, or -errno where no descriptors are left. Also in the child of a fork, for which what was on its way is not.
  int start() {
    queue_.start();
    sleeping_.store(0);
    event_ = os::event_open();
    return event_ < 0 ? event_ : 0;
  }
  int event() const { return event_; }

  bool has_room(uint64_t entries) const { return queue_.size() + entries <= kMost; }
  void push(const Hint &hint) { queue_.push(hint); }
  /// Dropped where there is much to do: reclaim finds the pages all the same.
  void offer(core::Extent e, Hint::Kind kind, uint16_t site) {
    if (has_room(kKeptFree)) push({e.begin, static_cast<uint32_t>(e.size() >> os::page_shift()), kind, 0, site, 0, 0});
  }
  void wake() {
    if (sleeping_.load(std::memory_order_seq_cst) && sleeping_.exchange(0, std::memory_order_seq_cst)) os::event_post(event_);
  }

  // --- adviser's thread ---
  const Hint *front() const { return queue_.front(); }
  void pop() { queue_.pop(); }
  /// Until something is pushed, or `timeout_ns` have passed (0: no limit).
  void sleep(uint64_t timeout_ns) {
    sleeping_.store(1, std::memory_order_seq_cst);
    if (!queue_.front()) os::wait_readable(event_, timeout_ns);
    sleeping_.store(0, std::memory_order_seq_cst);
    os::event_clear(event_);
  }

private:
  static constexpr uint32_t kMost = 2048;
  static constexpr uint32_t kKeptFree = 64; ///< entries, for what is asked for
  HintRing<kMost> queue_;
  std::atomic<uint32_t> sleeping_{0};
  int event_ = -1;
};

// Pages that the kernel was asked to read and that may not have come yet, oldest first. The kernel can give up none of
// them before they are there: where a disk is slow and memory is small, they would fill it, and who asks for a page
// then finds nothing to reclaim. One thread.

class UnderWay {
public:
  uint64_t bytes() const { return bytes_; }
  bool any() const { return count_ != 0; }
  core::Extent oldest() const { return asked_[first_]; }
  /// The one that was asked for `n` after the oldest, or the newest. There must be one.
  core::Extent later(unsigned n) const { return asked_[(first_ + (n < count_ ? n : count_ - 1)) % kMost]; }
  void drop_oldest() {
    bytes_ -= asked_[first_].size();
    first_ = (first_ + 1) % kMost;
    --count_;
  }
  /// What was asked for so long ago that it is not kept in mind has come.
  void add(core::Extent e) {
    if (count_ == kMost) drop_oldest();
    asked_[(first_ + count_++) % kMost] = e;
    bytes_ += e.size();
  }

private:
  static constexpr unsigned kMost = 256;
  core::Extent asked_[kMost];
  unsigned first_ = 0, count_ = 0;
  uint64_t bytes_ = 0;
};

} // namespace pagecast
