// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/medium_blocks.h"

#include "core/memory/free_runs.h"
#include "runtime/process/allocations.h"
#include "runtime/state/locks.h"
#include "runtime/kernel/os.h"
#include "runtime/process/runtime.h"
#include "runtime/kernel/sandbox.h"

#include <algorithm>
#include <atomic>
#include <malloc.h>
#include <sys/mman.h>

namespace pagecast {

constinit MediumRange medium_range;

namespace {

constexpr unsigned kGranuleShift = 10;
constexpr uint64_t kRange = MediumRange::kBytes;
constexpr uint32_t kGranules = kRange >> kGranuleShift;
constexpr uint64_t kLeastGrowth = 8u << 20;
constexpr uint64_t kLookShare = 4;   ///< of runtime_unpaged_bytes(): so much is asked for before the next look at it, at least
constexpr uint64_t kGrowthShare = 8; ///< of the range in use: by so much it grows at a time

/// Freed since memory was given back last, as a share of what there is, before it is again; and no less than this.
constexpr uint32_t kTrimShare = 8, kLeastTrim = (16u << 20) >> kGranuleShift;

core::FreeRuns free_runs;          ///< under locks::medium
uint32_t freed = 0;            ///< granules, since memory was given back last. Under locks::medium
std::atomic<uint64_t> &base = medium_range.base;
std::atomic<bool> none{false}; ///< the addresses could not be had
std::atomic<uint64_t> asked{0}; ///< bytes, until there are many
std::atomic<uint64_t> look_at{0}; ///< value of `asked` at which to look how many there are
thread_local bool growing __attribute__((tls_model("initial-exec"))) = false;

uint32_t granules(size_t bytes) { return static_cast<uint32_t>((bytes + (1u << kGranuleShift) - 1) >> kGranuleShift); }
uint32_t granule_of(const void *p) {
  return static_cast<uint32_t>((reinterpret_cast<uint64_t>(p) - base.load(std::memory_order_relaxed)) >> kGranuleShift);
}

/// Bytes of the program's that the C library's allocator holds.
uint64_t in_library() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Whether the program has many blocks by now, of which `bytes` more are asked for. It is looked at seldom.
bool has_many(size_t bytes) {
  const uint64_t left = runtime_unpaged_bytes(), now = asked.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t next = look_at.load(std::memory_order_relaxed);
  if (now < std::max(next, left)) return false;
  const uint64_t held = in_library(), missing = left > held ? left - held : 0;
  if (!missing) return true;
  look_at.compare_exchange_strong(next, now + std::max(missing, left / kLookShare), std::memory_order_relaxed);
  return false;
}

/// Reserves the addresses. Nobody can touch them until they are granted in pieces, not even mlockall().
bool reserve_range() {
  if (sandboxed()) return false;
  Guard guard(locks::medium);
  if (base.load(std::memory_order_relaxed)) return true;
  void *tables = os::reserve(core::FreeRuns::bytes(kGranules)), *range = tables ? os::reserve_for_program(kRange) : nullptr;
  if (!range || os::protect_mapping(reinterpret_cast<uint64_t>(range), kRange, PROT_NONE, -1)) {
    if (range) os::unmap(range, kRange);
    if (tables) os::unmap(tables, core::FreeRuns::bytes(kGranules));
    none.store(true, std::memory_order_relaxed);
    return false;
  }
  free_runs.start(tables, kGranules);
  base.store(reinterpret_cast<uint64_t>(range), std::memory_order_release);
  return true;
}

/// More granules, as one large block. This may start the paging of everything, under a lock of its own: what is allocated
/// meanwhile, by that too, is the C library's. Not in a sandbox, where the system calls may be deadly.
bool grow(uint32_t seen) {
  if (sandboxed()) return false;
  growing = true;
  Guard guard(locks::medium_growth);
  const uint32_t end = free_runs.end(); // changes under both locks only
  bool grown = end != seen;        // by another thread
  if (!grown) {
    const uint64_t bytes = std::min(std::max(kLeastGrowth, (uint64_t{end} << kGranuleShift) / kGrowthShare & ~(kLeastGrowth - 1)),
                                    kRange - (uint64_t{end} << kGranuleShift));
    const uint64_t at = base.load(std::memory_order_relaxed) + (uint64_t{end} << kGranuleShift);
    if (bytes && os::protect_mapping(at, bytes, PROT_READ | PROT_WRITE, -1) == 0) {
      allocation_add(at, bytes, Allocation::kHeap);
      Guard table(locks::medium);
      grown = free_runs.add(static_cast<uint32_t>(bytes >> kGranuleShift));
    }
  }
  growing = false;
  return grown;
}

/// The memory of a long run that is free, and taken meanwhile: nobody wants its contents.
void give_back(uint32_t first, uint32_t n) {
  const uint64_t page = os::page_size(), begin = base.load(std::memory_order_relaxed) + (uint64_t{first} << kGranuleShift);
  const uint64_t from = (begin + page - 1) & ~(page - 1), to = (begin + (uint64_t{n} << kGranuleShift)) & ~(page - 1);
  allocation_discard(from, to);
}

/// The same of all long runs. Many are freed one after the other: this is done seldom.
void give_back_long_ones() {
  if (sandboxed()) return;
  constexpr unsigned kMost = 64;
  uint32_t first[kMost], n[kMost];
  unsigned count = 0;
  {
    Guard guard(locks::medium);
    while (count < kMost && (first[count] = free_runs.take_long(&n[count])) != core::FreeRuns::kNone) ++count;
  }
  for (unsigned i = 0; i < count; ++i) give_back(first[i], n[i]);
  Guard guard(locks::medium);
  for (unsigned i = 0; i < count; ++i) free_runs.give(first[i]);
}

} // namespace

void *medium_take(size_t bytes, size_t *used) {
  if (growing || none.load(std::memory_order_relaxed) || bytes > uint64_t{core::FreeRuns::kLongest} << kGranuleShift)
    return nullptr;
  if (!base.load(std::memory_order_acquire) && (!has_many(bytes) || !reserve_range())) return nullptr;
  const uint32_t n = granules(bytes);
  for (;;) {
    uint32_t end, first, untouched;
    {
      Guard guard(locks::medium);
      end = free_runs.end();
      untouched = free_runs.untouched();
      first = free_runs.take(n);
    }
    const bool taken = first != core::FreeRuns::kNone;
    if (!taken && !grow(end)) return nullptr;
    if (!taken) continue;
    if (used) *used = first < untouched ? std::min(bytes, uint64_t{untouched - first} << kGranuleShift) : 0;
    return reinterpret_cast<void *>(base.load(std::memory_order_relaxed) + (uint64_t{first} << kGranuleShift));
  }
}

size_t medium_bytes(const void *p) {
  Guard guard(locks::medium);
  return size_t{free_runs.length(granule_of(p))} << kGranuleShift;
}

void medium_give(void *p) {
  {
    Guard guard(locks::medium);
    const uint32_t first = granule_of(p);
    freed += free_runs.length(first);
    free_runs.give(first);
    if (freed < std::max(kLeastTrim, free_runs.end() / kTrimShare)) return;
    freed = 0;
  }
  give_back_long_ones();
}

bool medium_resize(void *p, size_t bytes) {
  if (bytes > uint64_t{core::FreeRuns::kLongest} << kGranuleShift) return false;
  Guard guard(locks::medium);
  return free_runs.resize(granule_of(p), granules(bytes));
}

} // namespace pagecast
