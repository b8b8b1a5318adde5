// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/os_files.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/file_systems.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <initializer_list>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <ctime>
#include <unistd.h>

namespace pagecast::os {
namespace {

int self_pidfd = -1; ///< the adviser's thread's

constexpr uint32_t kLeastRequestBytes = 128u << 10, kMostRequestBytes = 1u << 20;

bool read_kilobytes(const char *path, uint64_t *kilobytes) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[32] = {};
  const long n = syscall(SYS_read, fd, text, sizeof text - 1);
  syscall(SYS_close, fd);
  *kilobytes = n > 0 ? strtoull(text, nullptr, 10) : 0;
  return n > 0;
}

/// The device's read-ahead, which is what one MADV_WILLNEED is cut off at; of a partition it is the disk's.
uint64_t read_ahead_of(dev_t device) {
  uint64_t kilobytes = 0;
  for (const char *form : {"/sys/class/bdi/%u:%u/read_ahead_kb", "/sys/dev/block/%u:%u/queue/read_ahead_kb",
                           "/sys/dev/block/%u:%u/../queue/read_ahead_kb"}) {
    char path[96];
    write_text(path, sizeof path, form, major(device), minor(device));
    if (read_kilobytes(path, &kilobytes)) break;
  }
  return (kilobytes << 10) & ~(page_size() - 1);
}

/// One call for many ranges; before Linux 5.10, or where a part is refused, one call each.
int advise(const iovec *ranges, unsigned count, int advice) {
  if (self_pidfd < 0 && count > 1) self_pidfd = own_descriptor(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  uint64_t want = 0;
  for (unsigned i = 0; i < count; ++i) want += ranges[i].iov_len;
  if (count > 1 && self_pidfd >= 0 &&
      syscall(SYS_process_madvise, self_pidfd, ranges, count, advice, 0) == static_cast<long>(want))
    return 0;
  int failed = 0;
  for (unsigned i = 0; i < count; ++i)
    if (syscall(SYS_madvise, ranges[i].iov_base, ranges[i].iov_len, advice)) failed = -errno;
  return failed;
}

/// Maps the page, and reads it if need be; where it cannot be, that is an error and no signal.
int touch(uint64_t addr) {
  constexpr int kPopulateRead = 22; // MADV_POPULATE_READ, Linux 5.14
  return syscall(SYS_madvise, addr, page_size(), kPopulateRead) ? -errno : 0;
}

/// Since Linux 5.2 whoever may neither write a file nor owns it is told that all of it is in memory.
bool is_opaque(int fd, const struct stat &file) {
  constexpr int kAccess = 439; // faccessat2, Linux 5.8
  constexpr uid_t kNobody = 65534; // in a user namespace: an owner from outside, over whose files its root has no power
  const uid_t self = geteuid();
  if (file.st_uid == self || (self == 0 && file.st_uid != kNobody)) return false;
  return syscall(kAccess, fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) != 0;
}

/// The names in a directory of /proc that are numbers.
unsigned numbers_in(const char *path, int *numbers, unsigned most) {
  struct Entry { // linux_dirent64
    uint64_t inode, offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
  };
  alignas(8) char entries[4096];
  const int directory = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  unsigned n = 0;
  for (long got = directory < 0 ? 0 : 1; got > 0 && n < most;) {
    got = syscall(SYS_getdents64, directory, entries, sizeof entries);
    for (long at = 0; at < got && n < most;) {
      const auto *e = reinterpret_cast<const Entry *>(entries + at);
      if (e->name[0] != '.') numbers[n++] = atoi(e->name);
      at += e->bytes;
    }
  }
  if (directory >= 0) syscall(SYS_close, directory);
  return n;
}

} // namespace

FileFacts file_facts(int fd) {
  FileFacts facts;
  struct stat file;
  struct statfs system;
  if (fstat(fd, &file) || fstatfs(fd, &system))
    return facts.system = "unknown", facts.why_not = "its file cannot be examined", facts;
  if (S_ISBLK(file.st_mode)) {
    facts.system = "block device";
  } else if (!S_ISREG(file.st_mode)) {
    return facts.system = "device", facts.why_not = "its pages are a device's", facts;
  } else {
    facts.system = "file";
    if (const FileSystem *known = known_file_system(static_cast<uint32_t>(system.f_type))) {
      facts.system = known->name;
      if (known->in_memory) return facts.why_not = "its file system is in memory", facts;
    }
  }
  facts.read_ahead = read_ahead_of(S_ISBLK(file.st_mode) ? file.st_rdev : file.st_dev);
  facts.request_bytes = static_cast<uint32_t>(std::clamp<uint64_t>(facts.read_ahead, kLeastRequestBytes, kMostRequestBytes));
  facts.opaque = is_opaque(fd, file);
  facts.advisable = true;
  return facts;
}

uint64_t regular_bytes(int fd) {
  struct stat file;
  return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) ? static_cast<uint64_t>(file.st_size) : 0;
}

uint64_t file_number(int fd) {
  struct stat file;
  return fstat(fd, &file) == 0 ? file.st_dev * 0x9e3779b97f4a7c15u ^ file.st_ino : 0;
}

int advise_file(int fd, int64_t offset, int64_t bytes, int advice) {
  return syscall(SYS_fadvise64, fd, offset, bytes, advice) ? errno : 0;
}

void will_read(int fd, uint64_t begin, uint64_t bytes) {
  syscall(SYS_fadvise64, fd, static_cast<off_t>(begin), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

static uint32_t magic_of(int fd) {
  struct statfs system;
  return fstatfs(fd, &system) == 0 ? static_cast<uint32_t>(system.f_type) : 0;
}

bool is_served_by_program(int fd) { return magic_of(fd) == FUSE_SUPER_MAGIC; }

bool begins_at_once(int fd) {
  const FileSystem *system = known_file_system(magic_of(fd));
  return system && system->begins_at_once;
}

int will_need(const iovec *ranges, unsigned count) { return advise(ranges, count, MADV_WILLNEED); }
int give_up(const iovec *ranges, unsigned count) { return advise(ranges, count, MADV_PAGEOUT); }

int take_out(const iovec *ranges, unsigned count) { return advise(ranges, count, MADV_DONTNEED); }

int expect_scattered(uint64_t addr, uint64_t bytes, bool scattered) {
  return syscall(SYS_madvise, addr, bytes, scattered ? MADV_RANDOM : MADV_NORMAL) ? -errno : 0;
}

int in_core(uint64_t addr, uint64_t pages, uint8_t *out) {
  if (syscall(SYS_mincore, addr, pages << page_shift(), out)) return -errno;
  for (uint64_t i = 0; i < pages; ++i) out[i] &= 1;
  return 0;
}

void keep(uint64_t addr) {
  for (unsigned i = 0; i < 2; ++i) touch(addr);
}

uint64_t map_again(uint64_t addr, uint64_t bytes) {
  // Of shared mappings alone an old size of 0 makes another one.
  const long at = syscall(SYS_mremap, addr, 0ul, bytes, MREMAP_MAYMOVE, 0ul);
  if (at == -1) return 0;
  if (syscall(SYS_mprotect, at, bytes, PROT_READ) == 0 && syscall(SYS_madvise, at, bytes, MADV_DONTFORK) == 0 &&
      syscall(SYS_madvise, at, bytes, MADV_HUGEPAGE) == 0 && syscall(SYS_madvise, at, bytes, MADV_RANDOM) == 0)
    return static_cast<uint64_t>(at);
  syscall(SYS_munmap, at, bytes);
  return 0;
}

int read_large(uint64_t addr) { return touch(addr); }

bool open_file(int fd, OpenFile *out) {
  char path[48], text[512];
  write_text(path, sizeof path, "/proc/self/fdinfo/%d", fd);
  const int info = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  if (info < 0) return false;
  const long n = syscall(SYS_read, info, text, sizeof text - 1);
  syscall(SYS_close, info);
  unsigned long long position = 0, flags = 0, mount = 0, inode = 0; // the last one since Linux 5.14
  text[n > 0 ? n : 0] = 0;
  if (sscanf(text, "pos: %llu flags: %llo mnt_id: %llu ino: %llu", &position, &flags, &mount, &inode) < 3) return false;
  *out = {mount, inode, position, (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_DIRECT | O_PATH))};
  return true;
}

unsigned open_descriptors(int *fds, unsigned most) { return numbers_in("/proc/self/fd", fds, most); }

unsigned threads(int *ids, unsigned most) { return numbers_in("/proc/self/task", ids, most); }

bool unshare_descriptors() {
  constexpr long kCloseRange = 436; // Linux 5.9
  return unshare(CLONE_FILES) == 0 && syscall(kCloseRange, 0u, ~0u, 0u) == 0;
}

int reopen(int fd) {
  char path[48];
  write_text(path, sizeof path, "/proc/self/fd/%d", fd);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

void close_reopened(int fd) {
  if (fd >= 0) syscall(SYS_close, fd);
}

uint64_t file_bytes(int fd) {
  struct stat file;
  return fstat(fd, &file) ? 0 : static_cast<uint64_t>(file.st_size);
}

bool named_file(int fd, NamedFile *out) {
  struct stat file;
  if (fstat(fd, &file) || !S_ISREG(file.st_mode)) return false;
  *out = {file.st_dev, file.st_ino, static_cast<uint64_t>(file.st_size)};
  return true;
}

int make_stand_in(const char *name, uint64_t bytes) {
  const int fd = static_cast<int>(syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd < 0) return -errno;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
      syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
    return fd;
  const int error = errno;
  syscall(SYS_close, fd);
  return -error;
}

int open_stand_in(int fd, bool close_on_exec) {
  char path[48];
  write_text(path, sizeof path, "/proc/self/fd/%d", fd);
  const long opened =
      syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | (close_on_exec ? O_CLOEXEC : 0)); // sealed: nor can it be written
  return opened < 0 ? -errno : static_cast<int>(opened);
}

bool working_directory(char *path, unsigned capacity) { return syscall(SYS_getcwd, path, capacity) > 0; }

bool path_of(int fd, char *path, unsigned capacity) {
  struct stat file;
  char link[48];
  write_text(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, capacity);
  if (n <= 0 || n >= static_cast<ssize_t>(capacity) || fstat(fd, &file) || file.st_nlink == 0) return false;
  path[n] = 0;
  return true;
}

int64_t position(int fd) { return lseek(fd, 0, SEEK_CUR); }

bool drop_cached(int fd, uint64_t begin, uint64_t end) {
  return syscall(SYS_fadvise64, fd, static_cast<off_t>(begin), static_cast<off_t>(end - begin), POSIX_FADV_DONTNEED) == 0;
}

void files_forked() {
  close_own(self_pidfd);
  self_pidfd = -1;
}

uint64_t major_faults() {
  rusage use{};
  if (!sandboxed()) getrusage(RUSAGE_SELF, &use);
  return static_cast<uint64_t>(use.ru_majflt);
}

static uint64_t read_from_disks_by(__rusage_who whom) {
  rusage use{};
  if (!sandboxed()) getrusage(whom, &use);
  return static_cast<uint64_t>(use.ru_inblock) * 512;
}

uint64_t read_from_disks() { return read_from_disks_by(RUSAGE_SELF); }
uint64_t read_from_disks_here() { return read_from_disks_by(RUSAGE_THREAD); }

void wait_readable(int fd, uint64_t timeout_ns) {
  pollfd wanted{fd, POLLIN, 0};
  const timespec t{static_cast<time_t>(timeout_ns / 1000000000u), static_cast<long>(timeout_ns % 1000000000u)};
  ppoll(&wanted, 1, timeout_ns ? &t : nullptr, nullptr);
}

int open_flags(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags < 0 ? -errno : flags;
}

} // namespace pagecast::os
