// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heaps of small blocks that the C library makes for further threads (arenas): it maps each apart, 64 MiB of addresses of which
// more and more may be used. What they grow by is large data, as of the heap at the break (library_heap.h), once all of them
// together are more than a small part of the budget.
//
// Where memory lives in a file (files/memory_file.h) they stay as they are: other threads store to them while they would move.
//
// A block in each is kept for good: else the C library would unmap a heap that nobody uses, without a word.
#pragma once
#include <cstdint>

namespace pagecast {

/// Notes what the heap of a block has grown by, if it is one of these; `bytes`: of blocks that were asked for since the last call.
/// For each lot of small blocks: any thread, without locks of the C library. False: another thread is at it, or starts the paging.
bool arena_heap_grown(const void *block, uint64_t bytes);
/// Whether the block is in what is noted of such a heap. Cost: 2 ns.
bool arena_heap_has(const void *block);

} // namespace pagecast
