// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/command_line.h"
#include "cli/text/spelling.h"
#include <functional>

namespace pagecast::cli {
namespace {

using Arguments = std::vector<std::string>;

/// The words after "NAME: " that the parser's texts begin with, or all.
std::string afterName(const std::string &said) {
  const size_t colon = said.find(": ");
  return colon == std::string::npos ? said : said.substr(colon + 2);
}

/// Its name is that of the command.
bool isExtra(const CLI::ParseError &error) { return dynamic_cast<const CLI::ExtrasError *>(&error) != nullptr; }

/// What was wrong with the `arguments` of a command, in our words.
std::string faultOf(const CLI::ParseError &error, const CLI::App &command, const Arguments &arguments) {
  const std::string said = error.what(), name = said.substr(0, said.find_first_of(": "));
  const auto is = [&error](const char *kind) { return error.get_name() == kind; };
  if (is("RequiredError")) return "no " + name + " was given";
  if (is("ConversionError")) return afterName(said).substr(0, afterName(said).find(' ')) + " takes no such value";
  if (is("ArgumentMismatch"))
    return said.find("received") == std::string::npos ? name + " has no value" : name + " was given more than once";
  if (!isExtra(error)) return said;
  Arguments known = {"--help"};
  for (const CLI::Option *option : command.get_options())
    for (const std::string &one : option->get_lnames()) known.push_back("--" + one);
  const std::string extra = afterName(said).substr(0, afterName(said).find(' '));
  if (extra.empty() || extra[0] != '-') return "'" + extra + "' is one argument too many";
  const std::string who = arguments.empty() || arguments[0][0] == '-' ? "pagecast" : "pagecast " + arguments[0];
  return who + " has no option " + extra + suggestion(extra, known, who + " --help");
}

} // namespace

std::string sentenceOf(const CLI::ParseError &error, const CLI::App &app, const Arguments &arguments) {
  const CLI::App *command = &app;
  std::string name;
  for (const CLI::App *one : app.get_subcommands(std::function<bool(const CLI::App *)>{}))
    if (!arguments.empty() && one->get_name() == arguments[0]) command = one, name = one->get_name() + " ";
  const std::string fault = faultOf(error, *command, arguments);
  if (name == "explain " && isExtra(error))
    return fault + "; options of the compiler follow --, as in pagecast explain solve.c -- -O3";
  return fault.find("--help") == std::string::npos ? fault + "; see pagecast " + name + "--help" : fault;
}

} // namespace pagecast::cli
