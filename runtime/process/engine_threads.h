// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads that the engine has in the program, under their names, and when they start:
//
//   with the engine     pager, watch (of where that runs), slicer (with slices), report (with statistics), reads (where the machine has swap)
//   when needed         advise and large: files and memory in a file need them
//
// All with the allocations' lock held, or in the child of a fork before it has other threads.
#pragma once
#include "runtime/process/runtime.h"

#include <cstdint>

namespace pagecast {

/// While the calling thread starts others, under the allocations' lock: what the C library asks for on their behalf must not come back
/// here then.
class StartsThreads {
public:
  StartsThreads() { starts_ = true; }
  ~StartsThreads() {
    starts_ = false;
    small_blocks_watch.left.store(left_, std::memory_order_relaxed);
  }
  StartsThreads(const StartsThreads &) = delete;
  static bool here() { return starts_; }

private:
  static thread_local bool starts_ __attribute__((tls_model("initial-exec")));
  const int64_t left_ = small_blocks_watch.left.exchange(SmallBlocksWatch::kNot, std::memory_order_relaxed);
};

/// Those that it always has, which take up their work. 0 or -errno, of the pager's alone: it can do without the others.
int start_engine_threads(Engine &, const Options &, bool has_swap, uint64_t started_ns);
/// The others of that engine, the first time; each takes 35 KiB of the limit. 0 or -errno, of the first alone: it can do without the rest.
int start_file_threads();
/// In the child of a fork, which has none of its parent's. Whether that had these.
bool forget_file_threads();

} // namespace pagecast
