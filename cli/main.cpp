// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pagecast command. Under the names pagecast-cc, pagecast-c++ and pagecast-fc it is a compiler.
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include "cli/text/version.h"
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>

using namespace pagecast::cli;

namespace {

using Arguments = std::vector<std::string>;

const Arguments kCommands = {"cc",  "c++",     "fc",    "run",    "speculate",   "explain", "report",
                             "top", "profile", "serve", "doctor", "completions", "man"};

/// The compiler that `name`, of the command or of a subcommand, stands for.
std::optional<Language> compilerNamed(const std::string &name) {
  if (name == "cc" || name == "pagecast-cc") return Language::kC;
  if (name == "c++" || name == "pagecast-c++") return Language::kCxx;
  if (name == "fc" || name == "pagecast-fc") return Language::kFortran;
  return std::nullopt;
}

/// Becomes a compiler if that is what was asked for: its arguments must not meet our parser.
void becomeCompiler(const std::string &self, const Arguments &arguments) {
  if (const auto language = compilerNamed(std::filesystem::path(self).filename().string())) cc(*language, arguments);
  if (arguments.empty()) return;
  if (const auto language = compilerNamed(arguments[0])) cc(*language, Arguments(arguments.begin() + 1, arguments.end()));
}

/// `pagecast help` and `pagecast version` are what other commands have taught people to write.
void understandWords(Arguments &arguments) {
  if (arguments.empty()) return;
  if (arguments[0] == "help") arguments.assign(1, "--help");
  if (arguments[0] == "version") arguments.assign(1, "--version");
}

void requireKnownCommand(const Arguments &arguments) {
  if (arguments.empty() || arguments[0].empty() || arguments[0][0] == '-') return;
  if (std::find(kCommands.begin(), kCommands.end(), arguments[0]) == kCommands.end())
    throw Failure{"there is no command '" + arguments[0] + "'" + suggestion(arguments[0], kCommands, "pagecast --help", "'")};
}

/// Cuts what follows "--" off the `arguments` of run, speculate, explain or profile: it belongs to the program or to the
/// compiler, options and all.
Arguments cutForeign(Arguments &arguments) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  static const Arguments takers = {"run", "speculate", "explain", "profile"};
  if (arguments.empty() || separator == arguments.end()) return {};
  if (std::find(takers.begin(), takers.end(), arguments[0]) == takers.end()) return {};
  const Arguments foreign(separator + 1, arguments.end());
  arguments.erase(separator, arguments.end());
  return foreign;
}

std::string version() { return "pagecast " PAGECAST_VERSION + (*kCommit ? " (commit " + std::string(kCommit) + ")" : ""); }

/// What is only printed: a script for a shell, a page for man, or else the help.
std::string textOf(const CLI::App &app, const std::string &shell, const std::string &page) {
  if (!app.got_subcommand("completions") && !app.got_subcommand("man")) return app.help();
  const Manual manual = manualOf(app, PAGECAST_VERSION);
  if (app.got_subcommand("completions")) return completions(manual, shell);
  if (!page.empty() && !manual.find(page))
    throw Failure{"there is no command '" + page + "'" + suggestion(page, kCommands, "pagecast --help", "'")};
  return manPage(manual, page);
}

/// A command: those of its words that the parser left, and those behind "--".
Arguments joined(Arguments words, const Arguments &more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

int dispatch(Arguments arguments) {
  understandWords(arguments);
  requireKnownCommand(arguments);
  const Arguments foreign = cutForeign(arguments);
  CommandLine line;
  CLI::App app("Pagecast: programs on more data than memory, at the speed of the disk.", "pagecast");
  app.set_version_flag("--version", version());
  app.require_subcommand(0, 1);
  describe(app, line);
  try {
    app.parse(Arguments(arguments.rbegin(), arguments.rend())); // as CLI11 wants them
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    throw Failure{sentenceOf(error, app, arguments)};
  }
  if (app.got_subcommand("run")) {
    const Arguments words = app.get_subcommand("run")->remaining();
    requireKnownOptions(words);
    line.run.command = joined(words, foreign);
    run(line.run);
  }
  if (app.got_subcommand("speculate")) {
    const Arguments words = app.get_subcommand("speculate")->remaining();
    requireSpeculateOptions(words);
    line.speculate.command = joined(words, foreign);
    return speculate(line.speculate);
  }
  if (app.got_subcommand("explain")) {
    line.explain.compilerOptions = foreign;
    return explain(line.explain);
  }
  if (app.got_subcommand("profile")) {
    const CLI::App *command = app.get_subcommand("profile");
    if (command->got_subcommand("show")) return showProfile(line.showProfile);
    line.profile.command = joined(command->remaining(), foreign);
    profile(line.profile);
  }
  if (app.got_subcommand("report")) return report(line.report);
  if (app.got_subcommand("top")) return top(line.top);
  if (app.got_subcommand("serve")) return serve(line.serve);
  if (app.got_subcommand("doctor")) return doctor(line.doctor);
  std::fputs(textOf(app, line.shell, line.page).c_str(), stdout);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    const Arguments arguments(argv + std::min(argc, 1), argv + argc);
    becomeCompiler(argc > 0 ? argv[0] : "", arguments);
    return dispatch(arguments);
  } catch (const Failure &failure) { return reportFailure(failure); } catch (const std::exception &error) {
    return reportFailure({std::string("an internal error: ") + error.what()});
  }
}
