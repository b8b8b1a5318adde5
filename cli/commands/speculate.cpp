// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/commands/speculate.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include <cerrno>
#include <cstdlib>
#include <optional>

namespace pagecast::cli {
namespace {

/// The options in `words`, which follow "speculate", where they are so plain that no parser is needed.
std::optional<SpeculateOptions> plainOptions(const std::vector<std::string> &words) {
  SpeculateOptions options;
  size_t at = 0;
  for (; at < words.size() && words[at][0] == '-' && words[at] != "--"; at++) {
    if (words[at] == "--summary") options.summary = true;
    else if (words[at] == "--account") options.account = true;
    else if (words[at] == "--eager") options.eager = true;
    else if (words[at] == "--stats" && at + 1 < words.size() && !words[at + 1].empty() && words[at + 1][0] != '-')
      options.stats = words[++at];
    else return std::nullopt;
  }
  if (at < words.size() && words[at] == "--") at++;
  options.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  if (options.command.empty() || options.command[0].empty()) return std::nullopt;
  return options;
}

/// Runs before all other constructors: those for parsers, and a parser, take longer than all else until the program begins.
__attribute__((constructor(101))) void speculateEarly(int argc, char **argv) {
  if (argc < 3 || std::string(argv[1]) != "speculate" || std::string(program_invocation_short_name) != "pagecast") return;
  if (const auto options = plainOptions({argv + 2, argv + argc})) std::exit(speculate(*options));
}

} // namespace

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
