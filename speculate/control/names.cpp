// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that a process's command line names are probably read, in this order: hints of a kind of their own.
#include "speculate/control/controller.h"
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr unsigned kMostNames = 4096;
char arguments[512 << 10]; ///< what a command line may be long; the controller's thread

} // namespace

bool Controller::give_name(const char *base, const char *name) {
  static Hint hint;
  struct stat facts;
  memset(&hint, 0, sizeof hint);
  if (name[0] == '-' || !name[0] || !join_path(hint.path, sizeof hint.path, base, name)) return false;
  if (stat(hint.path, &facts) || (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode))) return false;
  hint.kind = S_ISREG(facts.st_mode) ? HintKind::kOpen : HintKind::kDirectory;
  hint.device = facts.st_dev;
  if (!prefetcher_.give(hint)) return false;
  log_.add_path(hint.path);
  statistics_.named++;
  return true;
}

/// Once for each program that a process becomes.
void Controller::give_names(Watched &one) {
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
  unsigned given = 0;
  for (const char *at = arguments + strlen(arguments) + 1; at < end && given < kMostNames; at += strlen(at) + 1)
    given += give_name(base, at);
}

} // namespace pagecast::speculate
