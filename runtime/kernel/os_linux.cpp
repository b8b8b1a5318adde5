// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/kernel/os.h"

#include "runtime/kernel/descriptors.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// read, mmap and others are interposed: the runtime's own calls go to the kernel directly.
namespace pagecast::os {
namespace {

int self_pidfd = -1;
// The pager's thread alone uses them. Opened early: a process that has given up privileges may not any more.
int self_memory = -1;   ///< /proc/self/mem
int self_page_map = -1; ///< /proc/self/pagemap
/// A file in memory: copy_parts()'s. It is not mapped: a program that replaces mappings could map over what it did not see coming.
struct {
  int file = -1;
  bool refused = false;
} between;
constexpr size_t kBetween = 128u << 10; ///< bytes
constexpr int kDontNeedLocked = 24; ///< MADV_DONTNEED_LOCKED, Linux 5.18
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

uint64_t clock_ns(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

int open_self(int &fd, const char *path) {
  if (fd < 0) fd = own_descriptor(open(path, O_RDONLY | O_CLOEXEC));
  return fd < 0 ? -errno : fd;
}

int open_memory() { return open_self(self_memory, "/proc/self/mem"); }
int open_page_map() { return open_self(self_page_map, "/proc/self/pagemap"); }

bool open_between() {
  if (between.file >= 0 || between.refused) return between.file >= 0;
  between.refused = true;
  between.file = own_descriptor(static_cast<int>(syscall(SYS_memfd_create, "pagecast-between", MFD_CLOEXEC)));
  return between.file >= 0;
}

/// A child would share it.
void close_between() {
  if (!sandboxed()) close_own(between.file);
  between = {};
}

/// process_madvise on oneself takes MADV_DONTNEED only from some kernel on: try it on a scratch page.
bool probe_batch_discard() {
  self_pidfd = own_descriptor(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (self_pidfd < 0) return false;
  auto *page = static_cast<char *>(map_memory(page_size(), true));
  if (!page) return false;
  *page = 1;
  const iovec range{page, page_size()};
  const long done = syscall(SYS_process_madvise, self_pidfd, &range, 1, MADV_DONTNEED, 0);
  const bool works = done == static_cast<long>(page_size()) && *page == 0;
  unmap(page, page_size());
  if (!works) {
    close_own(self_pidfd);
    self_pidfd = -1;
  }
  return works;
}

} // namespace

Support find_support() {
  Support s;
  const int fd = fault_open();
  if (fd < 0) {
    s.userfaultfd_error = -fd;
    s.missing =
        -fd == EPERM
            ? "userfaultfd is not permitted: run as root, grant CAP_SYS_PTRACE, set vm.unprivileged_userfaultfd=1, or make /dev/userfaultfd readable and writable for this user"
        : -fd == ENOSYS ? "this kernel has no userfaultfd (CONFIG_USERFAULTFD)"
                        : "userfaultfd on this kernel lacks write protection of anonymous memory (Linux 5.7 or later)";
    return s;
  }
  void *page = map_memory(page_size(), false);
  const int error = page ? fault_watch(fd, reinterpret_cast<uint64_t>(page), page_size()) : -ENOMEM;
  if (page) unmap(page, page_size());
  close_own(fd);
  s.userfaultfd = error == 0;
  s.userfaultfd_error = -error;
  if (error) s.missing = "userfaultfd on this kernel lacks write protection of anonymous memory (Linux 5.7 or later)";
  else if (open_memory() < 0 || open_page_map() < 0)
    s.missing = "the process may not look at its own page map (/proc/self/pagemap)";
  s.batch_discard = probe_batch_discard();
  return s;
}

uint64_t page_size() {
  static const uint64_t size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

unsigned page_shift() { return static_cast<unsigned>(__builtin_ctzll(page_size())); }

uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }
uint64_t wall_ns() { return clock_ns(CLOCK_REALTIME); }
uint64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
uint64_t process_cpu_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

uint64_t cpu_ns_of(uint64_t thread) {
  constexpr unsigned kThread = 4, kProcessorTime = 2; // how Linux numbers the clocks of threads
  const auto clock = static_cast<clockid_t>(~static_cast<uint32_t>(thread) << 3 | kThread | kProcessorTime);
  timespec t{};
  return clock_gettime(clock, &t) ? 0 : static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// The runtime's own mappings go to the kernel directly: mmap itself is interposed (interpose_mmap.cpp).
static void *raw_mmap(size_t bytes, int flags) {
  const long p = syscall(SYS_mmap, nullptr, bytes, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return p == -1 ? nullptr : reinterpret_cast<void *>(p);
}

void *reserve(size_t bytes) {
  void *p = reserve_for_program(bytes);
  // Fails where the kernel has none. A sandbox need not allow it.
  if (p && !sandboxed()) syscall(SYS_madvise, p, bytes, MADV_NOHUGEPAGE);
  return p;
}
void *reserve_for_program(size_t bytes) { return raw_mmap(bytes, MAP_NORESERVE); }
void *map_memory(size_t bytes, bool populate) { return raw_mmap(bytes, populate ? MAP_POPULATE : 0); }

void *map_buffer(size_t bytes) {
  const size_t slack = bytes < kLargePage ? 0 : kLargePage;
  auto *whole = static_cast<char *>(raw_mmap(bytes + slack, 0));
  if (!whole) return nullptr;
  char *buffer = slack ? reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(whole) + slack - 1) & ~(slack - 1)) : whole;
  if (buffer > whole) syscall(SYS_munmap, whole, buffer - whole);
  if (slack > static_cast<size_t>(buffer - whole)) syscall(SYS_munmap, buffer + bytes, slack - (buffer - whole));
  fill_buffer(buffer, 0, bytes, true);
  return buffer;
}

void empty_buffer(void *buffer, size_t bytes) {
  syscall(SYS_madvise, buffer, bytes, MADV_NOHUGEPAGE);
  syscall(SYS_madvise, buffer, bytes, MADV_DONTNEED);
}

void fill_buffer(void *buffer, size_t used, size_t bytes, bool large) {
  if (!used) syscall(SYS_madvise, buffer, bytes, MADV_DONTNEED);
  if (large) syscall(SYS_madvise, buffer, bytes, MADV_HUGEPAGE);
  for (size_t at = used; at < bytes; at += page_size()) static_cast<volatile char *>(buffer)[at] = 0;
}

void give_back_zeros(void *addr, size_t bytes) {
  if (sandboxed()) return;
  const uint64_t page = page_size(), end = (reinterpret_cast<uint64_t>(addr) + bytes) & ~(page - 1);
  for (uint64_t at = (reinterpret_cast<uint64_t>(addr) + page - 1) & ~(page - 1); at < end; at += page) {
    const auto *words = reinterpret_cast<const uint64_t *>(at);
    uint64_t any = 0;
    for (uint64_t i = 0; i < page / sizeof *words && !any; ++i) any = words[i];
    if (!any) syscall(SYS_madvise, at, page, MADV_DONTNEED);
  }
}

int64_t map_for_region(void *at, bool fixed, size_t bytes, bool readable, bool writable) {
  const int protection = (readable ? PROT_READ : 0) | (writable ? PROT_WRITE : 0);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (fixed ? MAP_FIXED : 0);
  const long p = syscall(SYS_mmap, at, bytes, protection, flags, -1, 0);
  return p == -1 ? -errno : p;
}

int unmap(void *addr, size_t bytes) { return syscall(SYS_munmap, addr, bytes) ? -errno : 0; }

int discard(const iovec *ranges, unsigned count) {
  // One call, one flush of the other processors' translations, where the kernel allows it.
  while (self_pidfd >= 0 && count) {
    const unsigned batch = count < IOV_MAX ? count : IOV_MAX;
    uint64_t want = 0;
    for (unsigned i = 0; i < batch; ++i) want += ranges[i].iov_len;
    if (syscall(SYS_process_madvise, self_pidfd, ranges, batch, MADV_DONTNEED, 0) != static_cast<long>(want)) break;
    ranges += batch;
    count -= batch;
  }
  int failed = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (syscall(SYS_madvise, ranges[i].iov_base, ranges[i].iov_len, MADV_DONTNEED) == 0) continue;
    // Memory that the program has locked (mlock) needs the other advice.
    if (errno == EINVAL && syscall(SYS_madvise, ranges[i].iov_base, ranges[i].iov_len, kDontNeedLocked) == 0) continue;
    failed = -errno;
  }
  return failed;
}

int give_to_children(uint64_t addr, uint64_t bytes, bool give) {
  return syscall(SYS_madvise, addr, bytes, give ? MADV_DOFORK : MADV_DONTFORK) ? -errno : 0;
}

int protect_mapping(uint64_t addr, size_t bytes, int protection, int key) {
  const long done =
      key < 0 ? syscall(SYS_mprotect, addr, bytes, protection) : syscall(SYS_pkey_mprotect, addr, bytes, protection, key);
  return done ? -errno : 0;
}

int map_file(uint64_t addr, uint64_t bytes, int protection, int fd, uint64_t offset, bool shared) {
  return syscall(SYS_mmap, addr, bytes, protection, MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE), fd, offset) == -1 ? -errno
                                                                                                                       : 0;
}

int map_zeros(uint64_t addr, uint64_t bytes, int protection) {
  return syscall(SYS_mmap, addr, bytes, protection, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == -1 ? -errno : 0;
}

void *move_mapping(void *addr, size_t bytes, size_t new_bytes) {
  const long p = syscall(SYS_mremap, addr, bytes, new_bytes, MREMAP_MAYMOVE, nullptr);
  return p == -1 ? nullptr : reinterpret_cast<void *>(p);
}

bool copy_memory(void *to, uint64_t from, size_t bytes) {
  const iovec into{to, bytes}, source{reinterpret_cast<void *>(from), bytes};
  return process_vm_readv(getpid(), &into, 1, &source, 1, 0) == static_cast<ssize_t>(bytes);
}

bool copy_parts(const iovec *to, const iovec *from, unsigned parts) {
  size_t bytes = 0;
  for (unsigned i = 0; i < parts; ++i) bytes += from[i].iov_len;
  // A write to a file reads memory through the page table. process_vm_readv takes hold of each page for each part of it, which
  // costs ten times as much.
  const auto all = static_cast<long>(bytes);
  if (bytes <= kBetween && open_between() && syscall(SYS_pwritev, between.file, from, parts, 0, 0) == all &&
      syscall(SYS_preadv, between.file, to, parts, 0, 0) == all)
    return true;
  return process_vm_readv(getpid(), to, parts, from, parts, 0) == static_cast<ssize_t>(bytes);
}

size_t store_memory(uint64_t to, const void *from, size_t bytes) {
  // Not process_vm_writev, which takes hold of the pages first and stores to them later, as a device would: the pager may
  // have discarded them by then. This stores through the page tables.
  const iovec into{reinterpret_cast<void *>(to), bytes}, source{const_cast<void *>(from), bytes};
  const ssize_t stored = process_vm_readv(getpid(), &into, 1, &source, 1, 0);
  return stored < 0 ? 0 : static_cast<size_t>(stored);
}

int copy_protected_memory(void *to, uint64_t from, size_t bytes) {
  if (const int fd = open_memory(); fd < 0) return fd;
  const ssize_t got = syscall(SYS_pread64, self_memory, to, bytes, static_cast<off_t>(from));
  return got == static_cast<ssize_t>(bytes) ? 0 : got < 0 ? -errno : -EFAULT;
}

/// out[i] = whether any bit of `mask` is set in the page's entry of the kernel's page map.
static int page_map(uint64_t addr, uint64_t pages, uint64_t mask, uint8_t *out) {
  const int fd = open_page_map();
  if (fd < 0) return fd;
  uint64_t entries[512];
  int error = 0;
  for (uint64_t i = 0; i < pages && !error; i += 512) {
    const uint64_t n = pages - i < 512 ? pages - i : 512;
    const ssize_t got = syscall(SYS_pread64, fd, entries, n * 8, static_cast<off_t>(((addr >> page_shift()) + i) * 8));
    if (got != static_cast<ssize_t>(n * 8)) error = got < 0 ? -errno : -EIO;
    else
      for (uint64_t j = 0; j < n; ++j) out[i + j] = (entries[j] & mask) != 0;
  }
  return error;
}

int populated(uint64_t addr, uint64_t pages, uint8_t *out) { return page_map(addr, pages, 3ull << 62, out); }
int exclusive(uint64_t addr, uint64_t pages, uint8_t *out) { return page_map(addr, pages, 1ull << 56, out); }
int write_protected(uint64_t addr, uint64_t pages, uint8_t *out) { return page_map(addr, pages, 1ull << 57, out); }

uint64_t bytes_in_memory(uint64_t addr, uint64_t bytes) {
  constexpr uint64_t kAtOnce = 4096;
  unsigned char there[kAtOnce];
  uint64_t found = 0;
  for (uint64_t at = 0; at < bytes; at += kAtOnce * page_size()) {
    const uint64_t part = std::min(kAtOnce * page_size(), bytes - at);
    if (syscall(SYS_mincore, addr + at, part, there)) continue;
    for (uint64_t i = 0; i < part / page_size(); ++i) found += there[i] & 1;
  }
  return found * page_size();
}

int in_page_table(uint64_t addr, uint64_t pages, uint8_t *out) { return page_map(addr, pages, 1ull << 63, out); }

bool touched(uint64_t addr) {
  uint8_t there = 0;
  return in_page_table(addr, 1, &there) == 0 && there;
}

bool may_lock(uint64_t bytes) {
  if (geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_IPC_LOCK, 0, 0, 0) == 1) return true;
  rlimit limit;
  return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur / 8);
}

static std::atomic<bool> has_relatives{false};

void note_fork() { has_relatives.store(true, std::memory_order_relaxed); }
bool has_forked() { return has_relatives.load(std::memory_order_relaxed); }

void forked() {
  note_fork();
  // They speak of the parent's memory.
  if (sandboxed()) self_memory = self_page_map = self_pidfd = -1;
  close_between();
  close_own(self_memory);
  close_own(self_page_map);
  self_memory = self_page_map = -1;
  if (self_pidfd >= 0) {
    close_own(self_pidfd);
    self_pidfd = own_descriptor(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  }
}

} // namespace pagecast::os
