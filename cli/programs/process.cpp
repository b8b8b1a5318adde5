// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/process.h"
#include "cli/programs/signals.h"
#include <cerrno>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pagecast::cli {

static std::string readAll(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    else if (n == 0 || errno != EINTR) return text;
  }
}

Finished runProgram(const std::vector<std::string> &command, Keep keep) {
  int pipe[2];
  if (command.empty() || pipe2(pipe, O_CLOEXEC) != 0) return {};
  const int kept = keep == Keep::kOutput ? STDOUT_FILENO : STDERR_FILENO;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    if (fd == kept) posix_spawn_file_actions_adddup2(&actions, pipe[1], fd);
    else posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  std::vector<char *> raw;
  for (const std::string &word : command) raw.push_back(const_cast<char *>(word.c_str()));
  raw.push_back(nullptr);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, raw[0], &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  Finished out;
  if (!failed) passSignalsTo(child);
  if (!failed) out.text = readAll(pipe[0]);
  close(pipe[0]);
  int status = 0;
  pid_t ended = -1;
  while (!failed && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR);
  passSignalsTo(0);
  if (ended == child && WIFEXITED(status)) out.status = WEXITSTATUS(status);
  return out;
}

} // namespace pagecast::cli
