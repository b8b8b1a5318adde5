// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slicer's thread, as others see it.
#pragma once
#include "runtime/state/open_nests.h"

namespace pagecast {

/// Runs the slice of the nest, if it is open and has one; it is not closed meanwhile. True: it did something. Slicer's thread.
bool slicer_serve(Engine &, OpenNest &);
/// The slicer's thread body; never returns.
void slicer_run();
/// Wakes it if it sleeps.
void slicer_poke();
/// Returns when no slice reads memory that was in a region before the call. For who is going to unmap it.
void slicer_let_go();
/// Someone waits for that: a run should end soon.
bool slicer_waited_for();

// Around fork(), with all of locks.h held.
/// Before: no slice runs when it returns.
void slicer_hold();
/// After, in the parent.
void slicer_go_on();
/// After, in the child, which has no such thread.
void slicer_forked();

} // namespace pagecast
