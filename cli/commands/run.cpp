// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast run: the runtime reads its options from the environment when the program starts, too late
// for a friendly answer to a wrong one. So they are checked here, also those that were in the
// environment before.
#include "cli/commands/commands.h"
#include "cli/commands/summary.h"
#include "cli/machine/filesystem.h"
#include "cli/machine/memory.h"
#include "cli/machine/runtime_options.h"
#include "cli/programs/launch.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

/// Options of the runtime that have a check of their own here.
struct Checked {
  const char *variable;
  const char *option;
};
constexpr Checked kMemory{"PAGECAST_MEMORY", "--memory"};
constexpr Checked kBacking{"PAGECAST_BACKING", "--backing"};
constexpr Checked kStats{"PAGECAST_STATS", "--stats"};
constexpr Checked kRelease{"PAGECAST_RELEASE", "--release"};

void setVariable(const char *name, const std::string &value) { setenv(name, value.c_str(), 1); }

/// What the user said by option, or else by environment.
std::string chosen(const std::string &given, const Checked &checked) {
  return given.empty() ? environment(checked.variable).value_or("") : given;
}

std::string whoSaid(const std::string &given, const Checked &checked) {
  return given.empty() ? checked.variable : checked.option;
}

uint64_t memoryIn(const std::string &text, const std::string &what) {
  try {
    return parseSize(text, what);
  } catch (Failure &failure) {
    failure.sentence += ", or the word auto";
    throw;
  }
}

void applyMemory(const std::string &given) {
  const std::string text = chosen(given, kMemory);
  if (text.empty()) return;
  if (text == "auto") return setVariable(kMemory.variable, text); // the default, which the environment may have changed
  const std::string what = whoSaid(given, kMemory);
  const uint64_t bytes = memoryIn(text, what);
  const uint64_t machine = machineMemory().total;
  const std::string range = "; choose between " + showSize(leastMemory()) + " and the machine's " + showSize(machine);
  if (bytes == 0) throw Failure{what + " '" + text + "' is zero" + range};
  if (bytes < leastMemory()) throw Failure{what + " '" + text + "' is below the minimum of " + showSize(leastMemory()) + range};
  if (bytes > machine) throw Failure{what + " '" + text + "' is more memory than this machine has" + range};
  if (const auto limit = memoryControlGroup().limit; limit && bytes > *limit)
    warn(what + " '" + text + "' is more than the control group's limit of " + showSize(*limit) + ", which counts");
  setVariable(kMemory.variable, std::to_string(bytes));
}

void applyBacking(const std::string &given) {
  const std::string list = chosen(given, kBacking);
  if (list.empty()) return;
  std::string absolute;
  for (const std::string &directory : backingParts(list)) {
    if (isAddress(directory)) {
      absolute += (absolute.empty() ? "" : ",") + directory;
      continue;
    }
    if (directory.find("://") != std::string::npos)
      throw Failure{"the backing address " + directory + " is none of nbd://, nbds://, nbd+unix:// and nbds+unix://"};
    const DirectoryInfo info = checkBackingDirectory(directory);
    if (info.freeBytes < kLittleSpace)
      warn("only " + showSize(info.freeBytes) + " are free in the backing directory " + directory +
           "; data beyond memory must fit there");
    absolute += (absolute.empty() ? "" : ",") + fs::absolute(directory).string();
  }
  setVariable(kBacking.variable, absolute);
}

/// Each PATH=URI; the runtime knows paths as a whole, and no more than eight.
void applyMaps(const std::vector<std::string> &maps) {
  constexpr size_t kMostMaps = 8;
  std::string all;
  for (const std::string &map : maps) {
    const auto equals = map.find('=');
    if (equals == 0 || equals == std::string::npos || map.find('\n') != std::string::npos)
      throw Failure{"--map '" + map + "' is not PATH=URI; write, for example, --map data=nbd://localhost/data"};
    const std::string uri = map.substr(equals + 1);
    if (!isAddress(uri))
      throw Failure{"--map '" + map + "': what follows the path is none of nbd://, nbds://, nbd+unix:// and nbds+unix://"};
    all += (all.empty() ? "" : "\n") + fs::absolute(map.substr(0, equals)).lexically_normal().string() + "=" + uri;
  }
  if (maps.size() > kMostMaps) throw Failure{"--map is given more than eight times"};
  if (!all.empty()) setVariable("PAGECAST_MAP", all);
}

/// Takes away what an earlier run left, so that none of it is taken for this run's (see the runtime's open_statistics), but
/// nothing else: devices and pipes stay, and of a link what it leads to goes. Returns what the program shall open.
fs::path withoutEarlierStatistics(const fs::path &file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return file;
  const fs::path target = fs::canonical(file, error);
  if (error) return file;
  fs::remove(target, error);
  return target;
}

void applyStats(const std::string &given, const fs::path &program) {
  if (given.empty()) return;
  // The program may change its directory before it ends.
  const fs::path file = fs::absolute(given);
  std::error_code error;
  if (fs::is_directory(file, error)) throw Failure{"the statistics file " + given + " is a directory; name a file with --stats"};
  if (!fs::is_directory(file.parent_path(), error) && fs::exists(file.parent_path(), error))
    throw Failure{"the statistics file " + given + " cannot be written: " + file.parent_path().string() +
                  " is no directory; name another one with --stats"};
  if (!fs::is_directory(file.parent_path(), error))
    throw Failure{"the statistics file " + given + " cannot be written: its directory does not exist; make " +
                  file.parent_path().string()};
  if (fs::equivalent(file, program, error))
    throw Failure{"the statistics file " + given + " is the program itself; name another file with --stats"};
  const bool there = fs::exists(file, error);
  if (access((there ? file : file.parent_path()).c_str(), W_OK) != 0)
    throw Failure{"the statistics file " + given + " cannot be written: " + errorText(errno) + "; name another one with --stats"};
  setVariable(kStats.variable, withoutEarlierStatistics(file).string());
}

void applyRelease(const std::string &option) {
  const std::string given = chosen(option, kRelease);
  if (given.empty()) return;
  const std::vector<std::string> policies = releasePolicies();
  if (std::find(policies.begin(), policies.end(), given) == policies.end())
    throw Failure{whoSaid(option, kRelease) + " '" + given + "' is no policy; use none, aggressive or buffered"};
  setVariable(kRelease.variable, given);
}

/// distance=64 and PAGECAST_DISTANCE=64 mean the same.
void applyOther(const std::string &assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Failure{"--option '" + assignment + "' is not NAME=VALUE; write, for example, --option distance=64"};
  std::string name = assignment.substr(0, equals);
  for (char &c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name.rfind("PAGECAST_", 0) == 0) name.erase(0, std::string("PAGECAST_").size());
  const std::string value = assignment.substr(equals + 1);
  requireRuntimeOption(name, value);
  setVariable(("PAGECAST_" + name).c_str(), value);
}

} // namespace

void requireKnownOptions(const std::vector<std::string> &command) {
  if (command.empty() || command[0].empty() || command[0][0] != '-') return;
  const std::vector<std::string> known = {"--memory",  "--backing", "--map",     "--far", "--stats",
                                          "--release", "--option",  "--summary", "--help"};
  throw Failure{"pagecast run has no option " + command[0] + suggestion(command[0], known, "pagecast run --help")};
}

void run(const RunOptions &options) {
  const fs::path program = requireProgram(options.command, "pagecast run --memory 256M -- PROGRAM ARGUMENTS");
  for (const std::string &other : options.others) applyOther(other); // first: those below are checked like their own options
  applyMemory(options.memory);
  applyBacking(options.backing);
  applyRelease(options.release);
  applyMaps(options.maps);
  applyFar(options.far, options.command);
  if (options.summary) {
    Summary summary(chosen(options.stats, kStats), authorOf(program));
    applyStats(summary.statistics(), program); // last, as it takes a file away
    summary.runAndSay([&] { preloadAndBecome(program, options.command); });
  }
  applyStats(options.stats, program);
  preloadAndBecome(program, options.command);
}

std::string runtimeOptionsHelp() {
  setenv("PAGECAST_ENABLE", "0", 1); // the library is only to be asked
  void *library = dlopen(runtimeLibrary().c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library) return {};
  using Help = const char *();
  const auto help = reinterpret_cast<Help *>(dlsym(library, "pagecast_options_help"));
  const char *text = help ? help() : nullptr;
  return text ? text : "";
}

} // namespace pagecast::cli
