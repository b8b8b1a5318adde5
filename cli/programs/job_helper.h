// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The helper that the processes of a parallel program share (nbd/job_helper.h).
#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

namespace pagecast::cli {

/// Starts it, nobody's child, for the program that this process becomes or waits for; it ends with this process. `words`: scheme and
/// rules, and behind them the plan. `own`: it gets a processor that this process and what it starts leave from now on; where there
/// is only one, that is said. Its process number, or 0, after a warning: nobody helps then.
pid_t startJobHelper(const std::vector<std::string> &rules, const std::vector<std::string> &plan, bool own);

} // namespace pagecast::cli
