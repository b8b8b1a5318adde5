// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pagecast command. Under the names pagecast-cc and pagecast-c++ it is a compiler.
#include "cc.h"
#include "doctor.h"
#include "message.h"
#include "nearest.h"
#include "run.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>

using namespace pagecast::cli;

namespace {

using Arguments = std::vector<std::string>;

const Arguments kCommands = {"cc", "c++", "run", "doctor"};

constexpr const char *kExamples = R"(
Examples:
  pagecast cc -O2 sort.c -o sort               compile with hints: clang 19 with a plugin
  CC=pagecast-cc ./configure && make           the same for a whole project
  pagecast run --memory 256M -- ./sort big     run in 256 MiB, whatever the size of its data
  pagecast run --stats s.json -- ./sort big    write what happened to s.json
  pagecast doctor                              what this machine allows

`pagecast COMMAND --help` says more. Arguments of cc and c++ are clang's.
)";

constexpr const char *kRunNotes = R"(
SIZE is a number of bytes, or one with a unit: 512k, 256M, 1.5G, 4GiB. Units are binary: K and KiB are
both 1024 bytes. Without --memory the budget is the memory limit of the cgroup, or what is free.

Examples:
  pagecast run --memory 1G --backing /var/tmp -- ./simulate input.dat
  pagecast run --release none --option distance=64 --stats out.json -- ./simulate input.dat
)";

/// The compiler that `name`, of the command or of a subcommand, stands for.
std::optional<Language> compilerNamed(const std::string &name) {
  if (name == "cc" || name == "pagecast-cc")
    return Language::kC;
  if (name == "c++" || name == "pagecast-c++")
    return Language::kCxx;
  return std::nullopt;
}

/// Becomes clang if that is what was asked for: clang's arguments must not meet our parser.
void becomeCompiler(const std::string &self, const Arguments &arguments) {
  if (const auto language = compilerNamed(std::filesystem::path(self).filename().string()))
    cc(*language, arguments);
  if (arguments.empty())
    return;
  if (const auto language = compilerNamed(arguments[0]))
    cc(*language, Arguments(arguments.begin() + 1, arguments.end()));
}

void requireKnownCommand(const Arguments &arguments) {
  if (arguments.empty() || arguments[0].empty() || arguments[0][0] == '-')
    return;
  if (std::find(kCommands.begin(), kCommands.end(), arguments[0]) == kCommands.end())
    throw Failure{"there is no command '" + arguments[0] + "'; the nearest is '" +
                  nearest(arguments[0], kCommands) + "', and pagecast --help lists them all"};
}

/// Cuts what follows "--" off `arguments`: it belongs to the program, options and all.
Arguments cutProgram(Arguments &arguments) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (arguments.empty() || arguments[0] != "run" || separator == arguments.end())
    return {};
  const Arguments program(separator + 1, arguments.end());
  arguments.erase(separator, arguments.end());
  return program;
}

void addRun(CLI::App &app, RunOptions &options) {
  CLI::App *run = app.add_subcommand(
      "run", "run a program within a budget of memory: pagecast run [OPTIONS] [--] PROGRAM [ARGUMENTS]");
  run->add_option("--memory", options.memory, "memory that the program's large data may take")
      ->type_name("SIZE");
  run->add_option("--backing", options.backing,
                  "directory for data that is not in memory: on a disk, not tmpfs")
      ->type_name("DIR");
  run->add_option("--stats", options.stats, "write statistics there as JSON when the program ends")
      ->type_name("FILE");
  run->add_option("--release", options.release,
                  "what to do with pages that are finished with: none, aggressive, buffered")
      ->type_name("POLICY");
  run->add_option("--option", options.others, "any other option of the runtime; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  run->prefix_command();
  run->footer([] {
    const std::string help = runtimeOptionsHelp();
    return kRunNotes + (help.empty()
                            ? ""
                            : "\nOptions of the runtime, for --option or as environment variables:\n" + help);
  });
}

void addDoctor(CLI::App &app, DoctorOptions &options) {
  CLI::App *doctor =
      app.add_subcommand("doctor", "say what this machine allows, and what to do about what it does not");
  doctor->add_flag("--json", options.json, "machine-readable");
  doctor->add_flag("--no-disk", options.noDisk, "do not measure the disk");
  doctor->add_option("--disk-seconds", options.diskSeconds, "how long to measure the disk; default 1")
      ->type_name("S")
      ->check(CLI::Range(0.1, 60.0));
}

int dispatch(Arguments arguments) {
  requireKnownCommand(arguments);
  RunOptions runOptions;
  DoctorOptions doctorOptions;
  runOptions.command = cutProgram(arguments);

  CLI::App app("Pagecast: programs on more data than memory, at the speed of the disk.", "pagecast");
  app.set_version_flag("--version", "pagecast " PAGECAST_VERSION);
  app.require_subcommand(0, 1);
  app.add_subcommand("cc", "compile C with hints; a drop-in for clang, as is pagecast-cc");
  app.add_subcommand("c++", "compile C++ with hints; a drop-in for clang++, as is pagecast-c++");
  addRun(app, runOptions);
  addDoctor(app, doctorOptions);
  app.footer(kExamples);

  std::reverse(arguments.begin(), arguments.end()); // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    throw Failure{std::string(error.what()) + "; see pagecast --help"};
  }
  if (app.got_subcommand("run")) {
    const Arguments rest = app.get_subcommand("run")->remaining();
    runOptions.command.insert(runOptions.command.begin(), rest.begin(), rest.end());
    run(runOptions);
  }
  if (app.got_subcommand("doctor"))
    return doctor(doctorOptions);
  std::fputs(app.help().c_str(), stdout);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    const Arguments arguments(argv + std::min(argc, 1), argv + argc);
    becomeCompiler(argc > 0 ? argv[0] : "", arguments);
    return dispatch(arguments);
  } catch (const Failure &failure) {
    return reportFailure(failure.sentence);
  } catch (const std::exception &error) {
    return reportFailure(std::string("an internal error: ") + error.what());
  }
}
