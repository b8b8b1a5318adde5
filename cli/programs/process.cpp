// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/process.h"
#include "cli/text/message.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
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

namespace {

constexpr int kMeantForTheProgram[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

volatile sig_atomic_t child = 0, last = 0;

void passOn(int signal, siginfo_t *info, void *) {
  const int error = errno;
  last = signal;
  const bool fromProcess = info->si_code <= 0; // else the kernel's, for a terminal
  if (child > 0 && fromProcess && info->si_pid != child) kill(static_cast<pid_t>(child), signal);
  errno = error;
}

/// No signal comes between the birth of the program and its number's being known.
class SignalsHeld {
public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsHeld() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld &) = delete;
  SignalsHeld &operator=(const SignalsHeld &) = delete;

private:
  sigset_t before_;
};

} // namespace

void passSignalsTo(pid_t pid) { child = pid; }

SignalsPassedOn::SignalsPassedOn() {
  last = 0;
  for (const int signal : kMeantForTheProgram) {
    struct sigaction action = {}, before = {};
    if (sigaction(signal, nullptr, &before) || before.sa_handler == SIG_IGN) continue;
    action.sa_sigaction = passOn;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    if (sigaction(signal, &action, nullptr) == 0) before_.push_back({signal, before});
  }
}

void SignalsPassedOn::restore() const {
  for (const auto &[signal, action] : before_) sigaction(signal, &action, nullptr);
}

pid_t SignalsPassedOn::forkChild() const {
  const pid_t parent = getpid();
  const SignalsHeld held;
  const pid_t pid = fork();
  if (pid > 0) passSignalsTo(pid);
  if (pid != 0) return pid;
  restore();
  // Who kills the command means the program. Nothing can be handed on then.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(128 + SIGKILL);
  return 0;
}

EndsAfterwards::~EndsAfterwards() {
  passSignalsTo(0);
  if (!last) return;
  std::signal(last, SIG_DFL);
  raise(last);
}

Ended runChild(const SignalsPassedOn &signals, const std::function<void()> &become) {
  std::fflush(nullptr);
  const pid_t pid = signals.forkChild();
  if (pid < 0) throw Failure{std::string("the program could not be started: ") + errorText(errno)};
  if (pid == 0) {
    try {
      become();
    } catch (const Failure &failure) { _exit(reportFailure(failure)); }
    _exit(kBadUsage);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR);
  passSignalsTo(0);
  return WIFSIGNALED(status) ? Ended{0, WTERMSIG(status)} : Ended{WEXITSTATUS(status), 0};
}

void endAs(const Ended &ended) {
  if (ended.signal) {
    std::signal(ended.signal, SIG_DFL);
    raise(ended.signal);
  }
  std::exit(ended.signal ? 128 + ended.signal : ended.status);
}

} // namespace pagecast::cli
