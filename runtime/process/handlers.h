// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handlers of signals, the only code of a program that can come between two stores of a nest that overwrites
// (core/nest/overwrite.h): it may look at what the nest has not stored yet, end the process, whose last actions look at it, or
// leave the nest by a jump for good. Where a page was left unread, zeros would be found in place of the old data.
//
//   handlers there when the pager starts   nothing is left unread
//   the first one later                    is installed once the program has stored all that was left unread; nothing
//                                          is from then on, even when the handler is taken away: it may be running
//
// Threads that may be cancelled at any place are the same. What the C library has for itself (cancellation at its proper
// points, setuid of all threads) comes back to where it was.
#pragma once

namespace pagecast {

/// Before the pager starts: looks at what handlers there are, and watches from now on.
void handlers_watch();

/// The program is about to install a handler, and has done so. Any thread; waits (see above), but in handlers never: the
/// one before them has waited.
void handler_begins();
void handler_stands();
/// The program is about to let a thread be cancelled at any place. As handler_begins().
void nests_may_be_left();

} // namespace pagecast
