// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime does around fork(). A child has its parent's data as they were, and a pager of its own.
#pragma once
#include <cstdint>

namespace pagecast {

/// Registers the handlers; once, as early as possible: then the pager holds still only after all handlers of the
/// program before the fork, and is there again before all of those in the child. Any thread.
void watch_forks();

using ForkHandler = void();
/// The C library's __register_atfork, past our own. 0 or an error number.
int register_with_library(ForkHandler *prepare, ForkHandler *parent, ForkHandler *child, void *object);

// --- what the child needs at once -------------------------------------------------------------
//
// What the C library touches in a child of fork before the child has a pager: its open streams, whose locks it makes anew, and
// what it keeps of threads and of modules that have thread-local variables. Where the program's heap is another allocator's
// (jemalloc's, say), that may be paged.

struct ForkNeeds {
  static constexpr unsigned kMost = 1024;
  bool known = true; ///< these are all, and the child's threads will ask the heap for nothing
  unsigned count = 0;
  uint64_t address[kMost];
};

/// The heap is another allocator's: its memory counts from now on. Before main().
void fork_needs_of_foreign_heap();

/// What it is now. The thread that forks, one at a time, without a lock of ours. Cost: a load where the heap is ours; else some
/// microseconds.
const ForkNeeds &fork_needs();

} // namespace pagecast
