// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What shells and man know of the command, made from the tables that --help is made from.
#pragma once
#include <string>
#include <vector>

namespace pagecast::cli {

struct ManualOption {
  std::string name;     ///< with its dashes
  std::string argument; ///< what follows it: SIZE, DIR, FILE, ...; empty: nothing
  std::string description;
};

struct ManualCommand {
  std::string name;
  std::string description;
  std::string usage; ///< what follows the command's name; empty where the options say it all
  std::string notes; ///< below the options, as it stands
  std::vector<ManualOption> options;
  bool startsProgram = false;      ///< the rest of the line is a program and its arguments
  std::vector<std::string> values; ///< of its only argument, where there are few
};

struct Manual {
  std::string version, description, notes;
  std::vector<ManualCommand> commands;
  const ManualCommand *find(const std::string &name) const;
};

extern const std::vector<std::string> kShells;

/// The script that makes `shell`, one of kShells, complete the command's words.
std::string completions(const Manual &, const std::string &shell);

/// The man page of the command, or of the subcommand `name`, in roff.
std::string manPage(const Manual &, const std::string &name);

} // namespace pagecast::cli
