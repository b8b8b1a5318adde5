// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/job_helper.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include "runtime/nbd/job.h"
#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pagecast::cli {
namespace {

/// In a process of its own: says its number, and becomes the helper, which says a byte when it is ready.
[[noreturn]] void becomeHelper(const std::vector<char *> &raw, int ready, const cpu_set_t *processors) {
  const pid_t self = getpid();
  setsid();
  if (processors) sched_setaffinity(0, sizeof *processors, processors);
  if (write(ready, &self, sizeof self) == sizeof self && dup2(ready, Job::kReady) >= 0) {
    fcntl(Job::kReady, F_SETFD, 0);
    unsetenv("LD_PRELOAD");
    execv(raw[0], raw.data());
  }
  _exit(127);
}

/// The last processor of those that this process may use, and the others. False: there are no others.
bool splitProcessors(cpu_set_t *last, cpu_set_t *others) {
  CPU_ZERO(last);
  if (sched_getaffinity(0, sizeof *others, others) || CPU_COUNT(others) < 2) return false;
  int at = CPU_SETSIZE - 1;
  while (!CPU_ISSET(at, others)) --at;
  CPU_SET(at, last);
  CPU_CLR(at, others);
  return true;
}

} // namespace

pid_t startJobHelper(const std::vector<std::string> &rules, const std::vector<std::string> &plan, bool own) {
  std::vector<std::string> words{libraryDirectory() / "pagecast" / "pagecast-nbd", "help"};
  words.insert(words.end(), rules.begin(), rules.end());
  words.push_back(std::to_string(getpid()));
  words.insert(words.end(), plan.begin(), plan.end());
  std::vector<char *> raw;
  for (const std::string &word : words) raw.push_back(const_cast<char *>(word.c_str()));
  raw.push_back(nullptr);
  cpu_set_t last, others;
  const bool isApart = own && splitProcessors(&last, &others);
  if (own && !isApart) warn("there is one processor: the helper runs beside the processes");
  int ready[2];
  if (pipe2(ready, O_CLOEXEC)) throw Failure{"no pipe can be made: " + errorText(errno)};
  const pid_t between = fork(); // it ends at once, so that the helper is nobody's child
  if (between == 0) {
    if (fork() == 0) becomeHelper(raw, ready[1], isApart ? &last : nullptr);
    _exit(0);
  }
  close(ready[1]);
  while (between > 0 && waitpid(between, nullptr, 0) < 0 && errno == EINTR) {}
  pid_t helper = 0;
  char byte;
  const bool isReady = read(ready[0], &helper, sizeof helper) == sizeof helper && read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  if (!isReady)
    warn("the helper, " + words[0] + ", cannot be started; it needs the library libnbd. Each process asks for its own blocks");
  if (isReady && isApart) sched_setaffinity(0, sizeof others, &others);
  return isReady ? helper : 0;
}

} // namespace pagecast::cli
