// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The malloc family. Small requests go to the C library unchanged; large ones get pages of their own, so
// that they can become regions, and those between may lie together (medium_blocks.h). operator new is built on these.
#include "runtime/interpose/arena_heaps.h"
#include "runtime/interpose/library_heap.h"
#include "runtime/memory/small_blocks.h"
#include "runtime/process/allocations.h"
#include "runtime/process/freed_cache.h"
#include "runtime/state/locks.h"
#include "runtime/kernel/os.h"
#include "runtime/process/medium_blocks.h"
#include "runtime/process/runtime.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

extern "C" {
// The C library's own, present under these names since 2.2.5; dlsym would itself allocate.
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
}

namespace pagecast {
namespace {

bool is_large(size_t bytes) { return bytes >= runtime_options().large; }

/// A block that may be one of many (medium_blocks.h), or else the C library's.
bool is_medium_size(size_t bytes) {
  return runtime_options().rows && bytes >= runtime_options().rows && runtime_options().enable;
}

using Usable = size_t (*)(void *);
/// The C library's own, found before there is another thread: finding it may take and free memory. The next one in order may be
/// that of an allocator which the program is linked with, and which knows none of these blocks.
Usable library_usable = nullptr;
__attribute__((constructor)) void find_library_usable() {
  void *const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  library_usable = reinterpret_cast<Usable>(dlsym(library ? library : RTLD_NEXT, "malloc_usable_size"));
}
/// Bytes of a block of the C library's.
size_t usable_in_library(void *p) { return library_usable ? library_usable(p) : 0; }
/// The same of a block that is yet to be taken: chunks are multiples of 16 bytes, of which 8 are the library's.
size_t usable_to_be(size_t bytes) { return std::max<size_t>((bytes + 23) & ~size_t{15}, 32) - 8; }

/// Small blocks are the C library's. What its heap grows by becomes large data (library_heap.h), but not at once, and its
/// beginning never does: it may exhaust the memory unseen. What is taken less what is given back is summed up for each thread in
/// turn, so that who takes and gives all the time tells nobody. Cost: 1 ns; 3 ns while they are watched.
constexpr int64_t kSmallLot = SmallBlocks::kLot;
thread_local int64_t small_growth __attribute__((tls_model("initial-exec"))) = 0; ///< bytes, since the last lot was told

bool is_paged_heap(const void *p) { return library_heap_has(p) || arena_heap_has(p); }

/// While another thread starts the paging, none goes on taking memory that nobody counts. Not for long: that thread may wait for
/// something which this one holds, or it may be this one.
void wait_for_start(const void *p) {
  constexpr unsigned kTimes = 1000;
  constexpr uint64_t kPause = 50000;
  if (os::is_ours() || runtime_starts_here()) return;
  for (unsigned i = 0; i < kTimes && !arena_heap_grown(p, 0); ++i) os::sleep(kPause);
}

/// `p`: the last block of the lot stands for all of it.
__attribute__((noinline)) void *note_lot(void *p) {
  const auto lot = static_cast<uint64_t>(small_growth);
  small_growth = 0;
  library_heap_grown();
  if (!arena_heap_grown(p, lot)) wait_for_start(p);
  if (!is_paged_heap(p) && runtime_watches_small_blocks() && runtime_small_blocks(lot)) allocations_page();
  return p;
}

inline void *note_small(void *p, size_t bytes) {
  return (small_growth += static_cast<int64_t>(usable_to_be(bytes))) < kSmallLot ? p : note_lot(p);
}

/// Before the C library has it back. Before paging begins that is not counted: the next look counts what is in memory.
void forget_small(void *p) {
  if (!runtime_pages_memory() || (small_growth -= static_cast<int64_t>(usable_in_library(p))) > -kSmallLot) return;
  const auto lot = static_cast<uint64_t>(-small_growth);
  small_growth = 0;
  if (!is_paged_heap(p)) runtime_small_blocks_freed(lot);
}

/// A block of its own pages. `cleared`: it must be zero.
void *allocate(size_t size, size_t alignment, bool cleared) {
  const uint64_t page = os::page_size();
  if (size > (~size_t{0} >> 2)) return errno = ENOMEM, nullptr;
  const uint64_t bytes = os::page_up(size);
  void *base = nullptr;
  if (alignment <= page) {
    base = runtime_running_engine() ? nullptr : freed_take(bytes);
    if (base && cleared) memset(base, 0, bytes);
    if (!base) base = os::map_memory(bytes, false);
  } else if (auto *wide = static_cast<char *>(os::map_memory(bytes + alignment, false))) {
    char *aligned = reinterpret_cast<char *>((reinterpret_cast<uint64_t>(wide) + alignment - 1) & ~(alignment - 1));
    if (aligned > wide) os::unmap(wide, static_cast<size_t>(aligned - wide));
    const size_t behind = static_cast<size_t>(wide + alignment - aligned);
    if (behind) os::unmap(aligned + bytes, behind);
    base = aligned;
  }
  if (!base) return errno = ENOMEM, nullptr;
  allocation_add(reinterpret_cast<uint64_t>(base), bytes, Allocation::kHeap);
  return base;
}

/// What begins on no page of the smallest size is no allocation.
bool begins_page(const void *p) {
  constexpr uint64_t kLeastPage = 4096;
  return (reinterpret_cast<uint64_t>(p) & (kLeastPage - 1)) == 0;
}

/// The allocation at `p`, if it is one: they begin on a page, which the C library's blocks seldom do.
Allocation allocation_of(const void *p) {
  const auto address = reinterpret_cast<uint64_t>(p);
  if (address & (os::page_size() - 1)) return {};
  const Allocation b = allocation_find(address);
  return b.kind == Allocation::kHeap ? b : Allocation{};
}

void release(const Allocation &b) {
  allocation_remove(b.base, b.end());
  if (b.exempt) os::unmap(reinterpret_cast<void *>(b.base), b.bytes); // may be locked
  else freed_keep_or_unmap(reinterpret_cast<void *>(b.base), b.bytes);
}

/// Contents go to a block of another kind, or to another medium one. NULL: nothing has changed.
void *resize_medium(void *p, size_t size) {
  if (medium_resize(p, size)) return p;
  void *fresh = malloc(size);
  if (!fresh) return nullptr;
  memcpy(fresh, p, std::min(medium_bytes(p), size));
  medium_give(p);
  return fresh;
}

/// From the C library's block to one of another kind.
void *leave_library(void *p, void *fresh, size_t size) {
  if (!fresh) return nullptr;
  memcpy(fresh, p, std::min(size, usable_in_library(p)));
  forget_small(p);
  __libc_free(p);
  return fresh;
}

void *resize(const Allocation &b, size_t size) {
  const uint64_t page = os::page_size();
  const uint64_t bytes = os::page_up(size);
  auto *old = reinterpret_cast<void *>(b.base);
  if (bytes == b.bytes) return old;
  if (is_large(size) && !b.paged) {
    allocation_remove(b.base, b.end());
    void *moved = os::move_mapping(old, b.bytes, bytes);
    allocation_add(moved ? reinterpret_cast<uint64_t>(moved) : b.base, moved ? bytes : b.bytes, Allocation::kHeap);
    if (!moved) errno = ENOMEM;
    return moved;
  }
  if (is_large(size) && bytes < b.bytes) { // what is paged stays where it is, its pages too
    allocation_remove(b.base + bytes, b.end());
    os::unmap(static_cast<char *>(old) + bytes, b.bytes - bytes);
    return old;
  }
  void *fresh = is_large(size) ? allocate(size, page, false) : __libc_malloc(size);
  if (!fresh) return nullptr;
  memcpy(fresh, old, std::min<size_t>(b.bytes, size));
  release(b);
  return fresh;
}

} // namespace
} // namespace pagecast

using namespace pagecast;

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

EXPORTED void *malloc(size_t size) {
  if (size < small_blocks_watch.below.load(std::memory_order_relaxed)) return note_small(__libc_malloc(size), size);
  if (is_large(size)) return allocate(size, 16, false);
  void *medium = is_medium_size(size) ? medium_take(size) : nullptr;
  if (medium) return medium;
  return note_small(__libc_malloc(size), size);
}

EXPORTED void free(void *p) {
  if (!p) return;
  if (is_medium_block(p)) return medium_give(p);
  if (begins_page(p))
    if (const Allocation b = allocation_of(p); b.bytes) return release(b);
  forget_small(p);
  __libc_free(p);
}

EXPORTED void *calloc(size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes)) return errno = ENOMEM, nullptr;
  if (is_large(bytes)) return allocate(bytes, 16, true);
  size_t used;
  void *medium = is_medium_size(bytes) ? medium_take(bytes, &used) : nullptr;
  if (medium) return memset(medium, 0, used);
  return note_small(__libc_calloc(n, size), bytes);
}

EXPORTED void *realloc(void *p, size_t size) {
  if (!p) return malloc(size);
  if (is_medium_block(p)) return size ? resize_medium(p, size) : (medium_give(p), nullptr);
  const Allocation b = allocation_of(p);
  if (b.bytes) {
    if (size == 0) return release(b), nullptr;
    return resize(b, size);
  }
  if (is_large(size)) return leave_library(p, allocate(size, 16, false), size);
  void *medium = is_medium_size(size) ? medium_take(size) : nullptr;
  if (medium) return leave_library(p, medium, size);
  forget_small(p);
  return note_small(__libc_realloc(p, size), size);
}

EXPORTED void *memalign(size_t alignment, size_t size) {
  if (alignment == 0 || (alignment & (alignment - 1))) return errno = EINVAL, nullptr;
  if (is_large(size)) return allocate(size, alignment, false);
  return note_small(__libc_memalign(alignment, size), size);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
EXPORTED void *valloc(size_t size) { return memalign(os::page_size(), size); }
EXPORTED void *pvalloc(size_t size) { return memalign(os::page_size(), os::page_up(size)); }

EXPORTED int posix_memalign(void **out, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) || alignment == 0 || (alignment & (alignment - 1))) return EINVAL;
  const int saved = errno;
  void *p = memalign(alignment, size);
  errno = saved;
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}

EXPORTED size_t malloc_usable_size(void *p) {
  if (!p) return 0;
  if (is_medium_block(p)) return medium_bytes(p);
  const Allocation b = allocation_of(p);
  return b.bytes ? b.bytes : usable_in_library(p);
}
}
