// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads that are done. Until then their pages take none of the memory that the program may have: others that can go at once make
// room for them now. Where only dirty ones are left, or the limit has fallen below what is in use, they wait in the staging
// memory until others' pages have gone. Dirty pages may themselves wait, for room on the disk. Where nothing can go at all, pages
// that nobody waits for are forgotten: the backing store has them.
//
// Pager's thread.
#pragma once
#include "runtime/memory/eviction.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/placement.h"
#include "runtime/pager/marks.h"
#include "runtime/store/backing_store.h"

#include <cstdint>

namespace pagecast {

class Arrivals {
public:
  Arrivals(PagedMemory &memory, MemoryLimit &limit, BackingStore &store, Placement &placement, Eviction &eviction, Marks &marks)
      : memory_(memory), limit_(limit), store_(store), placement_(placement), eviction_(eviction), marks_(marks) {}
  /// A read is done.
  void arrive(Request &);
  /// The backing store cannot give the pages back. Those that only a hint wanted are absent as before. A thread that
  /// waits for one of several is woken and asks again, for that page alone: its neighbours may be the unreadable ones.
  /// A page that was asked for alone is lost: who touches it gets what a mapped file would give.
  void fail(Request &, int result);
  /// Those that could not be installed are, while there is room; and all, if none is going to be made. Once in each turn of
  /// the loop, when Eviction::give_back() has begun to make some. True: some were.
  bool arrive_late();

private:
  bool has_room(const Request &);
  bool is_waited_for(const Request &) const;
  void forget(Request &, PageState = PageState::kAbsent);
  void install(Request &);
  uint32_t install_run(uint32_t slot, const char *from, uint32_t pages);
  void free_request(Request &);

  PagedMemory &memory_;
  MemoryLimit &limit_;
  BackingStore &store_;
  Placement &placement_;
  Eviction &eviction_;
  Marks &marks_;
};

} // namespace pagecast
