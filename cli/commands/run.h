// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace pagecast::cli {

/// What the user said; empty = not said.
struct RunOptions {
  std::string memory, backing, stats, release;
  std::string far; ///< SCHEME and its rules (far.h)
  std::vector<std::string> maps;   ///< PATH=URI
  std::vector<std::string> others; ///< NAME=VALUE
  bool summary = false;            ///< say in one line what the run did when it has ended
  std::vector<std::string> command;
};

/// Refuses a command that begins with an option: one of ours, misspelt. What stands behind `--` is the program's name.
void requireKnownOptions(const std::vector<std::string> &command);

/// Checks the options, hands them to the runtime by the environment and becomes the program; or, for a summary, waits for it
/// and ends as it did.
[[noreturn]] void run(const RunOptions &options);

/// What the runtime says of its options, one a line; empty when it cannot be asked.
std::string runtimeOptionsHelp();

} // namespace pagecast::cli
