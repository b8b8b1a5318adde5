// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a nest: what the program passes, and what the nest's tables make of it.
#pragma once
#include "pagecast/abi.h"

namespace pagecast {

inline constexpr unsigned kMostArguments =
    PAGECAST_MAX_LOOPS + PAGECAST_MAX_GROUPS * (1 + PAGECAST_MAX_LOOPS) + PAGECAST_MAX_LIVE;

/// Computes all arguments into `full` (kMostArguments words) from the dynamic words. Returns false, having
/// written nothing beyond them, for a table whose numbers are out of range.
/// Cost: about 2 ns an operation of the prologue and 1 ns an argument.
bool expand_args(const pagecast_nest &, const uint64_t *dynamic, uint64_t *full);

/// The trip count of the ticked loop alone, for which little of the prologue is needed. Returns false as above.
bool ticked_trips(const pagecast_nest &, const uint64_t *dynamic, uint64_t *trips);

} // namespace pagecast
