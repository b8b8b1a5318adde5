// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the C library touches in a child of fork before the child has a pager: its open streams, whose locks it makes anew, and
// what it keeps of threads and of modules that have thread-local variables. Where the program's heap is another allocator's
// (jemalloc's, say), that may be paged.
#pragma once
#include <cstdint>

namespace pagecast {

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
