// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime does around fork(). A child has its parent's data as they were, and a pager of its own.
#pragma once
#include <cstdint>

namespace pagecast {

/// Registers the handlers; once, as early as possible: then the pager holds still only after all handlers of the
/// program before the fork, and is there again before all of those in the child. Any thread.
void watch_forks();

// Implemented where the state is; called by fork.cpp with all of locks.h held.
void slicer_hold();
void slicer_go_on();
void slicer_forked();
void nests_forked();
/// Whether a child could have a pager now: privileges may have been dropped.
bool runtime_can_follow();
/// In the child. `shared`: it has the regions.
void runtime_forked(bool shared);

} // namespace pagecast
