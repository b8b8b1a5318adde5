// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/tip/fetch.h"
#include "speculate/watch/clock.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

namespace pagecast::speculate {
namespace {

constexpr long kCacheStat = 451;
constexpr int kMostNameReads = 2048; ///< of kScratchBytes: a million names and more

/// Opens for reading what `look`, opened with O_PATH, stands for.
int open_again(int look, int flags) {
  char path[40];
  snprintf(path, sizeof path, "/proc/self/fd/%d", look);
  return open(path, O_RDONLY | O_CLOEXEC | flags);
}

} // namespace

int FetchedFile::open(const char *path) {
  if (file_ >= 0 && !strcmp(path, path_)) return 0;
  close();
  const int look = ::open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (look < 0) return -errno;
  struct stat facts;
  if (fstat(look, &facts) || !S_ISREG(facts.st_mode)) {
    ::close(look);
    return -EINVAL;
  }
  file_ = open_again(look, O_NOATIME);
  silent_ = file_ >= 0;
  if (!silent_) file_ = open_again(look, 0);
  const int failure = file_ < 0 ? -errno : 0;
  ::close(look);
  if (failure) return failure;
  posix_fadvise(file_, 0, 0, POSIX_FADV_RANDOM); // no more than what is asked for
  inode_ = facts.st_ino;
  size_ = static_cast<uint64_t>(facts.st_size);
  snprintf(path_, sizeof path_, "%s", path);
  return 0;
}

void FetchedFile::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

bool FetchedFile::is_cached(uint64_t offset, uint64_t length) const {
  const struct {
    uint64_t offset, length;
  } range = {offset & ~uint64_t{4095}, ((offset + length + 4095) & ~uint64_t{4095}) - (offset & ~uint64_t{4095})};
  struct {
    uint64_t cached, dirty, written_back, evicted, recently_evicted;
  } facts = {};
  return syscall(kCacheStat, file_, &range, &facts, 0) == 0 && facts.cached * 4096 >= range.length;
}

uint64_t FetchedFile::time_again(uint64_t offset, char *scratch) const {
  FetchedFile again;
  if (again.open(path_)) return 0;
  const uint64_t begin = monotonic_now();
  return pread(again.file_, scratch, 1, static_cast<off_t>(offset)) == 1 ? monotonic_now() - begin : 0;
}

int64_t FetchedFile::fetch(uint64_t offset, uint64_t length, char *scratch) {
  const uint64_t piece = std::min(length, kPieceBytes);
  if (silent_) {
    iovec parts[kPieceBytes / kScratchBytes];
    int count = 0;
    for (uint64_t done = 0; done < piece; done += kScratchBytes)
      parts[count++] = {scratch, std::min(piece - done, kScratchBytes)};
    const ssize_t n = preadv(file_, parts, count, static_cast<off_t>(offset));
    return n < 0 ? -errno : n;
  }
  return readahead(file_, static_cast<off_t>(offset), piece) ? -errno : static_cast<int64_t>(piece);
}

int fetch_facts(const char *path) {
  struct stat facts;
  return fstatat(AT_FDCWD, path, &facts, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) ? -errno : 0;
}

namespace {

/// A file system in user space keeps what it lists in the directory's own pages, or not at all. Then the rest need not be listed to
/// know it. False, too, where that cannot be told: of another user's directory, of another kind of file system, by an older kernel.
bool is_dropped(int directory) {
  const struct {
    uint64_t offset, length;
  } all = {0, 0};
  struct {
    uint64_t cached, dirty, written_back, evicted, recently_evicted;
  } pages = {};
  struct statfs kind;
  return syscall(kCacheStat, directory, &all, &pages, 0) == 0 && pages.cached == 0 && fstatfs(directory, &kind) == 0 &&
         kind.f_type == FUSE_SUPER_MAGIC;
}

int list(const char *path, char *scratch, int reads, Listing *listing) {
  const uint64_t begin = monotonic_now();
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
  if (directory < 0) directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return -errno;
  bool more = true;
  for (int i = 0; i < reads && more; i++) {
    more = syscall(SYS_getdents64, directory, scratch, kScratchBytes) > 0;
    if (i > 0) continue;
    listing->first = monotonic_now() - begin;
    listing->dropped = listing->may_stop && more && is_dropped(directory);
    if (listing->dropped) break;
  }
  struct statx facts;
  if (reads > 1 && statx(directory, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &facts) == 0) // no server is asked
    listing->device = makedev(facts.stx_dev_major, facts.stx_dev_minor);
  ::close(directory);
  return 0;
}

} // namespace

int fetch_names(const char *path, char *scratch, Listing *listing) { return list(path, scratch, kMostNameReads, listing); }

int fetch_first_names(const char *path, char *scratch, Listing *listing) { return list(path, scratch, 1, listing); }

} // namespace pagecast::speculate
