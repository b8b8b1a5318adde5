// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics of a program that goes on, which are there if it is killed: a thread writes them now and then, while something is paged
// and they were asked for. A reader finds those of one moment, since each report takes the place of the one before at once.
#pragma once
#include "runtime/state/statistics.h"

#include <cstdint>

namespace pagecast {

/// The thread's body; returns when reports are over. `started_ns`: of the program.
void report_run(const Statistics &, const char *path, uint64_t started_ns);
/// The last statistics are about to be written: no report comes after this. Waits for one that is being written.
void report_end();
/// In the child of a fork, where the thread is not.
void report_forked();

} // namespace pagecast
