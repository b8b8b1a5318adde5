// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mmap and its relatives, where a program (or its allocator) maps anonymous memory or files itself. Everything that
// is not about large data goes to the kernel unchanged.
#include "runtime/process/allocations.h"
#include "runtime/kernel/file_systems.h"
#include "runtime/state/guards.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/kernel/os_files.h"
#include "runtime/process/maps.h"
#include "runtime/process/named_maps.h"
#include "runtime/process/reads.h"
#include "runtime/process/runtime.h"
#include "runtime/profile/profile.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast {
namespace {

// Of later C libraries.
constexpr int kDontNeedLocked = 24, kCollapse = 25, kGuardInstall = 102;

bool may_become_region(size_t bytes, int prot, int flags) {
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS;
  const int never = MAP_SHARED | MAP_FIXED | MAP_GROWSDOWN | MAP_STACK | MAP_HUGETLB | MAP_LOCKED | MAP_POPULATE;
  return (flags & kind) == kind && !(flags & never) &&
         (prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) == (PROT_READ | PROT_WRITE) && bytes >= runtime_options().large;
}

/// Address space without memory, for allocations to come.
bool is_reservation(size_t bytes, int prot, int flags) {
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS;
  return (flags & kind) == kind && !(flags & (MAP_SHARED | MAP_FIXED | MAP_GROWSDOWN | MAP_STACK | MAP_HUGETLB)) &&
         prot == PROT_NONE && bytes >= runtime_options().large && runtime_options().enable;
}

/// Private memory, or again only address space, over what the program has reserved or mapped itself.
bool is_mapped_over(uint64_t begin, size_t bytes, int prot, int flags) {
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  const int never = MAP_SHARED | MAP_GROWSDOWN | MAP_STACK | MAP_HUGETLB | MAP_LOCKED | MAP_POPULATE | MAP_FIXED_NOREPLACE;
  return (flags & kind) == kind && !(flags & never) && (prot == PROT_NONE || prot == (PROT_READ | PROT_WRITE)) &&
         (begin & (os::page_size() - 1)) == 0 && begin < begin + bytes && allocation_own(begin, os::page_up(begin + bytes));
}

int map_over(uint64_t begin, uint64_t end, bool writable) {
  const int prot = writable ? PROT_READ | PROT_WRITE : PROT_NONE, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  return syscall(SYS_mmap, begin, end - begin, prot, flags, -1, 0) == -1 ? -errno : 0;
}

/// A mapping of a file that the program may read. What it may execute is code: left alone.
bool may_be_advised(size_t bytes, int prot, int flags, int fd) {
  const int never = MAP_ANONYMOUS | MAP_HUGETLB | MAP_LOCKED | MAP_POPULATE;
  const Options &o = runtime_options();
  return fd >= 0 && !(flags & never) && (prot & (PROT_READ | PROT_EXEC)) == PROT_READ && bytes >= o.large && o.enable &&
         o.hints && o.backend != BackEnd::kPager && !sandboxed();
}

void note_file(uint64_t address, size_t bytes, int prot, int flags, int fd, uint64_t offset) {
  const int before = errno;
  const os::FileFacts facts = os::file_facts(fd);
  const bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
  note_file_system(facts.system);
  if (facts.advisable) {
    tell("mapped file of %zu MiB on %s: hints become advice, %u KiB a request%s", bytes >> 20, facts.system,
         facts.request_bytes >> 10, facts.opaque ? "; what is in memory cannot be seen, since the file is another user's" : "");
    allocation_add_file(
        address, os::page_up(bytes),
        {facts.request_bytes, shared || !(prot & PROT_WRITE), facts.opaque, shared, facts.read_ahead, address - offset});
  } else {
    tell("mapped file of %zu MiB (%s) is left alone: %s", bytes >> 20, facts.system, facts.why_not);
    runtime_left_alone();
  }
  errno = before;
}

void note_for_profile(uint64_t address, uint64_t bytes, int prot, int flags, int fd, uint64_t offset) {
  const bool is_data = !(flags & MAP_ANONYMOUS) && fd >= 0 && !(prot & PROT_EXEC);
  if (is_data) profile::map(address, bytes, fd, offset);
  else profile::unmap(address, address + bytes);
}

/// A private mapping that may be stored to is a copy, made at once. As mmap() returns, or -errno.
int64_t copy_named(const NamedMap &map, void *addr, size_t bytes, int prot, int flags, uint64_t offset) {
  const int fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
  void *copy = mmap(addr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
  if (copy == MAP_FAILED) return -errno;
  const int64_t got = named_map_read(map, copy, bytes, offset);
  if (got < 0) return munmap(copy, bytes), got;
  if (prot != (PROT_READ | PROT_WRITE)) mprotect(copy, bytes, prot);
  return reinterpret_cast<int64_t>(copy);
}

/// What mmap() returns for a descriptor that stands for an export; 0: it does not.
int64_t map_named(void *addr, size_t bytes, int prot, int flags, int fd, uint64_t offset) {
  if (fd < 0 || (flags & MAP_ANONYMOUS) || !named_maps_any()) return 0;
  const int before = errno;
  const NamedMap map = named_map_of(fd);
  errno = before;
  if (map.number < 0) return 0;
  if ((flags & MAP_TYPE) == MAP_PRIVATE && (prot & PROT_WRITE)) return copy_named(map, addr, bytes, prot, flags, offset);
  return named_map_memory(map, addr, bytes, prot, flags, offset);
}

long remap(void *old, size_t old_bytes, size_t bytes, int flags, void *to) {
  const long p = syscall(SYS_mremap, old, old_bytes, bytes, flags, to);
  const auto begin = reinterpret_cast<uint64_t>(old);
  if (p != -1 && profile::is_on())
    profile::move(begin, os::page_up(begin + old_bytes), static_cast<uint64_t>(p), os::page_up(bytes));
  return p;
}

} // namespace
} // namespace pagecast

using namespace pagecast;

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

EXPORTED void *mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset) noexcept {
  const auto begin = reinterpret_cast<uint64_t>(addr);
  if (is_mapped_over(begin, bytes, prot, flags)) {
    const int error = allocation_map_over(begin, os::page_up(begin + bytes), prot != PROT_NONE, map_over);
    return error ? (errno = -error, MAP_FAILED) : addr;
  }
  if (const int64_t map = map_named(addr, bytes, prot, flags, fd, static_cast<uint64_t>(offset)))
    return map < 0 ? (errno = static_cast<int>(-map), MAP_FAILED) : reinterpret_cast<void *>(map);
  if ((flags & MAP_FIXED) && !(flags & MAP_FIXED_NOREPLACE)) {
    if (maps_any()) maps_flush(begin, os::page_up(begin + bytes));
    if (allocation_near(begin, begin + bytes)) allocation_remove(begin, os::page_up(begin + bytes));
  }
  const long p = syscall(SYS_mmap, addr, bytes, prot, flags, fd, offset);
  if (p == -1) return MAP_FAILED;
  if (profile::is_on())
    note_for_profile(static_cast<uint64_t>(p), os::page_up(bytes), prot, flags, fd, static_cast<uint64_t>(offset));
  if (may_become_region(bytes, prot, flags))
    allocation_add(static_cast<uint64_t>(p), os::page_up(bytes),
                   (flags & MAP_NORESERVE) ? Allocation::kSparse : Allocation::kMapping);
  else if (is_reservation(bytes, prot, flags))
    allocation_add(static_cast<uint64_t>(p), os::page_up(bytes), Allocation::kReserved);
  else if (may_be_advised(bytes, prot, flags, fd))
    note_file(static_cast<uint64_t>(p), bytes, prot, flags, fd, static_cast<uint64_t>(offset));
  return reinterpret_cast<void *>(p);
}

EXPORTED void *mmap64(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset) noexcept {
  return mmap(addr, bytes, prot, flags, fd, offset);
}

EXPORTED int munmap(void *addr, size_t bytes) noexcept {
  const auto begin = reinterpret_cast<uint64_t>(addr);
  if (maps_any()) maps_flush(begin, os::page_up(begin + bytes)); // what cannot be written is said
  if (allocation_near(begin, begin + bytes) && (begin & (os::page_size() - 1)) == 0)
    allocation_remove(begin, os::page_up(begin + bytes));
  if (profile::is_on()) profile::unmap(begin, os::page_up(begin + bytes));
  return static_cast<int>(syscall(SYS_munmap, addr, bytes));
}

EXPORTED void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...) noexcept {
  va_list arguments;
  va_start(arguments, flags);
  void *to = (flags & MREMAP_FIXED) ? va_arg(arguments, void *) : nullptr;
  va_end(arguments);
  const auto begin = reinterpret_cast<uint64_t>(old);
  const uint64_t end = os::page_up(begin + old_bytes);
  const auto target = reinterpret_cast<uint64_t>(to);
  // There are no twins of private memory, wherever it is kept.
  if (old_bytes == 0 && allocation_near(begin, begin + 1) && allocation_paged(begin, begin + 1))
    return errno = EINVAL, MAP_FAILED;
  // What is shared does not move, nor grow.
  if (maps_any() && allocation_is_map(begin, end) &&
      (to || os::page_up(bytes) > os::page_up(old_bytes) || (flags & MREMAP_DONTUNMAP)))
    return errno = ENOMEM, MAP_FAILED;
  // What the kernel refuses changes nothing.
  if (bytes == 0 || old_bytes == 0 || (begin & (os::page_size() - 1)) || (target & (os::page_size() - 1)) ||
      (to && target < os::page_up(begin + old_bytes) && os::page_up(target + bytes) > begin))
    return reinterpret_cast<void *>(syscall(SYS_mremap, old, old_bytes, bytes, flags, to));
  if (to && allocation_near(target, target + bytes))
    allocation_remove(target, os::page_up(target + bytes)); // unmapped by the move
  if (!allocation_near(begin, end)) return reinterpret_cast<void *>(remap(old, old_bytes, bytes, flags, to));
  if (!allocation_paged(begin, end)) {
    // Parts that differ in protection keep it when they move, but nobody could tell where they are then.
    const bool guarded = guards.unreadable.overlaps(begin, end) || guards.keyed.overlaps(begin, end);
    const Allocation b = allocation_find(begin);
    const bool ours = allocation_remove(begin, end) && !guarded;
    const long p = syscall(SYS_mremap, old, old_bytes, bytes, flags, to);
    const bool stays = (flags & MREMAP_DONTUNMAP) && p != -1;
    if (p != -1) reads_moved(begin, end, static_cast<uint64_t>(p));
    const auto note_again = [&b, begin](uint64_t at, uint64_t whole) {
      FileMapping file = b.file;
      file.origin += at - begin;
      if (b.kind == Allocation::kFile) allocation_add_file(at, whole, file);
      else allocation_add(at, whole, b.kind == Allocation::kReserved ? b.kind : Allocation::kMapping);
    };
    if (ours && stays) note_again(begin, end - begin);
    if (ours) note_again(p == -1 ? begin : static_cast<uint64_t>(p), p == -1 ? end - begin : os::page_up(bytes));
    return reinterpret_cast<void *>(p);
  }
  // A region: shrinking is cutting; moving is copying, since its pages may be on the disk.
  const bool stays = flags & MREMAP_DONTUNMAP;
  if (stays && (bytes != old_bytes || !(flags & MREMAP_MAYMOVE))) return errno = EINVAL, MAP_FAILED;
  if (bytes <= old_bytes && !to && !stays) {
    if (os::page_up(bytes) < os::page_up(old_bytes))
      munmap(static_cast<char *>(old) + os::page_up(bytes), os::page_up(old_bytes) - os::page_up(bytes));
    return old;
  }
  if (!(flags & MREMAP_MAYMOVE)) return errno = ENOMEM, MAP_FAILED;
  // What the kernel says of mappings whose parts differ; and there is no copying them.
  if (guards.unreadable.overlaps(begin, end) || guards.keyed.overlaps(begin, end)) return errno = EFAULT, MAP_FAILED;
  void *fresh = mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (to ? MAP_FIXED : 0), -1, 0);
  if (fresh == MAP_FAILED) return MAP_FAILED;
  // In place of something else (MAP_FIXED) it is not paged by itself.
  if (to) allocation_add(target, os::page_up(bytes), Allocation::kMapping);
  // What another thread stores, or reads from a file, must not get lost behind the copy: it fails.
  if (!stays) os::protect_mapping(begin, end - begin, PROT_READ, -1);
  memcpy(fresh, old, std::min(old_bytes, bytes));
  if (stays) allocation_clear(begin, end);
  else munmap(old, old_bytes);
  return fresh;
}

static int protect(void *addr, size_t bytes, int protection, int key) {
  const auto begin = reinterpret_cast<uint64_t>(addr);
  const uint64_t end = os::page_up(begin + bytes);
  if (maps_any() && (protection & PROT_WRITE) && allocation_is_map(begin, end, true)) return errno = EACCES, -1;
  // What the kernel refuses (no page's address, a range around the end of the address space) changes nothing.
  const bool ours = (begin & (os::page_size() - 1)) == 0 && begin < end && allocation_near(begin, end);
  const int error = ours ? allocation_protect(begin, end, protection, key) : os::protect_mapping(begin, bytes, protection, key);
  return error ? errno = -error, -1 : 0;
}

EXPORTED int mprotect(void *addr, size_t bytes, int protection) noexcept { return protect(addr, bytes, protection, -1); }

EXPORTED int pkey_mprotect(void *addr, size_t bytes, int protection, int key) noexcept {
  return protect(addr, bytes, protection, key);
}

EXPORTED int madvise(void *addr, size_t bytes, int advice) noexcept {
  const auto begin = reinterpret_cast<uint64_t>(addr);
  const uint64_t end = os::page_up(begin + bytes);
  if (allocation_near(begin, end) && allocation_paged(begin, end)) {
    switch (advice) {
    case MADV_FREE:
      if (maps_any() && allocation_is_map(begin, end)) return errno = EINVAL, -1;
      [[fallthrough]];
    case MADV_DONTNEED: // what is not needed is not written to the disk
    case kDontNeedLocked: return allocation_clear(begin, end), 0;
    // Where pages are is the pager's business, and so is what children get.
    case MADV_WILLNEED:
    case MADV_COLD:
    case MADV_PAGEOUT:
    case MADV_HUGEPAGE:
    case kCollapse:
    case MADV_MERGEABLE:
    case MADV_POPULATE_READ:
    case MADV_POPULATE_WRITE:
    case MADV_DONTFORK:
    case MADV_DOFORK: return 0;
    // Contents that go without the pager: as on kernels that do not know these. Private memory cannot be removed.
    case MADV_REMOVE:
    case MADV_WIPEONFORK:
    case kGuardInstall: return errno = EINVAL, -1;
    default: break;
    }
  }
  return static_cast<int>(syscall(SYS_madvise, addr, bytes, advice));
}

EXPORTED int msync(void *addr, size_t bytes, int flags) {
  const auto begin = reinterpret_cast<uint64_t>(addr);
  const uint64_t end = os::page_up(begin + bytes);
  if (!maps_any() || (begin & (os::page_size() - 1)) || !allocation_is_map(begin, end))
    return static_cast<int>(syscall(SYS_msync, addr, bytes, flags)); // a point of cancellation, which need not be one
  const int error = flags & MS_SYNC ? maps_flush(begin, end) : 0;
  if (flags & MS_INVALIDATE) maps_refresh(begin, end);
  return error ? errno = EIO, -1 : 0;
}
}
