// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which thread's pages are kept, where several threads want more pages together than memory holds.
//
// Memory has no trace of how often a page is used. So pages go in the order in which they came, and threads that go round and
// round over data of their own all lose theirs just before they come to them again, though the data of one would fit. So one
// thread is favoured: its pages stay until it has what it needs, and it goes on without waiting. Then it is another's turn.
//
//   four threads, each round and round over a quarter of memory and a little:
//     alike        each visit waits for a page
//     one by one   each thread waits for its own pages once, and goes round as fast as the processor
//
//   rests    nobody is favoured, until pages come back soon after they went, and at least two threads wait for them
//   favours  the thread that got the furthest with each wait. It keeps the favour while it gets further than the others do, and
//            for as many pages as may be its own before that shows; then another's turn comes
//   rests again   where that brought two threads no further; twice as long each time
//
// A page belongs to the thread that waited for it, or whose nest or stream had it fetched. What each has got done is its
// processor time. The idea is that of the token against thrashing (Jiang and Zhang, "TPF: a dynamic system thrashing protection
// facility", 2002), for threads instead of processes.
//
// Cost: owner_of() O(kMost); look() O(kMost), once for each part in kLooks of memory that goes. Not thread-safe.
#pragma once
#include <cstdint>

namespace pagecast::core {

class Favour {
public:
  using Owner = uint8_t;
  static constexpr Owner kNobody = 0;
  static constexpr unsigned kMost = 7; ///< threads that are told apart: owners 1 to kMost
  static constexpr uint32_t kLooks = 16; ///< while as many pages go as memory holds
  static constexpr uint32_t kMostLooks = 32 * kLooks; ///< for one thread; others want to get on, too
  static constexpr uint32_t kFirstRest = 4 * kLooks, kMostRest = 4096 * kLooks; ///< looks
  static constexpr uint32_t kFailures = 2; ///< threads in turn that were favoured for nothing, before a rest
  static constexpr uint64_t kUnseen = 4096; ///< times that others were seen meanwhile
  static constexpr uint32_t kFewWaits = 4; ///< in a look: who has fewer does not thrash
  static constexpr uint64_t kFurther = 2; ///< times as much processor time for each wait

  /// The owner that stands for a thread's number; kNobody for 0. Where there are too many, it takes the place of one that has not
  /// been seen for long, if there is one.
  Owner owner_of(uint64_t thread);
  /// The thread's number, or 0 where there is none.
  uint64_t thread(Owner owner) const { return thread_[owner - 1].number; }
  /// The thread waits for a page; `soon`: one that went when it would still be there in a memory twice as large.
  void waited(Owner owner, bool soon) {
    if (owner == kNobody) return;
    ++thread_[owner - 1].waits;
    ++waits_;
    soon_ += soon;
  }
  /// A page has come to memory for the thread.
  void came(Owner owner) { brought_ += is_favoured(owner); }
  /// Pages had to go that nobody had released, of a memory of so many. True: it is time for a look.
  bool went(uint32_t pages, uint32_t memory) {
    gone_ += pages;
    return uint64_t{gone_} * kLooks >= memory;
  }
  /// `cpu_ns`: processor time of each owner's thread, from owner 1 on; 0: it is not known, or the thread is no more.
  void look(const uint64_t *cpu_ns, uint32_t memory);
  /// Its pages stay.
  bool is_favoured(Owner owner) const { return owner != kNobody && owner == favoured_; }
  bool any() const { return favoured_ != kNobody; }
  /// Threads that were favoured, and those of them that got further by it.
  uint64_t turns() const { return turns_; }
  uint64_t paid() const { return paid_; }
  /// In the child of a fork there are other threads.
  void forked() { *this = {}; }

private:
  struct Thread {
    uint64_t number = 0, seen = 0;
    uint64_t cpu_ns = 0; ///< at the last look
    uint64_t done_ns = 0; ///< of processor time between the last two
    uint32_t waits = 0; ///< since the last look
  };
  bool thrashes() const;
  bool gets_further() const;
  void mind_favoured(uint32_t memory);
  void pass_on();
  void rest();

  Thread thread_[kMost];
  uint64_t clock_ = 0;
  uint32_t gone_ = 0, waits_ = 0, soon_ = 0; ///< since the last look
  Owner favoured_ = kNobody;
  uint32_t looks_ = 0; ///< since the thread was favoured
  uint32_t brought_ = 0; ///< pages that came for it since then, or since it got further
  bool got_further_ = false;
  uint32_t failures_ = 0; ///< threads in turn
  uint32_t rest_ = 0, next_rest_ = kFirstRest;
  uint64_t turns_ = 0, paid_ = 0;
};

} // namespace pagecast::core
