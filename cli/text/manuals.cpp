// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/text/manuals.h"
#include <algorithm>
#include <cctype>
#include <sstream>

namespace pagecast::cli {

const std::vector<std::string> kShells = {"bash", "zsh", "fish"};

const ManualCommand *Manual::find(const std::string &name) const {
  const auto at = std::find_if(commands.begin(), commands.end(), [&](const ManualCommand &c) { return c.name == name; });
  return at == commands.end() ? nullptr : &*at;
}

namespace {

bool isDirectory(const ManualOption &option) { return option.argument == "DIR"; }
bool isFile(const ManualOption &option) {
  return option.argument.find("FILE") != std::string::npos || option.argument.find(".JSON") != std::string::npos;
}

/// `text` with `escape` before each of the characters `special`.
std::string escaped(const std::string &text, const char *special, const char *escape) {
  std::string out;
  for (const char c : text) out += std::string(std::string(special).find(c) != std::string::npos ? escape : "") + c;
  return out;
}

std::string upper(std::string text) {
  for (char &c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The names of the options that `chosen` picks, with `between` between.
template <class Chosen> std::string names(const ManualCommand &command, const char *between, Chosen chosen) {
  std::string out;
  for (const ManualOption &o : command.options)
    if (chosen(o)) out += (out.empty() ? "" : between) + o.name;
  return out;
}

std::string all(const ManualCommand &command) {
  return names(command, " ", [](const ManualOption &) { return true; });
}

// --- bash ---

/// What may follow an option of `command`, as branches of a case on the word before.
void bashArguments(std::ostream &out, const ManualCommand &command) {
  const auto branch = [&](const std::string &options, const char *action) {
    if (!options.empty()) out << "      " << options << ") " << action << "; return ;;\n";
  };
  branch(names(command, "|", isDirectory), "mapfile -t COMPREPLY < <(compgen -d -- \"$word\")");
  branch(names(command, "|", isFile), "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")");
  branch(names(command, "|", [](const ManualOption &o) { return !o.argument.empty() && !isDirectory(o) && !isFile(o); }),
         "COMPREPLY=()");
}

void bashCommand(std::ostream &out, const ManualCommand &command) {
  const std::string taking = names(command, "|", [](const ManualOption &o) { return !o.argument.empty(); });
  out << "  " << command.name << ")\n";
  if (command.startsProgram) {
    out << "    local i=2\n    while ((i < COMP_CWORD)); do\n      case ${COMP_WORDS[i]} in\n      --) ((i++)); break ;;\n";
    if (!taking.empty()) out << "      " << taking << ") ((i += 2)) ;;\n";
    out << "      -*) ((i++)) ;;\n      *) break ;;\n      esac\n    done\n"
           "    if ((i < COMP_CWORD)) || { ((i == COMP_CWORD)) && [[ $word != -* ]]; }; then\n"
           "      if declare -F _command_offset >/dev/null; then _command_offset \"$i\"\n"
           "      elif ((i == COMP_CWORD)); then mapfile -t COMPREPLY < <(compgen -c -- \"$word\")\n"
           "      else mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); fi\n      return\n    fi\n";
  }
  if (!taking.empty()) {
    out << "    case $before in\n";
    bashArguments(out, command);
    out << "    esac\n";
  }
  std::string words = all(command);
  for (const std::string &value : command.values) words += " " + value;
  out << "    mapfile -t COMPREPLY < <(compgen -W '" << words << "' -- \"$word\")\n";
  if (!command.startsProgram && command.values.empty())
    out << "    [[ $word == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n";
  out << "    ;;\n";
}

std::string bash(const Manual &manual) {
  std::ostringstream out;
  std::string commands = "--help --version";
  for (const ManualCommand &c : manual.commands) commands += " " + c.name;
  out << "# Completions of pagecast for bash: source it, or put it into a folder of bash-completion as pagecast.\n"
         "_pagecast() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  if ((COMP_CWORD == 1)); then\n    mapfile -t COMPREPLY < <(compgen -W '"
      << commands << "' -- \"$word\")\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const ManualCommand &c : manual.commands) bashCommand(out, c);
  out << "  esac\n}\ncomplete -o filenames -F _pagecast pagecast\n";
  return out.str();
}

// --- zsh ---

void zshCommand(std::ostream &out, const ManualCommand &command) {
  out << "  " << command.name << ")\n    _arguments -A '-*'";
  for (const ManualOption &o : command.options) {
    out << " \\\n      '" << o.name << "[" << escaped(escaped(o.description, "[]:", "\\"), "'", "'\\'") << "]";
    if (!o.argument.empty()) out << ":" << o.argument << ":" << (isDirectory(o) ? "_directories" : isFile(o) ? "_files" : " ");
    out << "'";
  }
  if (command.startsProgram) out << " \\\n      '*:::program: _normal'";
  else if (command.values.empty()) out << " \\\n      '*:file:_files'";
  else {
    out << " \\\n      '1:value:(";
    for (const std::string &value : command.values) out << value << " ";
    out << ")'";
  }
  out << "\n    ;;\n";
}

std::string zsh(const Manual &manual) {
  std::ostringstream out;
  out << "#compdef pagecast\n# Completions of pagecast for zsh: put it into a folder of $fpath as _pagecast.\n_pagecast() {\n"
         "  local -a commands\n  commands=(\n";
  for (const ManualCommand &c : manual.commands) out << "    '" << c.name << ":" << escaped(c.description, "'", "'\\'") << "'\n";
  out << "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n  shift words\n  ((CURRENT--))\n"
         "  case $words[1] in\n";
  for (const ManualCommand &c : manual.commands) zshCommand(out, c);
  out << "  esac\n}\n_pagecast \"$@\"\n";
  return out.str();
}

// --- fish ---

/// What follows the options of those that start a program is completed as if it stood alone.
void fishProgram(std::ostream &out, const Manual &manual) {
  out << "function __pagecast_program\n  set -l words (commandline -opc)[3..] (commandline -ct)\n  while set -q words[2]\n"
         "    switch $words[1]\n    case --\n      set -e words[1]\n      break\n    case";
  for (const ManualCommand &c : manual.commands)
    if (c.startsProgram)
      for (const ManualOption &o : c.options)
        if (!o.argument.empty()) out << " " << o.name;
  out << "\n      set -e words[1..2]\n    case '-*'\n      set -e words[1]\n    case '*'\n      break\n    end\n  end\n"
         "  complete -C \"$words\"\nend\n";
}

std::string fish(const Manual &manual) {
  std::ostringstream out;
  out << "# Completions of pagecast for fish: put it into a folder of $fish_complete_path as pagecast.fish.\n";
  fishProgram(out, manual);
  for (const ManualCommand &c : manual.commands) {
    out << "complete -c pagecast -f -n __fish_use_subcommand -a " << c.name << " -d '" << escaped(c.description, "'", "\\")
        << "'\n";
    const std::string within = "complete -c pagecast -n '__fish_seen_subcommand_from " + c.name + "'";
    for (const ManualOption &o : c.options)
      out << within << " -l " << o.name.substr(2)
          << (o.argument.empty() ? ""
              : isDirectory(o)   ? " -x -a '(__fish_complete_directories)'"
              : isFile(o)        ? " -r"
                                 : " -x")
          << " -d '" << escaped(o.description, "'", "\\") << "'\n";
    if (c.startsProgram) out << within << " -x -a '(__pagecast_program)'\n";
    for (const std::string &value : c.values) out << within << " -f -a " << value << "\n";
  }
  return out.str();
}

// --- man ---

/// A line that begins with a dot or a quote would be a request.
std::string roff(const std::string &text) {
  std::string out;
  std::istringstream lines(escaped(text, "\\", "\\"));
  for (std::string line; std::getline(lines, line);)
    out += (line.find_first_of(".'") == 0 ? "\\&" : "") + escaped(line, "-", "\\") + "\n";
  return out;
}

void manSection(std::ostream &out, const char *title, const std::string &text) {
  if (!text.empty()) out << ".SH " << title << "\n.nf\n" << roff(text.substr(text.find_first_not_of('\n'))) << ".fi\n";
}

void manHead(std::ostream &out, const Manual &manual, const std::string &name, const std::string &does) {
  out << ".TH " << upper(name) << " 1 \"\" \"pagecast " << manual.version << "\" \"Pagecast\"\n.SH NAME\n"
      << roff(name + " - " + does) << ".SH SYNOPSIS\n";
}

} // namespace

std::string completions(const Manual &manual, const std::string &shell) {
  return shell == "zsh" ? zsh(manual) : shell == "fish" ? fish(manual) : bash(manual);
}

std::string manPage(const Manual &manual, const std::string &name) {
  std::ostringstream out;
  const ManualCommand *command = manual.find(name);
  if (!command) {
    manHead(out, manual, "pagecast", manual.description);
    out << ".B pagecast\n.I COMMAND\n[\n.I OPTIONS\n]\n.SH COMMANDS\n";
    for (const ManualCommand &c : manual.commands) out << ".TP\n.B " << roff(c.name) << roff(c.description);
    manSection(out, "NOTES", manual.notes);
    return out.str();
  }
  manHead(out, manual, "pagecast-" + name, command->description);
  out << roff(command->usage.empty() ? "pagecast " + name + " [OPTIONS]" : command->usage);
  if (!command->options.empty()) out << ".SH OPTIONS\n";
  for (const ManualOption &o : command->options)
    out << ".TP\n.B " << roff(o.name + (o.argument.empty() ? "" : " " + o.argument)) << roff(o.description);
  manSection(out, "NOTES", command->notes);
  out << ".SH SEE ALSO\n.BR pagecast (1)\n";
  return out.str();
}

} // namespace pagecast::cli
