// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of the directory that is served. A name is a path below the directory; neither `..` nor a symbolic link leads
// out of it. A file is open while a connection uses it, and has one number for as long as it is unchanged.
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace pagecast::storage {

struct File {
  uint64_t device, inode, size;
  int64_t changed;  ///< when, in nanoseconds
  uint32_t number;  ///< of its blocks in the cache; a file that was changed meanwhile gets another one
  int fd = -1;      ///< -1 while no one uses it
  int writing = -1; ///< what is stored goes there; -1 before the first write
  uint32_t users = 0;
};

class Files {
public:
  Files() = default;
  Files(const Files &) = delete;
  Files &operator=(const Files &) = delete;
  ~Files();

  /// -errno when `directory` cannot be opened. `is_written`: files change by writes of clients, and stay the same files.
  int start(const char *directory, bool is_written = false);
  /// The file below the directory that has this name; to be closed. -errno when it cannot be read.
  int open(const std::string &name, File **file);
  /// Opens the file of this name for writing as well, where it is not; `file` is open. 0 or -errno.
  int write_to(const std::string &name, File *file);
  /// Another user of a file that is open; to be closed as well.
  void use(File *file);
  void close(File *file);
  /// Calls `each` with the names of up to `most` files, in order. Symbolic links are left out.
  void list(unsigned most, const std::function<void(const std::string &)> &each) const;

private:
  int directory_ = -1;
  bool is_written_ = false;
  std::mutex mutex_; ///< of all below
  std::vector<File *> files_;
  uint32_t numbers_ = 0;
};

} // namespace pagecast::storage
