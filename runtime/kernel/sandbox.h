// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sandboxes (seccomp). A filter may kill who makes a call that it does not allow, and cannot be asked beforehand.
//
//   put on by the program before anything is paged   nothing will be
//   put on by the program while data are paged       the runtime's threads do not have it, and go on; on the program's
//                                                     threads the runtime makes no call of its own any more but write
//   inherited                                         a child tries the calls; if it is killed, nothing is paged
//
// A filter that the program puts on all threads (SECCOMP_FILTER_FLAG_TSYNC) while data are paged must allow what the
// pager does: docs/programs.md.
#pragma once

namespace pagecast {

/// The program is about to put on a filter. Any thread. `strict`: the mode in which the calling thread may do nothing but
/// read, write and end. `before_first` is called if no filter was put on before: for calls that this one may forbid.
void sandbox_begin(bool strict, void (*before_first)());
/// It could not.
void sandbox_failed();
/// Whether the program has put on a filter. Cost: one load.
bool sandboxed();
/// Whether the calling thread is in strict mode. Cost: one load.
bool sandboxed_strictly();
/// Whether a filter that this process began with lets a pager live. Cost: 10 us where there is none, else a fork.
bool inherited_sandbox_allows_paging();

} // namespace pagecast
