// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pagecast cc, pagecast c++: clang with the pass plugin when it compiles and the runtime when it
// links. The user's arguments are passed on untouched and in order; they are only read, to learn what
// clang will do.
//
//   PAGECAST_CC_VERBOSE=1       print the exact command line
//   PAGECAST_CC_PASSTHROUGH=1   plain clang: neither plugin nor runtime
#include "cc.h"
#include "job.h"
#include "message.h"
#include "paths.h"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <unistd.h>

namespace pagecast::cli {
namespace {

using Arguments = std::vector<std::string>;

/// Options of ours that a mode of clang may leave unused must not make it say so.
Arguments compileFlags() {
  const auto plugin = passPlugin();
  if (access(plugin.c_str(), R_OK) != 0)
    throw Failure{"the pass plugin is not at " + plugin.string() + "; build or install Pagecast again"};
  return {"--start-no-unused-arguments", "-fpass-plugin=" + plugin.string(), "--end-no-unused-arguments"};
}

Arguments linkFlags(const Job &job) {
  const std::string directory = libraryDirectory().string();
  if (access(runtimeLibrary().c_str(), R_OK) != 0)
    throw Failure{"the runtime library is not at " + runtimeLibrary().string() +
                  "; build or install Pagecast again"};
  // A program refers to the runtime weakly, so it must be linked even where nothing seems to need it.
  const std::string needed = job.shared ? "-Wl,--push-state,--as-needed" : "-Wl,--push-state,--no-as-needed";
  return {"--start-no-unused-arguments", "-L" + directory, needed, "-lpagecast", "-Wl,--pop-state",
          // -Xlinker, as -Wl would split a directory that has a comma in its name.
          "-Xlinker", "-rpath", "-Xlinker", directory, "--end-no-unused-arguments"};
}

void append(Arguments &to, const Arguments &from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// The command line for clang. Ours come first and last, but before a "--" that ends the options.
Arguments commandLine(const Clang &clang, const Arguments &arguments, const Job &job) {
  Arguments line = {clang.path};
  if (clang.needsDriverMode)
    line.push_back("--driver-mode=g++");
  if (job.compiles)
    append(line, compileFlags());
  const auto options = std::find(arguments.begin(), arguments.end(), "--");
  line.insert(line.end(), arguments.begin(), options);
  if (job.links && job.isStatic)
    warn("the program is linked statically, so without the runtime: it will run without hints");
  else if (job.links)
    append(line, linkFlags(job));
  line.insert(line.end(), options, arguments.end());
  return line;
}

std::string shellQuoted(const std::string &word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_./=+,:@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain))
    return word;
  std::string out = "'";
  for (const char c : word)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void print(const Arguments &line) {
  std::string text;
  for (const std::string &word : line)
    text += (text.empty() ? "" : " ") + shellQuoted(word);
  std::fprintf(stderr, "%s\n", text.c_str());
}

bool isSwitchedOn(const char *name) {
  return environment(name).value_or("0") != "0";
}

[[noreturn]] void become(const Arguments &line) {
  std::vector<char *> raw;
  for (const std::string &word : line)
    raw.push_back(const_cast<char *>(word.c_str()));
  raw.push_back(nullptr);
  execv(raw[0], raw.data());
  throw Failure{line[0] + " could not be started: " + errorText(errno)};
}

} // namespace

void cc(Language language, const std::vector<std::string> &arguments) {
  const Clang clang = findClang(language);
  const Job job = isSwitchedOn("PAGECAST_CC_PASSTHROUGH") ? Job{} : readJob(arguments);
  const Arguments line = commandLine(clang, arguments, job);
  if (isSwitchedOn("PAGECAST_CC_VERBOSE"))
    print(line);
  become(line);
}

} // namespace pagecast::cli
