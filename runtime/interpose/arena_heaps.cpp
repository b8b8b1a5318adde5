// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/interpose/arena_heaps.h"

#include "runtime/interpose/library_heap.h"
#include "runtime/kernel/os.h"
#include "runtime/process/allocations.h"
#include "runtime/process/runtime.h"
#include "runtime/state/locks.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

extern "C" {
void *__libc_malloc(size_t);
void __libc_free(void *);
}

namespace pagecast {
namespace {

/// Of the C library's (malloc/arena.c): heaps lie at multiples of their greatest size, and begin with this.
constexpr unsigned kHeapShift = 26;
constexpr uint64_t kHeapBytes = uint64_t{1} << kHeapShift;
struct HeapInfo {
  const void *arena;
  const HeapInfo *before;
  size_t bytes, accessible;
};
constexpr size_t kOfArena = 4, kMapped = 2; ///< bits in the word before a block, beside its size

/// The beginning of a heap is left alone: what the C library touches while it forks is there.
constexpr uint64_t kLeftAlone = 64u << 10;
/// Pieces; and before paging has begun, when nobody may be far ahead of what is known of them.
constexpr uint64_t kLeastPiece = 1u << 20, kFirstPiece = 256u << 10;
/// So much more counts before paging has begun: what is noted has been stored to already, and the pager needs memory to start.
constexpr uint64_t kAhead = 1u << 20;
constexpr uint64_t kAddresses = uint64_t{1} << 47;

std::atomic<uint64_t> asked{0}; ///< bytes
/// For each place where a heap may be: the bytes of it that are noted, those that are left alone included. 0: none.
std::atomic<std::atomic<uint32_t> *> noted{nullptr};

uint64_t heap_of(const void *block) { return reinterpret_cast<uint64_t>(block) & ~(kHeapBytes - 1); }

bool is_in_arena(const void *block) {
  return block && (static_cast<const size_t *>(block)[-1] & (kOfArena | kMapped)) == kOfArena;
}

/// Heaps are of another size where huge pages are asked for.
bool are_usual() {
  const char *tunables = getenv("GLIBC_TUNABLES");
  return !tunables || !strstr(tunables, "hugetlb");
}

std::atomic<uint32_t> *notes() {
  if (auto *table = noted.load(std::memory_order_acquire)) return table;
  static const bool usual = are_usual();
  if (!usual) return nullptr;
  auto *made = static_cast<std::atomic<uint32_t> *>(os::reserve((kAddresses >> kHeapShift) * sizeof(std::atomic<uint32_t>)));
  noted.store(made, std::memory_order_release);
  return made;
}

/// Takes a block of the heap, and keeps it. False: the C library takes it from elsewhere.
bool keep_block(uint64_t heap) {
  constexpr size_t kSomeSize = 1000; // seldom asked for, so that it is cut from the end of the heap
  void *block = __libc_malloc(kSomeSize);
  if (!block || heap_of(block) == heap) return block != nullptr;
  __libc_free(block);
  return false;
}

} // namespace

bool arena_heap_grown(const void *block, uint64_t bytes) {
  if (!is_in_arena(block)) return true;
  const bool pages =
      runtime_pages_memory(); // then they are noted at once: what is there already may be more than there is room for
  if (asked.fetch_add(bytes, std::memory_order_relaxed) + bytes < runtime_unpaged_bytes() && !pages) return true;
  const uint64_t heap = heap_of(block);
  const auto *info = reinterpret_cast<const HeapInfo *>(heap);
  const uint64_t accessible = __atomic_load_n(&info->accessible, __ATOMIC_RELAXED) & ~(os::page_size() - 1);
  TryGuard guard(locks::library_heap);
  if (!guard.holds()) return false;
  std::atomic<uint32_t> *table = library_heap_may_be_paged() ? notes() : nullptr;
  if (!table || accessible > kHeapBytes || reinterpret_cast<uint64_t>(block) >= heap + accessible) return true;
  std::atomic<uint32_t> &done = table[heap >> kHeapShift];
  const bool first = done.load(std::memory_order_relaxed) == 0;
  const uint64_t from = std::max<uint64_t>(done.load(std::memory_order_relaxed), kLeftAlone),
                 to = std::min(accessible + (pages ? 0 : kAhead), kHeapBytes);
  if (to < from + (!pages ? kFirstPiece : first ? kLeftAlone : kLeastPiece)) return true;
  if (first) {
    if (!keep_block(heap)) return true;
    library_heap_stays();
    if (!allocation_try_add(heap + kLeftAlone, kHeapBytes - kLeftAlone, Allocation::kReserved)) return false;
    done.store(kLeftAlone, std::memory_order_relaxed);
  }
  if (!allocation_try_commit(heap + from, heap + to)) return false;
  done.store(static_cast<uint32_t>(to), std::memory_order_relaxed);
  return true;
}

bool arena_heap_has(const void *block) {
  const auto *table = noted.load(std::memory_order_acquire);
  const auto address = reinterpret_cast<uint64_t>(block);
  if (!table || address >= kAddresses) return false;
  const uint32_t done = table[address >> kHeapShift].load(std::memory_order_relaxed);
  const uint64_t at = address & (kHeapBytes - 1);
  return done && at >= kLeftAlone && (at < done || runtime_pages_memory()); // what is reserved behind is paged with it
}

} // namespace pagecast
