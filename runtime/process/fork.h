// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime does around fork(). A child has its parent's data as they were, and a pager of its own.
#pragma once

namespace pagecast {

/// Registers the handlers; once, as early as possible: then the pager holds still only after all handlers of the
/// program before the fork, and is there again before all of those in the child. Any thread.
void watch_forks();

using ForkHandler = void();
/// The C library's __register_atfork, past our own. 0 or an error number.
int register_with_library(ForkHandler *prepare, ForkHandler *parent, ForkHandler *child, void *object);

} // namespace pagecast
