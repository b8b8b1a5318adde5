// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Direct reads of the program's own (O_DIRECT) into regions. The device would write to memory past the page tables,
// unseen by the pager, which might have written the page out and discarded it meanwhile: the data would be lost. So
// they go through a buffer of ours. Direct writes need nothing: who reads a page that was discarded reads what it held.
// Reads into what is no region yet are noted (reads.h), so that it does not become one under them.
//
// Large reads through the page cache go into regions in pieces. While the kernel copies, it keeps hold of up to 15 folios of the file, of
// up to 2 MiB each, also while it waits for the pager to place a page. None of them can be given up then, so that a small control
// group is full, and the kernel ends the program.
#include "runtime/interpose/next.h"
#include "runtime/process/allocations.h"
#include "runtime/kernel/lock.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/process/named_maps.h"
#include "runtime/process/reads.h"
#include "runtime/process/runtime.h"
#include "runtime/profile/profile.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

extern "C" {
ssize_t __read(int, void *, size_t);
ssize_t __pread64(int, void *, size_t, off_t);
}

using namespace pagecast;

#define EXPORTED __attribute__((visibility("default")))

namespace {

constexpr size_t kBuffer = 1u << 20; ///< one piece of a direct read
constexpr size_t kPiece = 256u << 10; ///< of a read through the page cache
/// The kernel reads up to 8 MiB ahead on some disks, and as much again on top. A smaller budget than this has no room for that, and so
/// much is read ahead for it instead.
constexpr uint64_t kSmallBudget = 64u << 20;
constexpr size_t kAhead = 2 * kPiece;
constexpr size_t kMostAtOnce = 0x7ffff000; ///< bytes; the kernel reads no more at a time
constexpr off_t kPosition = -1; ///< of the open file

/// Whether the read, which is `noted` (or is none of those that can be), is a direct one into a region. The lock behind
/// allocation_paged, which a signal handler must neither meet nor leave by a jump, is only taken for direct files.
bool must_detour(int fd, const void *to, size_t bytes, bool noted) {
  const auto begin = reinterpret_cast<uint64_t>(to);
  if (bytes == 0 || !allocation_near(begin, begin + bytes) || (noted && !runtime_running_engine())) return false;
  if (!may_be_direct(fd)) return false;
  const NoSignals whole;
  return !noted || allocation_paged(begin, begin + bytes);
}

using Preadv2 = ssize_t (*)(int, const iovec *, int, off_t, int);

/// As preadv2 with one vector.
ssize_t plain(int fd, void *to, size_t bytes, off_t at, int flags = 0) {
  if (flags == 0) return at == kPosition ? __read(fd, to, bytes) : __pread64(fd, to, bytes, at);
  static Preadv2 real = next<Preadv2>("preadv64v2");
  const iovec vector{to, bytes};
  return real(fd, &vector, 1, at, flags);
}

/// Copies to memory that another thread may be about to unmap, or move: the kernel's answer is EFAULT then, and ours.
size_t store(void *to, const char *from, size_t bytes) {
  if (!sandboxed()) return os::store_memory(reinterpret_cast<uint64_t>(to), from, bytes);
  memcpy(to, from, bytes);
  return bytes;
}

/// As read or pread; pieces as long as they are full ones.
ssize_t through_buffer(ReadUnderWay &under_way, int fd, void *to, size_t bytes, off_t at, int flags = 0) {
  const size_t piece = std::min(bytes, kBuffer);
  // As far from a page's beginning as the program's own: what the file system demands stays as it is.
  const size_t skew = reinterpret_cast<uint64_t>(to) & (os::page_size() - 1);
  char *buffer = under_way.take_buffer(piece + os::page_size());
  if (!buffer) return errno = ENOMEM, -1;
  size_t done = 0;
  int error = 0;
  while (done < bytes) {
    const size_t want = std::min(bytes - done, piece);
    const ssize_t got = plain(fd, buffer + skew, want, at == kPosition ? at : at + static_cast<off_t>(done), flags);
    if (got < 0) error = errno;
    if (got <= 0) break;
    const size_t stored = store(static_cast<char *>(to) + done, buffer + skew, static_cast<size_t>(got));
    if (stored < static_cast<size_t>(got)) error = EFAULT;
    done += stored;
    if (stored < want) break;
  }
  under_way.drop_buffer();
  if (done == 0 && error) return errno = error, -1;
  return static_cast<ssize_t>(done);
}

/// One vector after the other.
ssize_t scattered(ReadUnderWay &under_way, int fd, const iovec *to, int count, off_t at, int flags = 0) {
  ssize_t done = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t got = through_buffer(under_way, fd, to[i].iov_base, to[i].iov_len, at == kPosition ? at : at + done, flags);
    if (got < 0) return done ? done : -1;
    done += got;
    if (static_cast<size_t>(got) < to[i].iov_len) break;
  }
  return done;
}

/// Whether a plain read of so many bytes into [begin, end) goes in pieces.
bool must_go_in_pieces(size_t bytes, uint64_t begin, uint64_t end) {
  return bytes > kPiece && allocation_near(begin, end) && runtime_running_engine() && !sandboxed();
}

/// As readv or preadv, of a regular file from the place `from` on. `at`: as it was asked for.
ssize_t in_pieces(int fd, const iovec *to, int count, size_t bytes, off_t at, off_t from) {
  const bool is_small = runtime_budget() < kSmallBudget;
  const int advice = read_advice(fd); // the program's, which must stay
  if (is_small) os::advise_file(fd, 0, 0, POSIX_FADV_RANDOM);
  size_t done = 0;
  int error = 0;
  for (bool full = true; full && count > 0; ++to, --count) {
    for (size_t in_this = 0; full && in_this < to->iov_len && done < bytes;) {
      const size_t want = std::min({to->iov_len - in_this, kPiece, bytes - done});
      if (is_small) os::will_read(fd, static_cast<uint64_t>(from) + done + want, kAhead);
      const ssize_t got = __pread64(fd, static_cast<char *>(to->iov_base) + in_this, want, from + static_cast<off_t>(done));
      if (got < 0) error = errno;
      full = got == static_cast<ssize_t>(want);
      if (got <= 0) break;
      in_this += static_cast<size_t>(got);
      done += static_cast<size_t>(got);
    }
  }
  if (is_small) os::advise_file(fd, 0, 0, advice);
  if (at == kPosition && done < bytes) lseek(fd, static_cast<off_t>(done) - static_cast<off_t>(bytes), SEEK_CUR);
  if (done == 0 && error) return errno = error, -1;
  return static_cast<ssize_t>(done);
}

/// The same where that is right: the file must be longer than a piece, which no pipe, no device and no file of /proc is. The place of the
/// whole is taken first, so that who shares the descriptor goes on behind it; where the file system has no such place, all goes as one.
template <typename Real>
ssize_t in_pieces_or(int fd, const iovec *to, int count, off_t at, uint64_t begin, uint64_t end, Real real) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes = std::min(kMostAtOnce, bytes + std::min(to[i].iov_len, kMostAtOnce));
  if (!must_go_in_pieces(bytes, begin, end) || os::regular_bytes(fd) <= kPiece) return real();
  off_t stop = 0;
  if (__builtin_add_overflow(at, static_cast<off_t>(bytes), &stop)) return real();
  if (at == kPosition && (stop = lseek(fd, static_cast<off_t>(bytes), SEEK_CUR)) < 0) return real();
  return in_pieces(fd, to, count, bytes, at, stop - static_cast<off_t>(bytes));
}

using Fread = size_t (*)(void *, size_t, size_t, FILE *);

/// As fread, whose own calls of read nobody sees.
size_t stream_in_pieces(Fread real, void *to, size_t size, size_t count, FILE *file) {
  const auto begin = reinterpret_cast<uint64_t>(to);
  size_t bytes = 0, done = 0;
  if (__builtin_mul_overflow(size, count, &bytes) || !must_go_in_pieces(bytes, begin, begin + bytes))
    return real(to, size, count, file);
  while (done < bytes) {
    const size_t want = std::min(bytes - done, kPiece), got = real(static_cast<char *>(to) + done, 1, want, file);
    done += got;
    if (got < want) break;
  }
  return done / size;
}

bool must_scatter(int fd, const iovec *to, int count, bool noted) {
  if (!runtime_running_engine()) return false; // the kernel tells what is wrong with the vectors
  for (int i = 0; i < count; ++i)
    if (must_detour(fd, to[i].iov_base, to[i].iov_len, noted)) return true;
  return false;
}

/// What was read, as a profile wants to know it.
ssize_t noted(ssize_t got, int fd, off_t at) {
  if (got > 0 && profile::is_on()) profile::read(fd, at, static_cast<uint64_t>(got));
  return got;
}

/// Reads from a descriptor that stands for an export. False: it does not.
bool read_map(int fd, void *to, size_t bytes, off_t at, ssize_t *got) {
  const NamedMap map = named_map_of(fd);
  if (map.number < 0) return false;
  const off_t from = at == kPosition ? lseek(fd, 0, SEEK_CUR) : at;
  const int64_t n = named_map_read(map, to, bytes, static_cast<uint64_t>(from));
  if (at == kPosition && n > 0) lseek(fd, from + n, SEEK_SET);
  *got = n < 0 ? (errno = static_cast<int>(-n), -1) : static_cast<ssize_t>(n);
  return true;
}

ssize_t read_one(int fd, void *to, size_t bytes, off_t at) {
  ssize_t got = 0;
  if (named_maps_any() && read_map(fd, to, bytes, at, &got)) return got;
  const auto begin = reinterpret_cast<uint64_t>(to);
  if (bytes == 0 || !allocation_near(begin, begin + bytes) || sandboxed_strictly()) return plain(fd, to, bytes, at);
  ReadUnderWay under_way(begin, begin + bytes, fd);
  if (must_detour(fd, to, bytes, under_way.noted())) {
    under_way.detour();
    return through_buffer(under_way, fd, to, bytes, at);
  }
  const iovec whole{to, bytes};
  return in_pieces_or(fd, &whole, 1, at, begin, begin + bytes, [&] { return plain(fd, to, bytes, at); });
}

/// `real()` does it the plain way. The vectors are not looked at before the pager runs: the read may go to any allocation.
template <typename Real> ssize_t read_many(int fd, const iovec *to, int count, off_t at, int flags, Real real) {
  if (named_maps_any() && count > 0) {
    ssize_t done = 0, got = 0;
    for (int i = 0; i < count && read_map(fd, to[i].iov_base, to[i].iov_len, at == kPosition ? at : at + done, &got); ++i) {
      if (got < 0) return done ? done : -1;
      done += got;
      if (static_cast<size_t>(got) < to[i].iov_len || i + 1 == count) return done;
    }
  }
  if (!allocation_near(0, ~0ull)) return real();
  ReadUnderWay under_way(0, ~0ull, fd);
  if (!must_scatter(fd, to, count, under_way.noted()))
    return flags || !runtime_running_engine() ? real() : in_pieces_or(fd, to, count, at, 0, ~0ull, real);
  under_way.detour();
  return scattered(under_way, fd, to, count, at, flags);
}

} // namespace

extern "C" {

EXPORTED ssize_t read(int fd, void *to, size_t bytes) { return noted(read_one(fd, to, bytes, kPosition), fd, kPosition); }

EXPORTED ssize_t pread(int fd, void *to, size_t bytes, off_t at) {
  return at >= 0 ? noted(read_one(fd, to, bytes, at), fd, at) : __pread64(fd, to, bytes, at);
}

EXPORTED ssize_t pread64(int fd, void *to, size_t bytes, off_t at) { return pread(fd, to, bytes, at); }

EXPORTED ssize_t readv(int fd, const iovec *to, int count) {
  using Readv = ssize_t (*)(int, const iovec *, int);
  static Readv real = next<Readv>("readv");
  return noted(read_many(fd, to, count, kPosition, 0, [&] { return real(fd, to, count); }), fd, kPosition);
}

EXPORTED ssize_t preadv(int fd, const iovec *to, int count, off_t at) {
  using Preadv = ssize_t (*)(int, const iovec *, int, off_t);
  static Preadv real = next<Preadv>("preadv64");
  if (at < 0) return real(fd, to, count, at);
  return noted(read_many(fd, to, count, at, 0, [&] { return real(fd, to, count, at); }), fd, at);
}

EXPORTED ssize_t preadv64(int fd, const iovec *to, int count, off_t at) { return preadv(fd, to, count, at); }

EXPORTED ssize_t preadv2(int fd, const iovec *to, int count, off_t at, int flags) {
  static Preadv2 real = next<Preadv2>("preadv64v2");
  if (at < kPosition) return real(fd, to, count, at, flags);
  return noted(read_many(fd, to, count, at, flags, [&] { return real(fd, to, count, at, flags); }), fd, at);
}

EXPORTED ssize_t preadv64v2(int fd, const iovec *to, int count, off_t at, int flags) { return preadv2(fd, to, count, at, flags); }

EXPORTED size_t fread(void *to, size_t size, size_t count, FILE *file) {
  static Fread real = next<Fread>("fread");
  flockfile(file);
  const size_t got = stream_in_pieces(real, to, size, count, file);
  funlockfile(file);
  return got;
}

EXPORTED size_t fread_unlocked(void *to, size_t size, size_t count, FILE *file) {
  static Fread real = next<Fread>("fread_unlocked");
  return stream_in_pieces(real, to, size, count, file);
}
}
