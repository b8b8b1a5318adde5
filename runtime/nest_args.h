// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a nest: constants of its table and the words that the program passes.
#pragma once
#include "pagecast/abi.h"

namespace pagecast {

inline constexpr unsigned kMostArguments =
    PAGECAST_MAX_LOOPS + PAGECAST_MAX_GROUPS * (1 + PAGECAST_MAX_LOOPS) + PAGECAST_MAX_LIVE;

inline uint64_t argument(const pagecast_word &w, const uint64_t *dynamic) {
  return w.scale ? w.constant + static_cast<uint64_t>(int64_t{w.scale}) * dynamic[w.from] : w.constant;
}

/// Computes all arguments into `full` (kMostArguments words). Returns false, having written nothing
/// beyond them, for a table whose numbers are out of range.
bool expand_args(const pagecast_nest &, const uint64_t *dynamic, uint64_t *full);

} // namespace pagecast
