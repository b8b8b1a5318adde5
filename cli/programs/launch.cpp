// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/launch.h"
#include "cli/programs/compiler.h"
#include "cli/programs/program_kind.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include <cerrno>
#include <cstdlib>
#include <map>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

void preload(const std::string &path) {
  const std::string before = environment("LD_PRELOAD").value_or("");
  setenv("LD_PRELOAD", ((before.empty() ? "" : before + ":") + path).c_str(), 1);
}

/// Both separate libraries in LD_PRELOAD.
bool canBePreloaded(const std::string &path) { return path.find_first_of(" :") == std::string::npos; }

/// Loads the runtime into programs that do not ask for it themselves: they are paged, with what the faults' history
/// tells in place of hints. Behind what the user preloads: that may be an allocator, whose memory is paged then, or a
/// sanitizer, which must come first.
void preloadRuntime() {
  const fs::path library = runtimeLibrary();
  if (canBePreloaded(library.string())) return preload(library.string());
  // A space separates no folders, so that the loader can be told of the library's.
  if (library.string().find_first_of(":;") != std::string::npos)
    throw Failure{"the loader cannot find the runtime at " + library.string() +
                  " for the colon or semicolon in its path; move Pagecast"};
  const std::string paths = environment("LD_LIBRARY_PATH").value_or("");
  setenv("LD_LIBRARY_PATH", (library.parent_path().string() + (paths.empty() ? "" : ":" + paths)).c_str(), 1);
  preload(library.filename().string());
}

/// An allocator that the program is linked with stays in front of the runtime, which has one, too: all of its heap is paged by the
/// mappings that it makes, small objects among it, which those of the C library are not.
void preloadAllocator(const fs::path &program) {
  const auto allocator = linkedAllocator(program);
  if (allocator && canBePreloaded(allocator->string())) preload(allocator->string());
}

/// It will have other rights than the user: it takes no options from the environment, and no library.
bool gainsPrivileges(const fs::path &program) {
  struct stat info;
  return stat(program.c_str(), &info) == 0 &&
         (((info.st_mode & S_ISUID) && info.st_uid != getuid()) || ((info.st_mode & S_ISGID) && info.st_gid != getgid()));
}

bool isVerbose() {
  const std::string said = environment("PAGECAST_VERBOSE").value_or("0");
  return said != "0" && said != "off" && said != "no" && said != "false";
}

/// To run without hints is normal use, so it is said only when asked for; the statistics have it as well (`compiled`).
void tellThatThereAreNoHints(const std::string &sentence) {
  if (isVerbose()) warn(sentence);
}

void preloadUnlessCompiledWithPagecast(const fs::path &program) {
  const std::string consequence = ", so it runs without hints and without statistics";
  if (gainsPrivileges(program))
    return warn(program.string() + " is set-uid or set-gid, so it takes no options of pagecast's; it is paged only if it was "
                                   "compiled with pagecast");
  switch (programKind(program)) {
  case ProgramKind::kWithRuntime: return;
  case ProgramKind::kWithoutRuntime:
    preloadAllocator(program);
    preloadRuntime();
    return tellThatThereAreNoHints(program.string() + " was not compiled with pagecast, so what it needs next is told from its "
                                                      "page faults alone; compile it with pagecast cc for hints");
  case ProgramKind::kStatic:
    return warn(program.string() + " is linked statically" + consequence + "; link it dynamically with pagecast cc");
  case ProgramKind::kScript:
    preloadRuntime();
    return tellThatThereAreNoHints(program.string() + " is a script: it and the programs that it starts are paged; those that "
                                                      "were not compiled with pagecast get no hints");
  case ProgramKind::kUnknown: return warn(program.string() + " is a program of another kind of machine" + consequence);
  case ProgramKind::kNone: return; // the kernel will say so
  }
}

/// UCX, the transport of many MPIs, rewrites the C library's mmap in memory, so that mappings of the program go past the
/// runtime. Without its hooks it keeps no cache of memory that it registered, and that is all.
void keepMappingsFromUcx() { setenv("UCX_MEM_EVENTS", "no", 0); }

/// What runs scripts of this name, or nothing.
const char *runnerOf(const fs::path &file) {
  static const std::map<std::string_view, const char *> known = {{".py", "python3"}, {".R", "Rscript"}, {".r", "Rscript"},
                                                                 {".m", "octave"},   {".jl", "julia"},  {".pl", "perl"},
                                                                 {".sh", "sh"}};
  const auto found = known.find(file.extension().string());
  return found == known.end() ? nullptr : found->second;
}

/// Ends where a file that cannot be started is for another program to run or to compile.
void refuseScriptOrSource(const std::string &name) {
  if (const char *runner = runnerOf(name))
    throw Failure{name + " is a script; write what runs it, too: -- " + runner + " " + name, kNotExecutable};
  if (const auto language = languageOf(name))
    throw Failure{name + " is a source; compile it first, as with pagecast " + (language == Language::kFortran ? "fc" : "cc") +
                      " -O2 -g " + name,
                  kNotExecutable};
}

[[noreturn]] void become(const fs::path &program, const std::vector<std::string> &command) {
  std::vector<char *> raw;
  for (const std::string &word : command) raw.push_back(const_cast<char *>(word.c_str()));
  raw.push_back(nullptr);
  execv(program.c_str(), raw.data());
  if (errno == ENOEXEC)
    throw Failure{program.string() +
                      " is no program; if it is a script, its first line must name what runs it, as #!/bin/sh does",
                  kNotExecutable};
  if (errno == ENOENT)
    throw Failure{"the program " + program.string() +
                      " could not be started: what its first line or its header names to run it does "
                      "not exist",
                  kNotFound};
  throw Failure{"the program " + program.string() + " could not be started: " + errorText(errno), kNotExecutable};
}

} // namespace

fs::path requireProgram(const std::vector<std::string> &command, const std::string &usage) {
  if (command.empty()) throw Failure{"no program was given; write " + usage};
  const std::string &name = command[0];
  if (name.empty()) throw Failure{"the program's name is empty; write " + usage};
  if (const auto path = findProgram(name)) return *path;
  std::error_code error;
  if (fs::is_regular_file(name, error)) refuseScriptOrSource(name);
  if (name.find('/') == std::string::npos && !fs::is_directory(name, error))
    throw Failure{"the program " + name + " was not found in PATH; give its path, such as ./" + name, kNotFound};
  if (!fs::exists(name, error)) {
    if (error)
      throw Failure{"the program " + name + " cannot be reached: " + errorText(error.value()) + "; check the path",
                    kNotExecutable};
    throw Failure{"the program " + name + " does not exist; check the path", kNotFound};
  }
  if (fs::is_directory(name, error))
    throw Failure{"the program " + name + " is a directory; name an executable file", kNotExecutable};
  throw Failure{"the program " + name + " is not executable; make it so with chmod +x " + name, kNotExecutable};
}

void preloadAndBecome(const fs::path &program, const std::vector<std::string> &command) {
  preloadUnlessCompiledWithPagecast(program);
  keepMappingsFromUcx();
  // Of this and its children, whose statistics are the run's where nobody pages anything.
  setenv("PAGECAST_STATS_PROCESS", std::to_string(getpid()).c_str(), 1);
  become(program, command);
}

} // namespace pagecast::cli
