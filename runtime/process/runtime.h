// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime as a whole: start, the decision to page, modules, exit.
#pragma once
#include "pagecast/abi.h"
#include "runtime/state/options.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class Engine;

/// What each malloc and free asks, so that they do it with a load and no call. Written by runtime.cpp alone.
struct SmallBlocksWatch {
  static constexpr int64_t kNot = INT64_MAX;
  std::atomic<int64_t> left{kNot}; ///< bytes of small blocks until it is time to look whether paging must begin; kNot: unwatched
  std::atomic<uint64_t> below{0}; ///< bytes: requests for less are the C library's to serve; 0: the options have not been read
  std::atomic<bool> is_paged{false}; ///< large data of memory have once exceeded the budget, and are paged
};
extern SmallBlocksWatch small_blocks_watch;

/// Reads the options once. Any thread, any time, also before constructors have run.
const Options &runtime_options();

/// When large data are to be paged: when they exceed the budget; now, as the program asks for it; or now, as there may be no memory
/// for the copies of what a fork shares.
enum class Begin { kExceeding, kAsked, kForking };
/// The pager, if large data of `data_bytes` must be paged: starts it the first time. The disk should have room for `filled_bytes`. NULL:
/// they fit, or cannot be paged here (said once). Called with the allocations' lock held.
Engine *runtime_engine(uint64_t data_bytes, uint64_t filled_bytes, Begin);
/// Whether large data of `data_bytes` are to be paged before a fork: paging can make room for copies of what is shared then, and what
/// is left in a control group would not hold all of them. Cost: 50 us.
bool runtime_must_page_to_fork(uint64_t data_bytes);
/// Bytes. Valid once the options have been read.
uint64_t runtime_budget();
/// Bytes of small blocks that a program may have before they are kept where they can be paged: 1/64 of the budget, or of a large one, in
/// which that is much, up to 1/16.
uint64_t runtime_unpaged_bytes();
/// The calling thread is starting the paging just now: what it allocates is for that.
bool runtime_starts_here();
/// The user's limit of the budget from now on, bytes; returns the one before. Called with the allocations' lock held.
uint64_t runtime_set_memory(uint64_t bytes);
/// Whether so much large data can be held without paging, and the pager's own memory still be had when more comes.
bool runtime_fits(uint64_t data_bytes);
/// Whether the program's small blocks count for the beginning of paging. Any thread; cost: one load.
inline bool runtime_watches_small_blocks() {
  return small_blocks_watch.left.load(std::memory_order_relaxed) != SmallBlocksWatch::kNot;
}
/// Notes that so many bytes of small blocks were asked for. True: so many that it is time to look whether paging must begin
/// (allocations_page()). Once memory is paged, the pager learns of them instead, and the thread may have to wait until it has
/// made room. Any thread; cost: an atomic subtraction.
bool runtime_small_blocks(uint64_t bytes);
/// Notes that so many bytes of them were given back. Any thread.
void runtime_small_blocks_freed(uint64_t bytes);

/// Writes the statistics so far to a file of the program's. 0 or -errno. Any thread.
int runtime_write_statistics(int fd);

/// Opens the file for the statistics now, since it may be forbidden at exit.
void runtime_open_statistics();

/// Nothing will be paged from now on, if nothing is yet.
void runtime_never(const char *why);

/// The pager, if hints for mapped files of `file_bytes` are wanted: when these and the other large data exceed the budget
/// together. It may be one that pages no memory. Called with the allocations' lock held.
Engine *runtime_file_engine(uint64_t data_bytes, uint64_t file_bytes);

/// Whether large data of memory are paged. Cost: one load.
inline bool runtime_pages_memory() { return small_blocks_watch.is_paged.load(std::memory_order_relaxed); }

/// Notes a mapped file that is left to the kernel.
void runtime_left_alone();

/// The pager if it runs in this process, else NULL. Cost: one load.
Engine *runtime_running_engine();

// Around fork(), with all of locks.h held.
/// Whether a child could have a pager now: privileges may have been dropped.
bool runtime_can_follow();
/// In the child. `shared`: it has the regions.
void runtime_forked(bool shared);

} // namespace pagecast
