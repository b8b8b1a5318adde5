// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults while the pager holds still for a fork. The C library takes the locks of its heaps after all handlers of the fork: a thread
// that faults in malloc has such a lock, and the one that forks would wait for it for ever.
//
//   serve    puts a page where it is wanted, and notes its slot before that; nothing else that the pager knows changes, since the
//            process may be copied at any moment
//   settle   afterwards, in both processes: what is known follows what the kernel says of the pages that are noted
//
// A thread in malloc may go through all of a heap with its lock: there is room for many notes. While the kernel copies the process, it
// lets no page be put anywhere, so that whatever the child finds in its place has been noted before. Pager's thread; settle() in the
// child is its only one.
#pragma once
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/placement.h"
#include "runtime/memory/shelf.h"
#include "runtime/pager/marks.h"
#include "runtime/store/backing_store.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class StillService {
public:
  StillService(PagedMemory &memory, MemoryLimit &limit, BackingStore &store, Placement &placement, Marks &marks, Shelf &shelf)
      : memory_(memory), limit_(limit), store_(store), placement_(placement), marks_(marks), shelf_(shelf) {}
  /// False: there is no memory.
  bool start();
  /// Serves the faults that have come. Returns whether there were any.
  bool serve();
  void settle();

private:
  struct Notes {
    static constexpr uint32_t kMost = (1u << 16) - 1;
    std::atomic<uint32_t> count;
    uint32_t slot[kMost];
  };
  void serve(const os::Fault &);
  const char *contents(uint32_t slot, const PagedRegion &);
  void settle(uint32_t slot);

  PagedMemory &memory_;
  MemoryLimit &limit_;
  BackingStore &store_;
  Placement &placement_;
  Marks &marks_;
  Shelf &shelf_;
  Notes *notes_ = nullptr;
  const char *zeros_ = nullptr;
};

} // namespace pagecast
