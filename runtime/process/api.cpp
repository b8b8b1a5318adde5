// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints by hand, and paging by hand (pagecast/pagecast.h).
#include "pagecast/pagecast.h"

#include "runtime/engine/engine.h"
#include "runtime/kernel/message.h"
#include "runtime/kernel/os.h"
#include "runtime/process/allocations.h"
#include "runtime/process/maps.h"
#include "runtime/process/runtime.h"

#include <algorithm>
#include <cerrno>

namespace pagecast {
namespace {

/// One queue entry asks for at most this much, so that others get their turn.
constexpr uint64_t kLot = 4u << 20;

int prefetch(const void *addr, size_t bytes, Hint::Kind kind) {
  Engine *engine = runtime_running_engine();
  const auto begin = reinterpret_cast<uint64_t>(addr);
  if (!engine || bytes == 0 || begin + bytes < begin) return 0;
  const unsigned shift = engine->residency().page_shift();
  uint64_t asked = 0;
  for (uint64_t at = begin, end = begin + bytes; at < end;) {
    const core::Extent absent = engine->residency().next_absent({at, end}, kLot);
    if (absent.empty()) break;
    const Region r = engine->look_up(absent.begin);
    if (r.bytes == 0) return static_cast<int>(asked >> shift);
    engine->statistics.hints_by_hand.fetch_add(1, std::memory_order_relaxed);
    if (!engine->hint({absent.begin, static_cast<uint32_t>(absent.size() >> shift), kind, 0, 0, 0, 0})) return -ENOSPC;
    asked += absent.size();
    at = absent.end;
  }
  return static_cast<int>(std::min<uint64_t>(asked >> shift, 1u << 30));
}

} // namespace
} // namespace pagecast

using namespace pagecast;

extern "C" {

__attribute__((visibility("default"))) int pagecast_begin(void) { return allocations_begin() ? 0 : -ENOTSUP; }

__attribute__((visibility("default"))) void *pagecast_allocate(size_t bytes) {
  if (bytes == 0) return errno = EINVAL, nullptr;
  void *base = bytes <= SIZE_MAX - os::page_size() ? os::map_memory(os::page_up(bytes), false) : nullptr;
  if (!base) return errno = ENOMEM, nullptr;
  allocations_begin();
  allocation_add(reinterpret_cast<uint64_t>(base), os::page_up(bytes), Allocation::kMapping);
  return base;
}

__attribute__((visibility("default"))) void *pagecast_map(const char *uri, uint64_t offset, uint64_t bytes, unsigned flags) {
  if (!uri || flags & ~PAGECAST_MAP_WRITE) return errno = EINVAL, nullptr;
  char why[400];
  const int number = map_export(uri, why, sizeof why);
  int64_t at = number;
  if (number >= 0) {
    const uint64_t there = export_bytes(number);
    MapRequest request;
    request.writable = flags & PAGECAST_MAP_WRITE;
    at = map_memory_of(number, offset, bytes ? bytes : there - std::min(offset, there), request, why, sizeof why);
  }
  if (at < 0) return tell("%s", why), errno = static_cast<int>(-at), nullptr;
  return reinterpret_cast<void *>(at);
}

__attribute__((visibility("default"))) int64_t pagecast_map_bytes(const char *uri) {
  char why[400];
  const int number = uri ? map_export(uri, why, sizeof why) : -EINVAL;
  return number < 0 ? number : static_cast<int64_t>(export_bytes(number));
}

__attribute__((visibility("default"))) int pagecast_flush(void *addr, size_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(addr);
  return maps_flush(os::page_down(begin), begin + bytes);
}

__attribute__((visibility("default"))) int pagecast_refresh(void *addr, size_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(addr);
  maps_refresh(os::page_down(begin), os::page_up(begin + bytes));
  return 0;
}

__attribute__((visibility("default"))) int pagecast_unmap(void *addr, size_t bytes) {
  const uint64_t begin = reinterpret_cast<uint64_t>(addr), end = os::page_up(begin + bytes);
  if (begin != os::page_down(begin) || end <= begin) return -EINVAL;
  const int error = maps_flush(begin, end);
  allocation_remove(begin, end);
  os::unmap(addr, end - begin);
  return error;
}

__attribute__((visibility("default"))) uint64_t pagecast_set_memory(uint64_t bytes) { return allocations_set_memory(bytes); }

__attribute__((visibility("default"))) int pagecast_statistics(int fd) { return runtime_write_statistics(fd); }

__attribute__((visibility("default"))) int pagecast_prefetch(const void *addr, size_t bytes) {
  return prefetch(addr, bytes, Hint::kFetch);
}

__attribute__((visibility("default"))) int pagecast_prefetch_write(void *addr, size_t bytes) {
  return prefetch(addr, bytes, Hint::kFetchWrite);
}

__attribute__((visibility("default"))) int pagecast_release(const void *addr, size_t bytes, unsigned priority) {
  Engine *engine = runtime_running_engine();
  uint64_t begin = os::page_up(reinterpret_cast<uint64_t>(addr));
  const uint64_t end = os::page_down(reinterpret_cast<uint64_t>(addr) + bytes);
  if (!engine || reinterpret_cast<uint64_t>(addr) + bytes < begin) return 0;
  for (; begin < end; begin += kLot) {
    const auto pages = static_cast<uint32_t>(std::min(end - begin, kLot) >> os::page_shift());
    engine->statistics.hints_by_hand.fetch_add(1, std::memory_order_relaxed);
    if (!engine->hint({begin, pages, Hint::kRelease, static_cast<uint8_t>(std::min(priority, 7u)), 0, 0, 0})) return -ENOSPC;
  }
  return 0;
}
}
