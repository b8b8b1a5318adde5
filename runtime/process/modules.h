// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The modules that are loaded: those that were compiled with hints, whose gates let nests through when data are paged, and the one that
// has the program's heap.
#pragma once
#include <cstdint>

namespace pagecast {

/// At start-up: which objects are loaded now, and so will never be unloaded.
void modules_note_permanent();
/// Nests that can touch at least `bytes` give hints from now on; ~0: none does. Any thread, no lock.
void modules_set_gates(uint64_t bytes);

/// The file of the module whose malloc the program calls: a sanitizer's, or an allocator that is linked or loaded before this library.
/// NULL: it is this library's, or that cannot be told. Cost: some us.
const char *modules_other_allocator();

} // namespace pagecast
