// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/scratch.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace pagecast::cli {
namespace {

int openFolder(const fs::path &path) { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

/// Whether the directory at `fd` is ours and has not been removed.
bool isThere(int fd) {
  struct stat s;
  return fstat(fd, &s) == 0 && s.st_nlink > 0 && s.st_uid == geteuid();
}

void removeIfNobodyUses(const fs::path &path) {
  const int fd = openFolder(path);
  if (fd < 0) return;
  std::error_code ignored;
  if (isThere(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, ignored);
  close(fd);
}

void removeLeftBehind(const fs::path &in, const std::string &prefix) {
  std::error_code error;
  for (fs::directory_iterator at(in, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().native().rfind(prefix, 0) == 0) removeIfNobodyUses(at->path());
}

} // namespace

ScratchFolder::ScratchFolder(const std::string &kind) {
  const fs::path in = environment("TMPDIR").value_or("/tmp");
  const std::string prefix = "pagecast-" + kind + "-";
  removeLeftBehind(in, prefix);
  while (lock_ < 0) {
    std::string pattern = (in / (prefix + "XXXXXX")).string();
    if (!mkdtemp(pattern.data()))
      throw Failure{"no directory could be made at " + pattern + ": " + errorText(errno) +
                    "; set TMPDIR to a directory that can be written"};
    path_ = pattern;
    lock_ = openFolder(path_);
    if (lock_ < 0) continue; // another command took it for one that was left
    flock(lock_, LOCK_EX);   // where there are no locks, nobody takes it away either
    if (isThere(lock_)) return;
    close(lock_);
    lock_ = -1;
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(lock_);
}

} // namespace pagecast::cli
