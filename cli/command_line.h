// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the command line may say: its subcommands, with their options and what --help teaches of them.
#pragma once
#include "cli/commands/commands.h"
#include "cli/text/manuals.h"
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pagecast::cli {

/// What was said, by subcommand.
struct CommandLine {
  RunOptions run;
  SpeculateOptions speculate;
  ExplainOptions explain;
  ReportOptions report;
  TopOptions top;
  ProfileOptions profile;
  ShowProfileOptions showProfile;
  ServeOptions serve;
  DoctorOptions doctor;
  std::string shell, page; ///< of completions, and of man
};

/// Tells the parser of all subcommands. What it reads goes into the line, which must outlive it.
void describe(CLI::App &app, CommandLine &line);

/// What shells and man are to know of the command.
Manual manualOf(const CLI::App &app, const std::string &version);

/// What the parser found wrong with the arguments, and what to do about it.
std::string sentenceOf(const CLI::ParseError &error, const CLI::App &app, const std::vector<std::string> &arguments);

} // namespace pagecast::cli
