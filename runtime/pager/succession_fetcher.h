// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fetching ahead of a program that walks its data in the same order again, wherever its pages lie: core/faults/successions.h says
// which come next. It sees the waits that are in no stream of faults (stream_fetcher.h), and none that a nest foresees.
//
// Where what was fetched goes unused, nothing is for a while, and then not before waits come in the order that was noted
// (core/faults/stream_investment.h).
//
// Pager's thread.
#pragma once
#include "core/faults/successions.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/pager/fetcher.h"
#include "runtime/pager/marks.h"

#include <cstdint>

namespace pagecast {

class SuccessionFetcher {
public:
  SuccessionFetcher(PagedMemory &memory, const MemoryLimit &limit, Marks &marks, Fetcher &fetcher)
      : memory_(memory), limit_(limit), marks_(marks), fetcher_(fetcher) {}
  /// Reserves address space. False: there is not enough.
  bool start();
  /// The thread's mark is that page.
  bool expects(uint32_t slot, core::Favour::Owner owner) const { return thread_[owner].way.mark == slot; }
  /// The program waits for a page that is not there, or has come to a mark; it is being served. Pages of zeros, too: what is stored
  /// to in some order is often read in it.
  void follow(uint32_t slot, bool write, core::Favour::Owner);
  /// Asks for what is next. Once in each turn of the loop. True: something could be asked for.
  bool push_on();
  /// The pages of these slots are gone.
  void forget(uint32_t first, uint32_t end);

private:
  /// A thread's way, and the pages that were asked for and are not known to have been used, in order.
  struct Thread {
    core::Successions::Way way;
    uint32_t asked[2 * core::Successions::kMostWindow];
    uint32_t count = 0;
    uint64_t blocked = 0; ///< what it waits for
    bool stores = false;
  };
  bool push_on(Thread &, core::Favour::Owner);
  void used(Thread &, uint32_t mark);
  void give_up(Thread &);

  PagedMemory &memory_;
  const MemoryLimit &limit_;
  Marks &marks_;
  Fetcher &fetcher_;
  Thread thread_[core::Favour::kMost + 1];
};

} // namespace pagecast
