// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/allocations.h"

#include "runtime/process/freed_cache.h"

#include "runtime/process/fork.h"
#include "runtime/slicer/slicer.h"
#include "runtime/state/guards.h"
#include "runtime/state/locks.h"
#include "runtime/state/open_nests.h"
#include "runtime/engine/engine.h"
#include "runtime/process/reads.h"
#include "runtime/process/runtime.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/uio.h>

namespace pagecast {
namespace {

constexpr unsigned kMost = 65536;
constexpr uint64_t kNoAllocation = ~0ull; ///< begins there
Allocation *allocations = nullptr; ///< sorted by base
unsigned count = 0;
uint64_t total = 0;      ///< bytes of anonymous allocations
uint64_t file_total = 0; ///< of mapped files
// Bounds of all allocations, for the test that most calls end at. Only ever widened.
std::atomic<uint64_t> lowest{~0ull}, highest{0};

unsigned lower(uint64_t address) {
  return static_cast<unsigned>(
      std::partition_point(allocations, allocations + count, [&](const Allocation &b) { return b.end() <= address; }) -
      allocations);
}

/// What allocations of that kind sum up to.
uint64_t &total_of(Allocation::Kind kind) {
  static uint64_t uncounted = 0;
  return kind == Allocation::kFile ? file_total : kind == Allocation::kReserved || kind == Allocation::kMap ? uncounted : total;
}

/// 0 or -errno; -EFBIG: it never can be.
int make_region(Engine &engine, const Allocation &b, bool newest) {
  if (b.kind == Allocation::kFile) return engine.files().add(b.base, b.bytes, b.file) ? 0 : -ENOTSUP;
  if (engine.pages_memory()) return engine.add(b.base, b.bytes);
  // What will not be filled has no room on the disk.
  return b.kind != Allocation::kSparse && engine.files().add_memory(b.base, b.bytes, newest) ? 0 : -EFBIG;
}

/// The part [from, to) of the allocation is none of a region any more; its contents are gone.
void end_region(Engine &engine, const Allocation &b, uint64_t from, uint64_t to) {
  if (b.kind == Allocation::kFile) engine.files().remove(from, to);
  else if (engine.pages_memory()) engine.remove(from, to - from);
  else engine.files().remove_memory(from, to);
}

// --- reserved address space, and its pieces ---------------------------------------------------------

/// When a piece becomes a region, so much of what is reserved behind it does, too: pieces come one by one, in order.
constexpr uint64_t kBehind = 16u << 20;

/// The allocation at index i ends at `address`, and another one like it begins there. False: there is no room for that.
bool split(unsigned i, uint64_t address) {
  if (count == kMost) return false;
  memmove(allocations + i + 1, allocations + i, (count - i) * sizeof(Allocation));
  ++count;
  allocations[i].bytes = address - allocations[i].base;
  allocations[i + 1].bytes = allocations[i + 1].end() - address;
  allocations[i + 1].base = address;
  return true;
}

/// Those at indexes i and i + 1 become one if they are alike and are of the kinds that come in pieces.
bool merge(unsigned i) {
  if (i + 1 >= count) return false;
  Allocation &a = allocations[i];
  const Allocation &b = allocations[i + 1];
  const bool alike = a.kind == b.kind && a.end() == b.base && a.paged == b.paged && a.exempt == b.exempt;
  if (!alike || (a.kind != Allocation::kPiece && a.kind != Allocation::kReserved)) return false;
  a.bytes += b.bytes;
  memmove(allocations + i + 1, allocations + i + 2, (count - i - 2) * sizeof(Allocation));
  --count;
  return true;
}

void merge_around(uint64_t begin, uint64_t end) {
  unsigned i = lower(begin ? begin - 1 : 0);
  while (i + 1 < count && allocations[i].base < end)
    if (!merge(i)) ++i;
}

bool has_reserved(uint64_t begin, uint64_t end) {
  for (unsigned i = lower(begin); i < count && allocations[i].base < end; ++i)
    if (allocations[i].kind == Allocation::kReserved) return true;
  return false;
}

bool is_of(Allocation::Kind kind, bool writable) { return (kind == Allocation::kReserved) != writable; }

/// What may change in [begin, end) becomes pieces, or (`writable` false) reserved.
void change(uint64_t begin, uint64_t end, bool writable) {
  for (unsigned i = lower(begin); i < count && allocations[i].base < end; ++i) {
    if (!allocations[i].may_change() || is_of(allocations[i].kind, writable)) continue;
    if (allocations[i].base < begin) {
      if (split(i, begin)) continue; // the right part is next
      return;
    }
    if (allocations[i].end() > end && !split(i, end)) return;
    total_of(allocations[i].kind) -= allocations[i].bytes;
    allocations[i].kind = writable ? Allocation::kPiece : Allocation::kReserved;
    total_of(allocations[i].kind) += allocations[i].bytes;
  }
  merge_around(begin, end);
}

/// Bytes of reserved space behind the piece at index i that become a region with it.
uint64_t behind(unsigned i) {
  if (allocations[i].kind != Allocation::kPiece || i + 1 == count) return 0;
  const Allocation &next = allocations[i + 1];
  const bool free = next.kind == Allocation::kReserved && !next.paged && next.base == allocations[i].end();
  return free ? std::min(next.bytes, std::max(kBehind, allocations[i].bytes / 4 & ~(os::page_size() - 1))) : 0;
}

/// A piece becomes a region, with what is reserved behind it where that can be.
int make_piece_region(Engine &engine, unsigned i, bool newest) {
  const uint64_t more = engine.pages_memory() ? behind(i) : 0;
  if (more == 0 || (more < allocations[i + 1].bytes && !split(i + 1, allocations[i + 1].base + more)))
    return make_region(engine, allocations[i], newest);
  Allocation whole = allocations[i];
  whole.bytes += more;
  if (const int error = make_region(engine, whole, newest)) return error;
  allocations[i + 1].paged = true;
  guards.unreadable.add(allocations[i + 1].base, allocations[i + 1].end());
  return 0;
}

/// Starts the paging of everything, or of the newest allocation, at `newest`. Called with the lock held.
void page_allocations(uint64_t newest, Begin begin = Begin::kExceeding) {
  if (freed_bytes() && !runtime_fits(total + freed_bytes())) freed_drop();
  uint64_t sparse = 0;
  for (unsigned i = 0; i < count && !runtime_fits(total); ++i)
    sparse += allocations[i].kind == Allocation::kSparse ? allocations[i].bytes : 0;
  const uint64_t held = total + freed_bytes();
  Engine *memory = runtime_engine(held, held - sparse, begin),
         *files = file_total ? runtime_file_engine(total, file_total) : nullptr;
  if (!memory && !files) return;
  for (unsigned i = 0; i < count; ++i) {
    Engine *engine = allocations[i].kind == Allocation::kFile ? files : memory;
    if (!engine || allocations[i].paged || allocations[i].exempt || allocations[i].kind == Allocation::kReserved) continue;
    if (allocations[i].kind != Allocation::kFile && direct_reads_under_way(allocations[i].base, allocations[i].end()))
      continue; // the last one pages it
    const bool is_newest = allocations[i].base == newest;
    const int error = allocations[i].kind == Allocation::kPiece ? make_piece_region(*engine, i, is_newest)
                                                                : make_region(*engine, allocations[i], is_newest);
    allocations[i].paged = error == 0;
    allocations[i].exempt = error == -EFBIG; // for good
  }
  if (memory) memory->expect(0);
  if (files) files->poke();
}

/// Called with the lock held; the newcomer is not counted yet.
bool note(const Allocation &b) {
  if (!allocations) {
    allocations = static_cast<Allocation *>(os::reserve(kMost * sizeof(Allocation)));
    watch_forks();
  }
  if (!allocations || count == kMost) return false;
  const unsigned i = lower(b.base);
  memmove(allocations + i + 1, allocations + i, (count - i) * sizeof(Allocation));
  allocations[i] = b;
  ++count;
  if (b.base < lowest.load(std::memory_order_relaxed)) lowest.store(b.base, std::memory_order_relaxed);
  if (b.end() > highest.load(std::memory_order_relaxed)) highest.store(b.end(), std::memory_order_relaxed);
  return true;
}

/// Makes the part of the allocation in [begin, end) zero if it is paged. Called with the lock held.
bool clear(const Allocation &b, uint64_t begin, uint64_t end) {
  Engine *engine = b.paged && b.kind != Allocation::kFile ? runtime_running_engine() : nullptr;
  if (!engine) return false;
  const uint64_t from = std::max(begin, b.base), to = std::min(end, b.end());
  if (b.kind == Allocation::kMap) engine->flush(from, to - from), engine->refresh(from, to - from);
  else if (engine->pages_memory()) engine->clear(from, to - from);
  else engine->files().clear_memory(from, to);
  return true;
}

/// Called with the lock held.
void add(uint64_t base, uint64_t bytes, Allocation::Kind kind) {
  if (!note({base, bytes, kind, false, false, {}})) return;
  total_of(kind) += bytes;
  if (kind == Allocation::kReserved) return;
  if (kind == Allocation::kPiece) merge_around(base, base + bytes);
  page_allocations(base);
}

} // namespace

void allocation_add(uint64_t base, uint64_t bytes, Allocation::Kind kind) {
  Guard guard(locks::allocations);
  add(base, bytes, kind);
}

bool allocation_try_add(uint64_t base, uint64_t bytes, Allocation::Kind kind) {
  TryGuard guard(locks::allocations);
  if (guard.holds()) add(base, bytes, kind);
  return guard.holds();
}

bool allocation_try_commit(uint64_t begin, uint64_t end) {
  TryGuard guard(locks::allocations);
  if (!guard.holds()) return false;
  guards.unreadable.remove(begin, end);
  change(begin, end, true);
  page_allocations(begin);
  return true;
}

void allocation_add_file(uint64_t base, uint64_t bytes, const FileMapping &file) {
  Guard guard(locks::allocations);
  if (!note({base, bytes, Allocation::kFile, false, false, file})) return;
  file_total += bytes;
  page_allocations(base);
}

int allocation_add_map(uint64_t base, uint64_t bytes, const Origin &origin) {
  Guard guard(locks::allocations);
  FileMapping file;
  file.shared = origin.writable;
  Engine *engine = runtime_running_engine();
  if (!engine) return -ENOSPC;
  if (const int error = engine->add_map(base, bytes, origin)) return error;
  if (!note({base, bytes, Allocation::kMap, true, false, file})) return engine->remove(base, bytes), -ENOSPC;
  total_of(Allocation::kMap) += bytes;
  return 0;
}

bool allocation_is_map(uint64_t begin, uint64_t end, bool read_only) {
  if (!allocation_near(begin, end)) return false;
  Guard guard(locks::allocations);
  for (unsigned i = lower(begin); i < count && allocations[i].base < end; ++i)
    if (allocations[i].kind == Allocation::kMap && !(read_only && allocations[i].file.shared)) return true;
  return false;
}

uint64_t allocations_in_memory() {
  uint64_t bytes = freed_bytes();
  for (unsigned i = 0; i < count; ++i)
    if (&total_of(allocations[i].kind) == &total) bytes += os::bytes_in_memory(allocations[i].base, allocations[i].bytes);
  return bytes;
}

void allocations_page() {
  Guard guard(locks::allocations);
  page_allocations(kNoAllocation);
}

bool allocations_begin() {
  Guard guard(locks::allocations);
  if (!runtime_pages_memory()) page_allocations(kNoAllocation, Begin::kAsked);
  return runtime_pages_memory();
}

void allocations_page_to_fork() {
  if (runtime_pages_memory() || !allocation_near(0, ~0ull)) return;
  Guard guard(locks::allocations);
  if (runtime_must_page_to_fork(total)) page_allocations(kNoAllocation, Begin::kForking);
}

uint64_t allocations_set_memory(uint64_t bytes) {
  Guard guard(locks::allocations);
  const uint64_t before = runtime_set_memory(bytes);
  page_allocations(kNoAllocation);
  return before;
}

bool allocation_near(uint64_t begin, uint64_t end) {
  return begin < highest.load(std::memory_order_relaxed) && end > lowest.load(std::memory_order_relaxed);
}

Allocation allocation_find(uint64_t base) {
  if (!allocation_near(base, base + 1)) return {};
  Guard guard(locks::allocations);
  const unsigned i = lower(base);
  return i < count && allocations[i].base == base ? allocations[i] : Allocation{};
}

bool allocation_remove(uint64_t begin, uint64_t end) {
  if (!allocation_near(begin, end)) return false;
  Guard guard(locks::allocations);
  bool any = false;
  for (unsigned i = lower(begin); i < count && allocations[i].base < end;) {
    const Allocation whole = allocations[i];
    Allocation left = whole, right = whole;
    left.bytes = begin > whole.base ? begin - whole.base : 0;
    right.bytes = whole.end() > end ? whole.end() - end : 0;
    right.base = whole.end() - right.bytes;
    const uint64_t from = std::max(begin, whole.base), to = std::min(end, whole.end());
    if (Engine *engine = whole.paged ? runtime_running_engine() : nullptr) {
      end_region(*engine, whole, from, to);
      slicer_let_go();
    }
    guards.unreadable.remove(from, to);
    guards.keyed.remove(from, to);
    const unsigned keep = (left.bytes != 0) + (right.bytes != 0);
    if (count - 1 + keep > kMost) right.bytes = 0;
    memmove(allocations + i + keep, allocations + i + 1, (count - i - 1) * sizeof(Allocation));
    count = count - 1 + keep;
    if (left.bytes) allocations[i++] = left;
    if (right.bytes) allocations[i++] = right;
    total_of(whole.kind) -= to - from;
    any = true;
  }
  return any;
}

bool allocation_paged(uint64_t begin, uint64_t end) {
  if (!allocation_near(begin, end)) return false;
  Guard guard(locks::allocations);
  for (unsigned i = lower(begin); i < count && allocations[i].base < end; ++i)
    if (allocations[i].paged && allocations[i].kind != Allocation::kFile) return true;
  return false;
}

bool allocation_clear(uint64_t begin, uint64_t end) {
  if (!allocation_near(begin, end)) return false;
  Guard guard(locks::allocations);
  bool any = false;
  for (unsigned i = lower(begin); i < count && allocations[i].base < end; ++i) any |= clear(allocations[i], begin, end);
  return any;
}

void allocation_discard(uint64_t begin, uint64_t end) {
  Guard guard(locks::allocations); // paging does not begin in between
  for (unsigned i = lower(begin); i < count && allocations[i].base < end; ++i) {
    if (clear(allocations[i], begin, end)) continue;
    const uint64_t from = std::max(begin, allocations[i].base), to = std::min(end, allocations[i].end());
    const iovec range{reinterpret_cast<void *>(from), to - from};
    os::discard(&range, 1);
  }
}

bool allocation_exempt(uint64_t begin, uint64_t end) {
  Guard guard(locks::allocations);
  const unsigned first = lower(begin);
  const Engine *engine = runtime_running_engine();
  const bool pages = engine && engine->pages_memory(); // what only advice moves can be locked
  for (unsigned i = first; i < count && allocations[i].base < end && pages; ++i)
    if (allocations[i].paged && allocations[i].kind != Allocation::kFile) return false;
  for (unsigned i = first; i < count && allocations[i].base < end; ++i)
    allocations[i].exempt |= allocations[i].kind != Allocation::kReserved;
  return true;
}

bool allocation_own(uint64_t begin, uint64_t end) {
  if (!allocation_near(begin, end)) return false;
  Guard guard(locks::allocations);
  unsigned i = lower(begin);
  for (uint64_t at = begin; at < end; at = allocations[i++].end())
    if (i == count || allocations[i].base > at || !allocations[i].may_change()) return false;
  return begin < end;
}

int allocation_map_over(uint64_t begin, uint64_t end, bool writable, int (*map)(uint64_t, uint64_t, bool)) {
  Guard guard(locks::allocations);
  int error = 0;
  for (uint64_t at = begin; at < end && !error;) {
    const unsigned i = lower(at);
    const Allocation b = i < count && allocations[i].base <= at ? allocations[i] : Allocation{};
    const uint64_t to = std::min(end, b.bytes ? b.end() : end);
    if (!b.paged) {
      error = map(at, to, writable);
    } else {
      if (!writable) guards.unreadable.add(at, to);
      error = writable ? 0 : os::protect_mapping(at, to - at, PROT_NONE, -1); // before, so that nobody stores to zeros
      if (!error) clear(b, at, to);
      if (!error && writable) error = os::protect_mapping(at, to - at, PROT_READ | PROT_WRITE, -1);
    }
    if (!error && writable) guards.unreadable.remove(at, to);
    at = to;
  }
  if (error) return error;
  change(begin, end, writable);
  if (writable) page_allocations(begin);
  return 0;
}

int allocation_protect(uint64_t begin, uint64_t end, int protection, int key) {
  // Under the lock as a whole, so that what is noted is what the last of several threads did.
  Guard guard(locks::allocations);
  const bool readable = protection & PROT_READ;
  bool paged = false;
  for (unsigned i = lower(begin); i < count && allocations[i].base < end; ++i) {
    const uint64_t from = std::max(begin, allocations[i].base), to = std::min(end, allocations[i].end());
    if (!readable) guards.unreadable.add(from, to);
    if (key > 0) guards.keyed.add(from, to);
    paged |= allocations[i].paged;
  }
  if (paged && (!readable || key > 0) && runtime_running_engine()) slicer_let_go();
  // A change that fails may have been made in part: what was noted stays, which costs hints at most.
  const int error = os::protect_mapping(begin, end - begin, protection, key);
  if (!error && readable) guards.unreadable.remove(begin, end);
  if (!error && key == 0) guards.keyed.remove(begin, end);
  constexpr int kStores = PROT_READ | PROT_WRITE;
  if (!error && (protection & (kStores | PROT_EXEC)) == kStores && has_reserved(begin, end)) {
    change(begin, end, true);
    page_allocations(begin);
  }
  return error;
}

} // namespace pagecast
