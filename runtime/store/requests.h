// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests to the backing store under way: reads into staging.h, and writes of pages from where they are. Pager's thread
// only.
#pragma once
#include <cstdint>

namespace pagecast {

struct Request {
  uint64_t started_ns;
  uint32_t slot, pages;
  uint32_t staging; ///< reads and copies: where in the staging memory; from the shelf: the first copy
  uint16_t site;
  uint8_t nest;
  bool write; ///< to the backing store
  bool busy;
  bool copied = false; ///< written from a copy in staging
  bool idle = false;   ///< written while the program rests (core/memory/cleaning.h)
  bool shelved = false; ///< written from the shelf (memory/shelf.h)
  bool done = false;   ///< it waits for memory
  uint8_t store = 0;   ///< number
};

class Requests {
public:
  static constexpr unsigned kMost = 512;
  /// So many at once, but for those that faults need. The kernel has 256 requests for each of most disks: who asks for
  /// more sleeps until one is done, which on a disk that stalls takes long, and the pager's thread has other things to do.
  static constexpr unsigned kMostUnderWay = 224;

  void start() {
    for (free_ = 0; free_ < kMost; ++free_) free_list_[free_] = static_cast<uint16_t>(kMost - 1 - free_);
  }
  unsigned free() const { return free_; }
  unsigned under_way() const { return kMost - free_; }
  bool any() const { return under_way() != 0; }
  /// To be filled in, `busy` with it. There must be a free one.
  Request &take() { return request_[free_list_[--free_]]; }
  void give(Request &q) {
    q.busy = false;
    free_list_[free_++] = static_cast<uint16_t>(tag(q));
  }
  /// What the disk knows it by.
  uint64_t tag(const Request &q) const { return static_cast<uint64_t>(&q - request_); }
  Request &operator[](uint64_t tag) { return request_[tag]; }

  /// Reads that are done and wait for memory, the oldest first.
  void postpone(Request &q) {
    q.done = true;
    done_[(first_done_ + done_count_++) % kMost] = static_cast<uint16_t>(tag(q));
  }
  Request *postponed() { return done_count_ ? &request_[done_[first_done_]] : nullptr; }
  void drop_postponed() {
    first_done_ = (first_done_ + 1) % kMost;
    --done_count_;
  }

  /// When the oldest one of the store that is not done was started; 0: there is none. Cost: under 1 us.
  uint64_t oldest_ns(unsigned store) const {
    uint64_t oldest = 0;
    for (const Request &q : request_)
      if (q.busy && !q.done && q.store == store && (!oldest || q.started_ns < oldest)) oldest = q.started_ns;
    return oldest;
  }

  // All there are, busy or not.
  const Request *begin() const { return request_; }
  const Request *end() const { return request_ + kMost; }
  /// Each is busy or free, and none is both.
  bool is_valid() const {
    unsigned busy = 0;
    for (const Request &q : request_) busy += q.busy;
    for (unsigned i = 0; i < free_; ++i)
      if (request_[free_list_[i]].busy) return false;
    return busy + free_ == kMost;
  }

private:
  Request request_[kMost];
  uint16_t free_list_[kMost];
  unsigned free_ = 0;
  uint16_t done_[kMost]; ///< a ring
  unsigned first_done_ = 0, done_count_ = 0;
};

} // namespace pagecast
