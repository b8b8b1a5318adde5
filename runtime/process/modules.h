// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The modules: what was compiled with hints and is loaded. Their gates let nests through when data are paged.
#pragma once
#include <cstdint>

namespace pagecast {

/// At start-up: which objects are loaded now, and so will never be unloaded.
void modules_note_permanent();
/// Nests that can touch at least `bytes` give hints from now on; ~0: none does. Any thread, no lock.
void modules_set_gates(uint64_t bytes);

} // namespace pagecast
