// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "cli/machine/probes.h"
#include "speculate/control/options.h"

namespace pagecast::cli {

using SpeculateOptions = speculate::Options;

/// Refuses a command that begins with an option: one of ours, misspelt.
void requireSpeculateOptions(const std::vector<std::string> &command);

/// Becomes the program, with a controller beside it; with statistics, stays until the program has ended. Returns only when
/// there is no such program: the status that a shell gives then.
int speculate(const SpeculateOptions &options);

/// What this host allows pagecast speculate; a lack is only a warning, since programs run without it.
Check probeSpeculation();

} // namespace pagecast::cli
