// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that a process's command line names are probably read, in this order: hints of a kind of their own. Where the process
// waits for one of them, it has passed those before it. What a name stands for the prefetcher finds out: that may take a wait.
#include "speculate/control/controller.h"
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr unsigned kMostNames = 4096;
char arguments[512 << 10]; ///< what a command line may be long; the controller's thread
char path_of_name[kPathBytes]; ///< the same thread's

} // namespace

bool Controller::give_name(const char *base, const char *name) {
  static Hint hint;
  memset(&hint, 0, sizeof hint);
  if (name[0] == '-' || !name[0] || !join_path(hint.path, sizeof hint.path, base, name)) return false;
  hint.kind = HintKind::kAny;
  if (!prefetcher_.give(hint)) return false;
  log_.add_path(hint.path);
  statistics_.named++;
  return true;
}

namespace {

/// The first of the names that the process may still read: the one that it waits for, if it is one of them.
const char *first_left(const char *first, const char *end, const char *base, const char *waits_for) {
  char path[kPathBytes];
  for (const char *at = first; waits_for[0] && at < end; at += strlen(at) + 1)
    if (join_path(path, sizeof path, base, at) && !strcmp(path, waits_for)) return at;
  return first;
}

} // namespace

/// Once for each program that a process becomes.
void Controller::give_names(Watched &one, const Call &call) {
  if (one.thread.number() != one.thread.process()) return;
  char path[64], base[512];
  struct stat executable;
  snprintf(path, sizeof path, "/proc/%d/exe", one.thread.process());
  if (stat(path, &executable) || executable.st_ino == one.named) return;
  one.named = executable.st_ino;
  snprintf(path, sizeof path, "/proc/%d/cwd", one.thread.process());
  const ssize_t length = readlink(path, base, sizeof base - 1);
  if (length <= 0) return;
  base[length] = 0;
  snprintf(path, sizeof path, "/proc/%d/cmdline", one.thread.process());
  const char *const end = arguments + read_whole(path, arguments, sizeof arguments);
  char waits_for[kPathBytes];
  find_awaited_path(one.thread.process(), call, waits_for, sizeof waits_for);
  unsigned given = 0;
  const char *at = first_left(arguments + strlen(arguments) + 1, end, base, waits_for);
  const bool lists = call.number == SYS_getdents64 && at < end && join_path(path_of_name, sizeof path_of_name, base, at) &&
                     !strcmp(path_of_name, waits_for);
  if (lists) at += strlen(at) + 1; // the directory is being listed already
  for (; at < end && given < kMostNames; at += strlen(at) + 1) given += give_name(base, at);
}

} // namespace pagecast::speculate
