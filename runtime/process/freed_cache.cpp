// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/freed_cache.h"

#include "runtime/kernel/os.h"
#include "runtime/process/runtime.h"
#include "runtime/state/locks.h"

#include <atomic>

namespace pagecast {
namespace {

struct Freed {
  void *base;
  uint64_t bytes;
};
constexpr unsigned kMost = 8;
constexpr uint64_t kMostBytes = 32u << 20; ///< of one block, as in the C library
Freed freed[kMost];                        ///< under locks::freed_cache
std::atomic<uint64_t> total{0};            ///< bytes

/// Empties the place. Called with the lock held.
void forget(Freed &f) {
  total.fetch_sub(f.bytes, std::memory_order_relaxed);
  f = {};
}

} // namespace

void *freed_take(uint64_t bytes) {
  if (!freed_bytes()) return nullptr;
  Guard guard(locks::freed_cache);
  for (Freed &f : freed) {
    if (!f.base || f.bytes < bytes || f.bytes > bytes + bytes / 4) continue;
    void *base = f.base;
    if (f.bytes > bytes) os::unmap(static_cast<char *>(base) + bytes, f.bytes - bytes);
    forget(f);
    return base;
  }
  return nullptr;
}

void freed_keep_or_unmap(void *base, uint64_t bytes) {
  if (bytes <= kMostBytes && !runtime_running_engine()) {
    Guard guard(locks::freed_cache);
    for (Freed &f : freed)
      if (!f.base) {
        f = {base, bytes};
        total.fetch_add(bytes, std::memory_order_relaxed);
        return;
      }
  }
  os::unmap(base, bytes);
}

uint64_t freed_bytes() { return total.load(std::memory_order_relaxed); }

void freed_drop() {
  Guard guard(locks::freed_cache);
  for (Freed &f : freed) {
    if (!f.base) continue;
    os::unmap(f.base, f.bytes);
    forget(f);
  }
}

} // namespace pagecast
