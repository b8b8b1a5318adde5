// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/signals.h"
#include <cerrno>
#include <sys/prctl.h>
#include <unistd.h>

namespace pagecast::cli {
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

} // namespace pagecast::cli
