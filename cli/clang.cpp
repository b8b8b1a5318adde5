// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "clang.h"
#include "message.h"
#include "paths.h"
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pagecast::cli {

/// The standard output of a command; its errors are dropped.
static std::string outputOf(const std::array<const char *, 3> &command) {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0)
    return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failed =
      posix_spawnp(&child, command[0], &actions, nullptr, const_cast<char *const *>(command.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  std::string text;
  char buffer[256];
  for (ssize_t n; !failed && (n = read(pipe[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  close(pipe[0]);
  int status = 1;
  if (failed || waitpid(child, &status, 0) != child || status != 0)
    return {};
  return text;
}

std::string clangVersion(const std::string &path) {
  const std::string text = outputOf({path.c_str(), "-dumpversion", nullptr});
  return text.substr(0, text.find('\n'));
}

static bool isRightMajor(const std::string &version) {
  return std::atoi(version.c_str()) == kLlvmMajor;
}

/// The user's own choice: taken as it is, but never with a plugin that would crash in it.
static Clang chosenClang(const std::string &chosen, Language language) {
  const auto path = findProgram(chosen);
  if (!path)
    throw Failure{"PAGECAST_CLANG is '" + chosen + "', which is not an executable; set it to a clang 19"};
  const std::string version = clangVersion(path->string());
  if (!isRightMajor(version))
    throw Failure{"PAGECAST_CLANG is '" + chosen + "', which is " +
                  (version.empty() ? "no clang" : "version " + version) +
                  ", but the pass plugin can be loaded into LLVM 19 only; set it to a clang 19"};
  return {path->string(), language == Language::kCxx};
}

Clang findClang(Language language) {
  if (const auto chosen = environment("PAGECAST_CLANG"))
    return chosenClang(*chosen, language);
  const std::string driver = language == Language::kCxx ? "clang++" : "clang";
  for (const std::string &name : {driver + "-19", "/usr/lib/llvm-19/bin/" + driver})
    if (const auto path = findProgram(name))
      return {path->string(), false};
  const auto unversioned = findProgram(driver);
  const std::string version = unversioned ? clangVersion(unversioned->string()) : "";
  if (isRightMajor(version))
    return {unversioned->string(), false};
  throw Failure{"clang 19 was not found" +
                (version.empty() ? ""
                                 : " (the clang in PATH is version " + version +
                                       ", and the pass plugin "
                                       "can be loaded into LLVM 19 only)") +
                "; install the package clang-19 or set PAGECAST_CLANG to a clang 19"};
}

} // namespace pagecast::cli
