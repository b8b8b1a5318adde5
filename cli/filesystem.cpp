// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "filesystem.h"
#include "message.h"
#include "size.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace pagecast::cli {

/// Room for the smallest backing file that makes sense.
static constexpr uint64_t kFull = 1u << 20;

static std::string typeName(uint64_t magic) {
  static const std::map<uint64_t, std::string> names = {
      {0xEF53, "ext4"},      {0x58465342, "xfs"},       {0x9123683E, "btrfs"}, {0x01021994, "tmpfs"},
      {0x858458F6, "ramfs"}, {0x794C7630, "overlay"},   {0x6969, "nfs"},       {0x2FC12FC1, "zfs"},
      {0xF2F52010, "f2fs"},  {0xCA451A4E, "bcachefs"},  {0x65735546, "fuse"},  {0x4D44, "vfat"},
      {0xFF534D42, "cifs"},  {0xFE534D42, "smb2"},      {0x01021997, "9p"},    {0x9FA0, "proc"},
      {0x62656572, "sysfs"}, {0x958458F6, "hugetlbfs"}, {0x2011BAB0, "exfat"}, {0x0BD00BD0, "lustre"}};
  const auto found = names.find(magic & 0xFFFFFFFF);
  if (found != names.end())
    return found->second;
  char text[32];
  std::snprintf(text, sizeof text, "type 0x%llx", static_cast<unsigned long long>(magic));
  return text;
}

int openNameless(const std::string &directory, int flags) {
  const int direct = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (direct >= 0)
    return direct;
  // Some file systems cannot make nameless files; what the others refuse is final.
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)
    return -errno;
  std::string name = directory + "/pagecast-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC | flags);
  if (named < 0)
    return -errno;
  unlink(name.c_str());
  return named;
}

static DirectoryInfo inspect(const std::string &directory) {
  struct statfs info;
  if (statfs(directory.c_str(), &info) != 0)
    throw Failure{"the backing directory " + directory + " cannot be examined: " + errorText(errno)};
  DirectoryInfo out;
  out.type = typeName(static_cast<uint64_t>(info.f_type));
  out.freeBytes = static_cast<uint64_t>(info.f_bavail) * static_cast<uint64_t>(info.f_bsize);
  out.inMemory = out.type == "tmpfs" || out.type == "ramfs" || out.type == "hugetlbfs";
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
    throw Failure{"the backing directory " + directory +
                  " is on a read-only file system; name a writable one with --backing"};
  throw Failure{"no file can be made in the backing directory " + directory + ": " + errorText(-file) +
                "; name a writable one with --backing"};
}

DirectoryInfo checkBackingDirectory(const std::string &directory) {
  requireDirectory(directory);
  const DirectoryInfo info = inspect(directory);
  if (info.inMemory)
    throw Failure{
        "the backing directory " + directory + " is a " + info.type +
        ", which lives in the memory that is to be saved; name a directory on a disk with --backing"};
  requireWritable(directory);
  if (info.freeBytes < kFull)
    throw Failure{"the backing directory " + directory + " is full: " + showSize(info.freeBytes) +
                  " are free; make room or name another one with --backing"};
  return info;
}

} // namespace pagecast::cli
