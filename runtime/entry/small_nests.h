// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small nests: those that touch less than PAGECAST_GATE. By the time a cursor were ahead of the program, they would be over. But
// at their entry all of their rows are known, which may lie in many places: what is absent of these is asked for together, so
// that the program waits for the disk once, and not for each of them. So are the rows that the next small nest is going to touch
// at a constant distance (core/nest/companions.h).
//
//   asks     each row is looked up, 0.2 us in all, and where two of them lack pages these are asked for
//   rests    entries are passed over, but for probes (core/nest/entry_backoff.h), since nearly always no row lacked any, or one,
//            which a fault brings as soon, and a stream of faults sooner
//
// Such a nest is not opened: it has no ticket, no cursor, and nothing is released behind it. Files are left to the kernel.
#pragma once
#include "runtime/engine/engine.h"

namespace pagecast {

/// From so many bytes on nests are small ones; below, a call costs too much beside what they do.
inline constexpr uint64_t kLeastSmallNest = 2048;
/// Bytes that a place is taken for that only a slice knows, as in the compiler's gates.
inline constexpr uint64_t kPlaceBytes = 64;

/// Whether the nest touches less than the gate. `args`: of expand_args().
bool is_small(const Engine &, const pagecast_nest &, const uint64_t *args);

/// Asks for what is absent of the rows of the nest, and of those that come with them. Returns whether a fault would have brought
/// less: whether it was worth the entry. Any thread of the program.
bool ask_for_rows(Engine &, const pagecast_nest &, const uint64_t *args);

} // namespace pagecast
