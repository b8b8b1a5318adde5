// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carrying out one hint: brings a file's pages or a name's facts into the kernel's caches, and waits for them. Only regular
// files and directories are opened, and no access time changes where the kernel allows that.
#pragma once
#include <cstdint>

namespace pagecast::speculate {

inline constexpr uint64_t kPieceBytes = 128 << 10; ///< what is asked of a device at once
inline constexpr uint64_t kScratchBytes = 16 << 10; ///< where what was read is written, again and again: nobody looks at it

/// A file that a thread reads from, kept open from one hint to the next of the same file.
class FetchedFile {
public:
  FetchedFile() = default;
  FetchedFile(const FetchedFile &) = delete;
  FetchedFile &operator=(const FetchedFile &) = delete;
  ~FetchedFile() { close(); }

  /// 0 or -errno.
  int open(const char *path);
  void close();
  uint64_t inode() const { return inode_; }
  uint64_t size() const { return size_; }
  /// fetch() reads by read calls, which the process is charged for.
  bool is_read() const { return silent_; }
  /// Are all pages of these bytes in memory?
  bool is_cached(uint64_t offset, uint64_t length) const;
  /// Reads up to kPieceBytes into the page cache. Returns bytes, or -errno.
  int64_t fetch(uint64_t offset, uint64_t length, char *scratch);

  /// ns that it takes to read there for who opens the file now; 0 if that fails.
  uint64_t time_again(uint64_t offset, char *scratch) const;

private:
  int file_ = -1;
  bool silent_ = false; ///< reads leave the access time alone
  uint64_t inode_ = 0, size_ = 0;
  char path_[512] = {};
};

/// The facts of a name. 0 or -errno.
int fetch_facts(const char *path);
struct Listing {
  bool may_stop = false; ///< given: if what is listed is seen to be dropped at once, the rest is of no use
  bool dropped = false;  ///< it was
  uint64_t device = 0;   ///< that the directory is on
  uint64_t first = 0;    ///< ns until the first names came
};
/// The names in a directory, as far as `scratch` goes many times over. 0 or -errno.
int fetch_names(const char *path, char *scratch, Listing *listing);
/// The first of them alone.
int fetch_first_names(const char *path, char *scratch, Listing *listing);

} // namespace pagecast::speculate
