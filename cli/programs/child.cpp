// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/child.h"
#include "cli/text/message.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace pagecast::cli {

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
