// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/machine/filesystem.h"
#include "cli/text/message.h"
#include "cli/text/spelling.h"
#include "runtime/kernel/file_systems.h"
#include "runtime/state/options.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace pagecast::cli {

/// Room for the smallest backing file that makes sense.
static constexpr uint64_t kFull = 1u << 20;

int openNameless(const std::string &directory, int flags) {
  const int direct = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (direct >= 0) return direct;
  // Some file systems cannot make nameless files; what the others refuse is final.
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) return -errno;
  std::string name = directory + "/pagecast-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC | flags);
  if (named < 0) return -errno;
  unlink(name.c_str());
  return named;
}

static DirectoryInfo inspect(const std::string &directory) {
  struct statfs info;
  if (statfs(directory.c_str(), &info) != 0)
    throw Failure{"the backing directory " + directory + " cannot be examined: " + errorText(errno)};
  DirectoryInfo out;
  const auto magic = static_cast<uint32_t>(info.f_type);
  const FileSystem *known = known_file_system(magic);
  char unknown[32];
  std::snprintf(unknown, sizeof unknown, "type 0x%x", magic);
  out.type = known ? known->name : unknown;
  out.freeBytes = static_cast<uint64_t>(info.f_bavail) * static_cast<uint64_t>(info.f_bsize);
  out.inMemory = known && known->in_memory;
  return out;
}

static void requireDirectory(const std::string &directory) {
  struct stat info;
  if (stat(directory.c_str(), &info) != 0)
    throw Failure{"the backing directory " + directory + " cannot be used: " + errorText(errno) +
                  "; make it or name another one with --backing"};
  if (!S_ISDIR(info.st_mode))
    throw Failure{"the backing directory " + directory + " is not a directory; name one with --backing"};
}

static void requireWritable(const std::string &directory) {
  const int file = openNameless(directory, 0);
  if (file >= 0) {
    close(file);
    return;
  }
  if (file == -EROFS)
    throw Failure{"the backing directory " + directory + " is on a read-only file system; name a writable one with --backing"};
  throw Failure{"no file can be made in the backing directory " + directory + ": " + errorText(-file) +
                "; name a writable one with --backing"};
}

bool isAddress(const std::string &backing) { return is_server_address(backing.c_str()); }

std::vector<std::string> backingParts(const std::string &list) {
  struct stat s;
  if (stat(list.c_str(), &s) == 0) return {list};
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, ',');)
    if (!part.empty()) parts.push_back(part);
  return parts.empty() ? std::vector<std::string>{list} : parts;
}

DirectoryInfo checkBackingDirectory(const std::string &directory) {
  requireDirectory(directory);
  const DirectoryInfo info = inspect(directory);
  if (info.inMemory)
    throw Failure{"the backing directory " + directory + " is a " + info.type +
                  (info.type == "proc" || info.type == "sysfs" ? ", whose files hold no data"
                                                               : ", which lives in the memory that is to be saved") +
                  "; name a directory on a disk with --backing"};
  requireWritable(directory);
  if (info.freeBytes < kFull)
    throw Failure{"the backing directory " + directory + " is full: " + showSize(info.freeBytes) +
                  " are free; make room or name another one with --backing"};
  return info;
}

} // namespace pagecast::cli
