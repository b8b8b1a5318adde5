// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large blocks that were freed while nothing is paged. Programs that allocate and free work arrays would otherwise pay for
// new pages every time, which they do not with the C library's allocator. What is kept here is memory all the same: it
// counts with the program's data when it is decided whether paging must begin, and goes before that.
//
// Any thread.
#pragma once
#include <cstdint>

namespace pagecast {

/// A block of so many bytes that was freed, with what it held. NULL if there is none that fits.
void *freed_take(uint64_t bytes);

/// Keeps the block's memory, or gives it back to the system. It must be in no allocation any more.
void freed_keep_or_unmap(void *base, uint64_t bytes);

/// Bytes that are kept. Cost: one load.
uint64_t freed_bytes();

/// Gives back all that is kept.
void freed_drop();

} // namespace pagecast
