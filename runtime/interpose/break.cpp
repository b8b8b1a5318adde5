// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sbrk, by which other allocators than the C library's get memory (tcmalloc does). The C library's own does not come here.
#include "runtime/interpose/library_heap.h"
#include "runtime/interpose/next.h"
#include "runtime/kernel/os.h"
#include "runtime/process/allocations.h"
#include "runtime/process/runtime.h"
#include "runtime/state/locks.h"

#include <cstdint>

namespace pagecast {
namespace {

uint64_t last_end = 0; ///< of what the program got last, to the byte

using Sbrk = void *(*)(intptr_t);

/// Whole pages of the program's: the one that it has a part of already is, if the rest of it comes now.
void note(uint64_t begin, uint64_t bytes) {
  uint64_t from = begin;
  {
    Guard guard(locks::program_break);
    from = begin == last_end ? os::page_down(begin) : os::page_up(begin);
    last_end = begin + bytes;
  }
  const uint64_t to = os::page_down(begin + bytes);
  if (from < to) allocation_add(from, to - from, Allocation::kPiece);
}

void *grow(intptr_t bytes) {
  static const auto library = next<Sbrk>("sbrk");
  if (bytes != 0) library_heap_leave();
  if (bytes < 0) {
    const auto end = reinterpret_cast<uint64_t>(library(0));
    const uint64_t begin = end + static_cast<uint64_t>(bytes);
    if (allocation_near(begin, end)) allocation_remove(os::page_up(begin), os::page_up(end));
  }
  void *begin = library(bytes);
  if (bytes > 0 && begin != reinterpret_cast<void *>(-1) && runtime_options().enable)
    note(reinterpret_cast<uint64_t>(begin), static_cast<uint64_t>(bytes));
  return begin;
}

} // namespace
} // namespace pagecast

extern "C" {
__attribute__((visibility("default"))) void *sbrk(intptr_t bytes) noexcept { return pagecast::grow(bytes); }
__attribute__((visibility("default"))) void *__sbrk(intptr_t bytes) noexcept { return pagecast::grow(bytes); }
}
