// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ranges of a slice will touch, from a few of its iterations: the length of a step, and whether the
// nest is one for slices at all, depend on it.
#pragma once
#include "core/types.h"
#include "pagecast/abi.h"

#include <cstdint>

namespace pagecast {

class Engine;

struct SliceSurvey {
  uint64_t iteration_bytes = 0; ///< touched by one iteration of the innermost chain loop, about; 0 = unknown
  uint64_t total_bytes = 0;     ///< of the hulls
  core::Extent hull[PAGECAST_MAX_GROUPS]; ///< where each group's ranges lie, first iteration to last; empty: unknown
};

/// Runs the first stage for the first, a middle and the last iteration of the innermost loop, in the first iterations
/// of those around it, and in their last ones, on the calling thread, which waits for
/// absent pages of the index arrays. `ignored`: bit g = group g is not counted. Leaves everything unknown when another thread is at it.
void survey_slice(Engine &, const pagecast_nest &, const uint64_t *live, const uint64_t *trips, uint32_t ignored, SliceSurvey *);

} // namespace pagecast
