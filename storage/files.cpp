// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "storage/files.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::storage {
namespace {

int open_below(int directory, const char *name, uint64_t flags) {
  open_how how = {};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long fd = syscall(SYS_openat2, directory, name, &how, sizeof how);
  return fd < 0 ? -errno : int(fd);
}

/// For direct I/O where the file system has it. Whatever is no file is opened without waiting for a writer.
int open_file(int directory, const char *name) {
  const int fd = open_below(directory, name, O_RDONLY | O_NONBLOCK | O_DIRECT);
  return fd == -EINVAL ? open_below(directory, name, O_RDONLY | O_NONBLOCK) : fd;
}

void list_below(int directory, const std::string &before, unsigned *most, const std::function<void(const std::string &)> &each) {
  DIR *stream = fdopendir(directory);
  if (!stream) {
    ::close(directory);
    return;
  }
  std::vector<std::pair<std::string, bool>> found; // a name, and whether it is a directory
  while (const dirent *entry = readdir(stream)) {
    const std::string name = entry->d_name;
    struct stat status;
    if (name == "." || name == ".." || fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) found.emplace_back(name, S_ISDIR(status.st_mode));
  }
  std::sort(found.begin(), found.end());
  for (const auto &[name, is_directory] : found) {
    if (*most == 0) break;
    if (!is_directory) {
      --*most;
      each(before + name);
    } else if (const int below = openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); below >= 0) {
      list_below(below, before + name + "/", most, each);
    }
  }
  closedir(stream);
}

bool is_same(const File &file, const struct stat &status) {
  return file.device == status.st_dev && file.inode == status.st_ino && file.size == uint64_t(status.st_size);
}

} // namespace

Files::~Files() {
  for (File *file : files_) {
    if (file->fd >= 0) ::close(file->fd);
    if (file->writing >= 0) ::close(file->writing);
    delete file;
  }
  if (directory_ >= 0) ::close(directory_);
}

int Files::start(const char *directory, bool is_written) {
  is_written_ = is_written;
  directory_ = ::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return directory_ < 0 ? -errno : 0;
}

int Files::open(const std::string &name, File **out) {
  const int fd = open_file(directory_, name.c_str());
  if (fd < 0) return fd;
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
  }
  const int64_t changed = int64_t(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
  const std::lock_guard lock(mutex_);
  auto at = std::find_if(files_.begin(), files_.end(),
                         [&](const File *file) { return is_same(*file, status) && (is_written_ || file->changed == changed); });
  if (at == files_.end()) {
    files_.push_back(new File{status.st_dev, status.st_ino, uint64_t(status.st_size), changed, numbers_++});
    at = files_.end() - 1;
  }
  File &file = **at;
  if (file.users++ == 0) file.fd = fd;
  else ::close(fd);
  *out = &file;
  return 0;
}

int Files::write_to(const std::string &name, File *file) {
  // Past no cache: what clients write has any length. Direct reads see it all the same.
  const int fd = open_below(directory_, name.c_str(), O_WRONLY | O_NONBLOCK);
  if (fd < 0) return fd;
  struct stat status;
  const bool is_it = fstat(fd, &status) == 0 && is_same(*file, status);
  const std::lock_guard lock(mutex_);
  if (is_it && file->writing < 0) file->writing = fd;
  else ::close(fd);
  return is_it ? 0 : -ESTALE;
}

void Files::use(File *file) {
  const std::lock_guard lock(mutex_);
  ++file->users;
}

void Files::close(File *file) {
  const std::lock_guard lock(mutex_);
  if (--file->users != 0) return;
  ::close(file->fd);
  if (file->writing >= 0) ::close(file->writing);
  file->fd = file->writing = -1;
}

void Files::list(unsigned most, const std::function<void(const std::string &)> &each) const {
  const int top = openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (top >= 0) list_below(top, "", &most, each);
}

} // namespace pagecast::storage
