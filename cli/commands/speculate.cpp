// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/commands/commands.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include <cerrno>

namespace pagecast::cli {

void requireSpeculateOptions(const std::vector<std::string> &command) {
  if (command.empty() || command[0].empty() || command[0][0] != '-') return;
  throw Failure{"pagecast speculate has no option " + command[0] +
                suggestion(command[0], {"--account", "--eager", "--stats", "--summary", "--help"}, "pagecast speculate --help")};
}

int speculate(const SpeculateOptions &options) {
  if (options.command.empty())
    throw Failure{"no program to run; write it after --, as in pagecast speculate -- grep -r needle /data"};
  const int failure = speculate::start(options);
  return reportFailure(
      {options.command[0] + " cannot be run: " + errorText(failure), failure == ENOENT ? kNotFound : kNotExecutable});
}

Check probeSpeculation() {
  std::string advice;
  const std::string refusal = speculate::host_refusal(&advice);
  if (!refusal.empty())
    return {"speculation", Status::kWarn, refusal + ": pagecast speculate runs programs without hints", advice};
  if (speculate::host_has_landlock())
    return {"speculation", Status::kOk, "programs can be traced; copies get a seccomp filter and Landlock", ""};
  return {"speculation", Status::kOk, "programs can be traced; copies get a seccomp filter, and no Landlock (Linux 5.13)", ""};
}

} // namespace pagecast::cli
