// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nests that a thread has open: a stack, the oldest first. Programs close most of them by running to their end. Those that
// jumps, exceptions and the ends of threads have left behind are found by their frames, since the stack of the program grows
// down, and closed when the thread next enters or leaves a nest.
//
// Threads: each has its own, and touches no other.
#pragma once
#include "runtime/entry/nest_entry.h"
#include "runtime/state/open_nests.h"

namespace pagecast {

/// One more may be opened.
bool open_room();
/// A nest with its frame is open from now on, and is closed at the latest when the thread ends.
void push_open(OpenNest *);
/// `index` < pagecast_open_count, which is how many there are.
OpenNest &open_at(unsigned index);
/// Where the nest of the ticket is; pagecast_open_count if it is not there.
unsigned index_of(const pagecast_ticket *);
/// The nest of the frame around this one, if there is one, whose slice goes through the loops inside as well.
OpenNest *covering(const pagecast_nest &, const void *frame);

/// Closes those that were opened last, until `left` are open.
void close_until(unsigned left);
/// Closes the nest if an entry of it is left over from the frame, and all that deeper frames have left open.
void close_stale(const pagecast_nest *, const void *frame);
/// Closes a nest that has come to its end. Others of its frame, which were opened after it, may go on.
void close_finished(unsigned index);

/// Once, before the first is opened. Any thread.
void watch_ends_of_threads();

/// In the child of a fork, with all of locks.h held: gives up nests of threads that are not here.
void nests_forked();

} // namespace pagecast
