// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/maps.h"

#include "runtime/engine/engine.h"
#include "runtime/kernel/os.h"
#include "runtime/nbd/link.h"
#include "runtime/process/allocations.h"
#include "runtime/process/runtime.h"
#include "runtime/state/locks.h"
#include "runtime/state/options.h"
#include "runtime/store/nbd_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

namespace pagecast {

std::atomic<bool> maps_in_use{false};
namespace {

/// One that is connected to: for good, since programs that map an export once do so again.
struct Export {
  NbdStore *store;
  uint8_t number; ///< the engine's (Origin::map); 0: not attached yet
};
constexpr int kMost = 8;
Export exports[kMost];
int count = 0;

int refuse(char *why, unsigned capacity, int error, const char *sentence, const char *uri) {
  snprintf(why, capacity, sentence, uri);
  return -error;
}

/// Called with the lock held.
int connect(const char *uri, char *why, unsigned capacity) {
  if (count == kMost) return refuse(why, capacity, ENOSPC, "map %s: no more than eight exports can be mapped", uri);
  void *memory = os::map_memory(os::page_up(sizeof(NbdStore)), false);
  if (!memory) return refuse(why, capacity, ENOMEM, "map %s: no memory", uri);
  NbdLink::find_helper();
  auto *store = new (memory) NbdStore;
  if (const int error = store->start_map(uri, static_cast<unsigned>(runtime_options().patience), why, capacity)) {
    os::unmap(memory, sizeof(NbdStore));
    return error;
  }
  exports[count] = {store, 0};
  return count++;
}

/// The engine knows the export. Its number there, or -errno.
int attach(Export &e, char *why, unsigned capacity) {
  const char *uri = e.store->name();
  if (e.number) return e.number;
  Engine *engine = allocations_begin() ? runtime_running_engine() : nullptr;
  if (!engine || !engine->pages_memory())
    return refuse(why, capacity, ENOTSUP, "map %s: memory cannot be paged here; pagecast doctor says why", uri);
  const int number = engine->attach(*e.store);
  if (number < 0) return refuse(why, capacity, -number, "map %s: no more exports can be mapped", uri);
  e.number = static_cast<uint8_t>(number);
  return number;
}

} // namespace

int map_export(const char *uri, char *why, unsigned capacity) {
  if (!is_server_address(uri))
    return refuse(why, capacity, EINVAL, "map %.400s: that is no address of an export, such as nbd://HOST/EXPORT", uri);
  if (!runtime_options().enable) return refuse(why, capacity, ENOTSUP, "map %.400s: switched off by PAGECAST_ENABLE", uri);
  Guard guard(locks::maps);
  for (int i = 0; i < count; ++i)
    if (!strcmp(exports[i].store->name(), uri)) return i;
  return connect(uri, why, capacity);
}

uint64_t export_bytes(int number) { return exports[number].store->bytes(); }
bool export_is_read_only(int number) { return exports[number].store->is_read_only(); }

int64_t map_memory_of(int number, uint64_t offset, uint64_t bytes, const MapRequest &request, char *why, unsigned capacity) {
  Export &e = exports[number];
  const char *uri = e.store->name();
  const uint64_t there = os::page_up(e.store->bytes());
  bytes = os::page_up(bytes);
  if (offset % os::page_size() || bytes == 0)
    return refuse(why, capacity, EINVAL, "map %s: it begins inside of a page, or is empty", uri);
  if (offset > there || bytes > there - offset)
    return refuse(why, capacity, EOVERFLOW, "map %s: the export is smaller than that", uri);
  if (request.writable && e.store->is_read_only())
    return refuse(why, capacity, EACCES, "map %s: the server does not let it be written", uri);
  Guard guard(locks::maps);
  const int attached = attach(e, why, capacity);
  if (attached < 0) return attached;
  if (request.fixed) {
    const auto begin = reinterpret_cast<uint64_t>(request.address);
    maps_flush(begin, begin + bytes);
    allocation_remove(begin, begin + bytes);
  }
  const int64_t address = os::map_for_region(request.address, request.fixed, bytes, request.readable, request.writable);
  if (address < 0) return refuse(why, capacity, static_cast<int>(-address), "map %s: no address space", uri);
  const int error =
      allocation_add_map(static_cast<uint64_t>(address), bytes, {static_cast<uint8_t>(attached), request.writable, offset});
  if (error) {
    os::unmap(reinterpret_cast<void *>(address), bytes);
    return refuse(why, capacity, -error, "map %s: the pager cannot take it", uri);
  }
  maps_in_use.store(true, std::memory_order_relaxed);
  return address;
}

int maps_flush(uint64_t begin, uint64_t end) {
  Engine *engine = maps_any() && begin < end ? runtime_running_engine() : nullptr;
  return engine ? engine->flush(begin, end - begin) : 0;
}

void maps_refresh(uint64_t begin, uint64_t end) {
  Engine *engine = maps_any() && begin < end ? runtime_running_engine() : nullptr;
  if (engine) engine->refresh(begin, end - begin);
}

} // namespace pagecast
