// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exports of NBD servers as memory: regions whose pages come from an export, and go back there when they were stored to. The pager
// is the cache of them, within the same budget as all else. What others see of it, and when, pager/map_sync.h has.
//
// Any thread. Nothing here is done, and nothing is taken, until a program maps an export.
#pragma once
#include <atomic>
#include <cstdint>

namespace pagecast {

/// How memory is to be mapped.
struct MapRequest {
  void *address = nullptr; ///< NULL: anywhere
  bool fixed = false; ///< there, in the place of what was there
  bool writable = false; ///< what is stored goes to the export
  bool readable = true;
};

/// The number of the export, connected to if it was not yet; -errno, with a sentence in `why`. Cost: until the server answers.
int map_export(const char *uri, char *why, unsigned capacity);
/// The size of an export that is connected to, and whether it is one.
uint64_t export_bytes(int number);
bool export_is_read_only(int number);

/// Maps [offset, offset+bytes) of the export, which it must have; `offset` is a page's. The address, or -errno with a sentence.
int64_t map_memory_of(int number, uint64_t offset, uint64_t bytes, const MapRequest &, char *why, unsigned capacity);

/// Whether any export has been mapped. Cost: a load.
extern std::atomic<bool> maps_in_use;
inline bool maps_any() { return maps_in_use.load(std::memory_order_relaxed); }
/// What maps in the range hold that was stored goes to their exports. 0 or -errno.
int maps_flush(uint64_t begin, uint64_t end);
/// What maps in the range hold that was not stored here is forgotten.
void maps_refresh(uint64_t begin, uint64_t end);

} // namespace pagecast
