// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where pages become visible to the program, or are protected from its stores: userfaultfd. Also, who waits for which page.
//
//   place     copies a page's contents to its address, and wakes who waits for it
//   protect   the next store to a clean page is a fault, so that the pager knows every dirty one
//
// Pager's thread.
#pragma once
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/waits.h"

#include <cstdint>

namespace pagecast {

class Placement {
public:
  Placement(PagedMemory &memory, MemoryLimit &limit) : memory_(memory), limit_(limit) {}
  /// 0 or -errno.
  int open();
  /// In the child of a fork: the parent's is no use here, and nobody waits. 0 or -errno.
  int recover();
  int fd() const { return fd_; }

  /// Copies pages to where the program sees them, which wakes who waits. Returns how many of the first ones are there
  /// now. 0: the first one cannot be put there (its mapping went away under us); who waits is woken to find that out.
  uint32_t place(uint32_t slot, const char *from, uint32_t pages, bool writable);
  /// Pages that await a store become dirty ones, which can be stored to.
  void make_writable(uint32_t slot, uint32_t pages);
  void protect(uint32_t slot, uint32_t pages) { os::fault_protect(fd_, address(slot), memory_.bytes(pages), true); }
  void unprotect(uint32_t slot, uint32_t pages) {
    let_go_ns_ = os::now_ns();
    os::fault_protect(fd_, address(slot), memory_.bytes(pages), false);
  }
  /// Whoever touches the page gets SIGBUS, until heal().
  void poison(uint32_t slot) { os::fault_poison(fd_, address(slot), memory_.page); }
  void heal(uint32_t slot) { os::fault_heal(fd_, address(slot), memory_.page); }
  /// Who waits tries again.
  void wake(uint64_t address, uint64_t bytes) {
    let_go_ns_ = os::now_ns();
    os::fault_wake(fd_, address, bytes);
  }
  /// When the kernel was last asked to let a thread go on. It may have run for long when that call returns, in the place of this one.
  uint64_t let_go_ns() const { return let_go_ns_; }

  /// Faults of the range come here from now on. 0 or -errno.
  int watch(uint64_t address, uint64_t bytes) { return os::fault_watch(fd_, address, bytes); }
  void unwatch(uint64_t address, uint64_t bytes) { os::fault_unwatch(fd_, address, bytes); }
  /// In the child of a fork, which inherits neither registration nor protection. 0 or -errno.
  int watch_inherited(const PagedRegion &);
  /// The rest of that, on the pager's thread: to start it, the C library stores to its heap, which may be paged.
  void protect_inherited(const PagedRegion &);

  /// A thread of the program waits for a page.
  bool waited_for() const { return stalls_.any(); }
  /// A thread stalls on the page since then; it waits for a read, now that there is room; nobody stalls on the pages any more.
  void begin_wait(uint32_t slot, StallKind kind, uint64_t since) { stalls_.begin(slot, kind, since); }
  void wait_for_read(uint32_t slot) {
    if (stalls_.any()) stalls_.turn_into(slot, StallKind::kNotPrefetched, os::now_ns(), memory_.statistics.stall_ns);
  }
  void end_wait(uint32_t slot, uint32_t pages) {
    if (stalls_.any()) stalls_.end(slot, pages, let_go_ns_, memory_.statistics.stall_ns);
  }
  /// Waits that go on are counted up to `now`, once in a while.
  void count_waits(uint64_t now);
  /// What a thread that faults on the page waits for; `none` where no other waits for it already.
  StallKind waited_for(uint32_t slot, StallKind none) const { return stalls_.kind_of(slot, none); }

private:
  uint64_t address(uint32_t slot) const { return memory_.pages.address(slot); }

  PagedMemory &memory_;
  MemoryLimit &limit_;
  int fd_ = -1;
  uint64_t let_go_ns_ = 0;
  Stalls stalls_;
  uint64_t waits_counted_ns_ = 0; ///< when those that go on were counted
};

} // namespace pagecast
