// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A directory of the command's own, for what it needs for as long as it runs.
#pragma once
#include <filesystem>
#include <string>

namespace pagecast::cli {

/// Gone at the end of its scope. A command that is killed cannot take it away, so the next one of its kind does: the owner holds
/// a lock on it, which ends with the process.
class ScratchFolder {
public:
  /// Makes one in $TMPDIR or /tmp, named after `kind`, and removes those that dead commands of this user left. Throws Failure.
  explicit ScratchFolder(const std::string &kind);
  /// Makes it for `socket`: in the first of $XDG_RUNTIME_DIR, $TMPDIR and /tmp where the path of a socket of that name, which may
  /// have 107 bytes, is not too long.
  ScratchFolder(const std::string &kind, const std::string &socket);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  std::string operator/(const char *name) const { return (path_ / name).string(); }

  const std::filesystem::path &path() const { return path_; }

private:
  /// Whether it could be made there; errno says why not.
  bool make(const std::filesystem::path &in, const std::string &prefix);

  std::filesystem::path path_;
  int lock_ = -1; ///< closed when a child becomes another program
};

} // namespace pagecast::cli
