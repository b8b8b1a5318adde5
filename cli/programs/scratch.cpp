// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/programs/scratch.h"
#include "cli/programs/paths.h"
#include "cli/text/message.h"
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
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

bool ScratchFolder::make(const fs::path &in, const std::string &prefix) {
  removeLeftBehind(in, prefix);
  for (;;) {
    std::string pattern = (in / (prefix + "XXXXXX")).string();
    if (!mkdtemp(pattern.data())) return false;
    path_ = pattern;
    lock_ = openFolder(path_);
    if (lock_ < 0) continue; // another command took it for one that was left
    flock(lock_, LOCK_EX);   // where there are no locks, nobody takes it away either
    if (isThere(lock_)) return true;
    close(lock_);
  }
}

ScratchFolder::ScratchFolder(const std::string &kind) {
  const fs::path in = environment("TMPDIR").value_or("/tmp");
  const std::string prefix = "pagecast-" + kind + "-";
  if (!make(in, prefix))
    throw Failure{"no directory could be made at " + (in / prefix).native() + "XXXXXX: " + errorText(errno) +
                  "; set TMPDIR to a directory that can be written"};
}

ScratchFolder::ScratchFolder(const std::string &kind, const std::string &socket) {
  std::error_code ignored;
  const std::string prefix = "pagecast-" + kind + "-";
  fs::path tried;
  for (const fs::path &in :
       {fs::path(environment("XDG_RUNTIME_DIR").value_or("")), fs::temp_directory_path(ignored), fs::path("/tmp")}) {
    if (!in.is_absolute()) continue;
    tried = in / (prefix + "XXXXXX");
    errno = ENAMETOOLONG;
    if ((tried / socket).native().size() < sizeof sockaddr_un::sun_path && make(in, prefix)) return;
  }
  throw Failure{tried.native() + " cannot be made: " + errorText(errno) + "; set TMPDIR to a directory that can be written"};
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(lock_);
}

} // namespace pagecast::cli
