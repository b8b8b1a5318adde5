// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast cc, c++ and fc: clang or flang with the pass plugin when it compiles and the runtime when it
// links. The user's arguments are passed on untouched and in order; they are only read, to learn what
// the compiler will do. Of Fortran's, those go that are gfortran's alone and that packaged wrappers add, as MPICH's mpif90 does.
//
//   PAGECAST_CC_VERBOSE=1       print the exact command line
//   PAGECAST_CC_PASSTHROUGH=1   the plain compiler: neither plugin nor runtime
#include "cli/commands/commands.h"
#include "cli/programs/compiler.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <unistd.h>

namespace pagecast::cli {
namespace {

using Arguments = std::vector<std::string>;

Arguments linkFlags(const Compilation &compilation, Language language) {
  const std::string directory = libraryDirectory().string();
  if (access(runtimeLibrary().c_str(), R_OK) != 0)
    throw Failure{"the runtime library is not at " + runtimeLibrary().string() + "; build or install Pagecast again"};
  // A program refers to the runtime weakly, so it must be linked even where nothing seems to need it.
  const std::string needed = compilation.shared ? "-Wl,--push-state,--as-needed" : "-Wl,--push-state,--no-as-needed";
  Arguments flags = {"-L" + directory, needed, "-lpagecast", "-Wl,--pop-state"};
  // Not -Wl, which would split a directory that has a comma in its name; and flang has no -Xlinker.
  const Arguments path =
      language == Language::kFortran ? Arguments{"-rpath", directory} : Arguments{"-Xlinker", "-rpath", "-Xlinker", directory};
  flags.insert(flags.end(), path.begin(), path.end());
  return quietly(flags, language);
}

/// What changes neither a program's results nor how it is linked, and flang refuses.
bool isGfortransAlone(const std::string &argument) {
  return argument == "-fallow-argument-mismatch" || argument == "-fallow-invalid-boz" ||
         argument.rfind("-fstack-protector", 0) == 0 || argument.rfind("-ffile-prefix-map=", 0) == 0;
}

void append(Arguments &to, const Arguments &from) { to.insert(to.end(), from.begin(), from.end()); }

/// The compiler's command line. Ours come first, and last for shared libraries, which name what they need;
/// but before a "--" that ends the options.
Arguments commandLine(Language language, const Arguments &arguments, const Compilation &compilation) {
  const Compiler compiler = findCompiler(language);
  Arguments line = {compiler.path};
  if (compiler.needsDriverMode) line.push_back("--driver-mode=g++");
  if (compilation.compiles) append(line, pluginFlags(compiler, language));
  // Of two libraries that define malloc the loader takes the first: a program that names -lc must still get ours.
  const bool linksRuntime = compilation.links && !compilation.isStatic;
  if (linksRuntime && !compilation.shared) append(line, linkFlags(compilation, language));
  const auto options = std::find(arguments.begin(), arguments.end(), "--");
  std::remove_copy_if(arguments.begin(), options, std::back_inserter(line), [language](const std::string &argument) {
    return language == Language::kFortran && isGfortransAlone(argument);
  });
  if (compilation.links && compilation.isStatic)
    warn("the program is linked statically, so without the runtime: it will run without hints");
  else if (linksRuntime && compilation.shared) append(line, linkFlags(compilation, language));
  line.insert(line.end(), options, arguments.end());
  return line;
}

std::string shellQuoted(const std::string &word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_./=+,:@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void print(const Arguments &line) {
  std::string text;
  for (const std::string &word : line) text += (text.empty() ? "" : " ") + shellQuoted(word);
  std::fprintf(stderr, "%s\n", text.c_str());
}

bool isSwitchedOn(const char *name) { return environment(name).value_or("0") != "0"; }

[[noreturn]] void become(const Arguments &line) {
  std::vector<char *> raw;
  for (const std::string &word : line) raw.push_back(const_cast<char *>(word.c_str()));
  raw.push_back(nullptr);
  execv(raw[0], raw.data());
  throw Failure{line[0] + " could not be started: " + errorText(errno)};
}

} // namespace

void cc(Language language, const std::vector<std::string> &arguments) {
  const Compilation compilation = isSwitchedOn("PAGECAST_CC_PASSTHROUGH") ? Compilation{} : compilationOf(arguments, language);
  const Arguments line = commandLine(language, arguments, compilation);
  if (isSwitchedOn("PAGECAST_CC_VERBOSE")) print(line);
  become(line);
}

} // namespace pagecast::cli
