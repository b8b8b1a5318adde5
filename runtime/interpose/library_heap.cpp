// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/interpose/library_heap.h"

#include "runtime/interpose/next.h"
#include "runtime/kernel/os.h"
#include "runtime/process/allocations.h"
#include "runtime/process/fork.h"
#include "runtime/process/runtime.h"
#include "runtime/state/locks.h"
#include "runtime/state/options.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <malloc.h>
#include <unistd.h>

namespace pagecast {
namespace {

constexpr uint64_t kPieceShare = 64, kLeastPiece = 1u << 20, kMostPiece = 64u << 20; ///< it grows by so much at a time
constexpr uint64_t kNever = ~uint64_t{0};

// Changed under locks::library_heap.
uint64_t noted = 0; ///< the end of what is noted; 0: nothing is yet
bool stays = false; ///< something is noted, of whatever heap
std::atomic<uint64_t> noted_from{kNever};
std::atomic<uint64_t> next_note{1}; ///< the break from which on there is something to note

using Mallopt = int (*)(int, int);
using Trim = int (*)(size_t);

uint64_t end_of_heap() { return os::page_down(reinterpret_cast<uint64_t>(sbrk(0))); }

void noted_to(uint64_t end) {
  noted = end;
  next_note.store(end + os::page_size(), std::memory_order_relaxed);
}

/// The heap begins to be noted here, at its end, if it is large and may be.
void begin_at(uint64_t end) {
  static uint64_t small_end = 0; // where it is large
  if (!library_heap_may_be_paged()) return next_note.store(kNever, std::memory_order_relaxed);
  if (small_end == 0) small_end = end + runtime_unpaged_bytes();
  if (end < small_end) return next_note.store(small_end, std::memory_order_relaxed);
  library_heap_stays();
  noted_to(end);
  noted_from.store(end, std::memory_order_relaxed);
}

} // namespace

/// A server's client has memory from malloc that the pager's thread uses, which must never wait for a page.
bool library_heap_may_be_paged() {
  const Options &options = runtime_options();
  return options.enable && options.rows && !options.map && !(options.backing && is_server_address(options.backing));
}

void library_heap_stays() {
  if (stays) return;
  stays = true;
  const uint64_t piece = std::clamp(runtime_budget() / kPieceShare, kLeastPiece, kMostPiece);
  static const auto library = next<Mallopt>("mallopt");
  library(M_TRIM_THRESHOLD, -1); // never
  library(M_TOP_PAD, static_cast<int>(piece));
  fork_needs_of_foreign_heap();
}

void library_heap_grown() {
  if (next_note.load(std::memory_order_relaxed) == kNever) return;
  const uint64_t end = end_of_heap();
  if (end < next_note.load(std::memory_order_relaxed)) return;
  TryGuard guard(locks::library_heap);
  if (!guard.holds() || end < next_note.load(std::memory_order_relaxed)) return; // another thread is at it, or has been
  if (noted == 0) return begin_at(end);
  if (allocation_try_add(noted, end - noted, Allocation::kPiece)) noted_to(end);
}

bool library_heap_has(const void *p) {
  const auto address = reinterpret_cast<uint64_t>(p);
  return address >= noted_from.load(std::memory_order_relaxed) && address < next_note.load(std::memory_order_relaxed);
}

void library_heap_leave() {
  Guard guard(locks::library_heap);
  next_note.store(kNever, std::memory_order_relaxed);
  noted_from.store(kNever, std::memory_order_relaxed);
}

} // namespace pagecast

using namespace pagecast;

extern "C" {

/// What is noted stays where it is, whoever asks for it to be given back.
__attribute__((visibility("default"))) int malloc_trim(size_t pad) noexcept {
  static const auto library = next<Trim>("malloc_trim");
  Guard guard(locks::library_heap);
  return stays || !library ? 0 : library(pad);
}

__attribute__((visibility("default"))) int mallopt(int what, int value) noexcept {
  static const auto library = next<Mallopt>("mallopt");
  Guard guard(locks::library_heap);
  if (what == M_TRIM_THRESHOLD && stays) return 1;
  return library ? library(what, value) : 0;
}
}
