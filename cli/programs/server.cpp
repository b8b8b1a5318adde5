// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/server.h"
#include "cli/text/message.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pagecast::cli {
namespace {

constexpr long kLookEvery = 10, kForEver = 1000; // milliseconds: a child's end is a signal, too
constexpr std::chrono::milliseconds kTwice{500}; ///< timeout(1) asks twice at once, and a person does not

/// Who started this program has it ignore the signal: nohup, or a shell in the background.
bool isIgnored(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

Server::Server(const std::vector<std::string> &command) : command_(command) {
  sigemptyset(&awaited_);
  sigaddset(&awaited_, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!isIgnored(signal)) sigaddset(&awaited_, signal);
  sigprocmask(SIG_BLOCK, &awaited_, &before_);
  start();
}

void Server::start() {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &before_);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions; // what it says must not mix with results
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  std::vector<char *> raw;
  for (const std::string &word : command_) raw.push_back(const_cast<char *>(word.c_str()));
  raw.push_back(nullptr);
  const int failed = posix_spawn(&child_, raw[0], &actions, &attributes, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (!failed) return;
  child_ = -1;
  sigprocmask(SIG_SETMASK, &before_, nullptr);
  throw Failure{command_[0] + " cannot be run: " + errorText(failed)};
}

Server::~Server() {
  if (child_ > 0) {
    kill(child_, SIGTERM);
    waitpid(child_, &status_, 0);
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

/// Waits for a signal for so long at most, and hands it on.
void Server::takeSignal(long milliseconds) {
  const timespec time = {milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  const int signal = sigtimedwait(&awaited_, nullptr, &time);
  if (signal > 0 && signal != SIGCHLD && child_ > 0) ask();
  look();
}

void Server::ask() {
  const auto now = std::chrono::steady_clock::now();
  if (askedAt_ && now - *askedAt_ < kTwice) return;
  kill(child_, askedAt_ ? SIGKILL : SIGTERM);
  if (!askedAt_) askedAt_ = now;
}

void Server::look() {
  if (child_ <= 0) return;
  const pid_t found = waitpid(child_, &status_, WNOHANG);
  // Who started this program may have it ignore SIGCHLD: then there is no status to wait for.
  if (found == child_ || (found < 0 && errno == ECHILD)) child_ = -1;
}

bool Server::waitUntilReady(const std::filesystem::path &ready) {
  std::error_code error;
  while (child_ > 0 && !std::filesystem::exists(ready, error)) takeSignal(kLookEvery);
  return child_ > 0;
}

bool Server::hasAborted() const { return child_ <= 0 && WIFSIGNALED(status_) && WTERMSIG(status_) == SIGABRT; }

void Server::startAgain() {
  if (child_ <= 0) start();
}

bool Server::waitUntilEnd() {
  while (child_ > 0) takeSignal(kForEver);
  return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

} // namespace pagecast::cli
