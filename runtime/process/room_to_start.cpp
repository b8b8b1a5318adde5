// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/room_to_start.h"

#include "runtime/kernel/os.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kMostNs = 1000 * kMillisecond;
/// When nothing has come free for so long, nobody gives anything back: others that do write pages to a disk first.
constexpr uint64_t kPatienceNs = 200 * kMillisecond;
constexpr uint64_t kStep = 64u << 10; ///< bytes that are taken between two looks
constexpr uint64_t kLeft = 512u << 10; ///< bytes that are left to others, and to the kernel, at each step

/// What anybody could have now in the fullest of the control groups where others hold memory, bytes; all there can be if none is.
uint64_t left_beside_others(os::MemoryWatch &memory) {
  core::Pool pools[core::kMostPools];
  const unsigned n = memory.look(pools);
  uint64_t left = UINT64_MAX;
  for (unsigned i = 0; i < n; ++i)
    if (!pools[i].machine && pools[i].shared) left = std::min(left, pools[i].free);
  return left;
}

} // namespace

void wait_for_room_to_start(uint64_t bytes) {
  os::MemoryWatch memory;
  memory.open();
  uint64_t left = left_beside_others(memory);
  bytes = os::page_up(bytes);
  char *room = left < bytes + kLeft ? static_cast<char *>(os::reserve(bytes)) : nullptr;
  const uint64_t began = os::now_ns();
  uint64_t taken = 0, moved = began;
  for (uint64_t now = began; room && taken < bytes && now - moved < kPatienceNs && now - began < kMostNs; now = os::now_ns()) {
    if (left < kLeft + kStep) {
      os::sleep(kMillisecond);
    } else {
      for (const uint64_t end = std::min(taken + kStep, bytes); taken < end; taken += os::page_size()) room[taken] = 1;
      moved = now;
    }
    left = left_beside_others(memory);
  }
  if (room) os::unmap(room, bytes);
  memory.close();
}

} // namespace pagecast
