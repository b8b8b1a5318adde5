// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's own file descriptors. Programs that become daemons close every number that there is, and with
// the pager's they would close their own data: interposed close() and its relatives leave these alone.
#pragma once

namespace pagecast {

/// Notes that `fd` is the runtime's; returns it. Negative ones (errors) pass through. Any thread.
int own_descriptor(int fd);
/// Another number for the program's file, as ours. -errno if it cannot be had.
int own_duplicate(int fd);
/// Takes the note back, before somebody else closes it.
void disown_descriptor(int fd);
/// Closes one of the runtime's. Negative ones are ignored.
void close_own(int fd);
/// Whether the program must not touch `fd`. Cost: one load.
bool is_own(int fd);
/// The first of [fd, last] that is the runtime's, or -1.
int next_own(unsigned fd, unsigned last);

} // namespace pagecast
