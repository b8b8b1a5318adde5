// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/process/unpaged_budget.h"

#include "core/arithmetic.h"
#include "runtime/engine/engine.h"
#include "runtime/kernel/os.h"
#include "runtime/process/allocations.h"

#include <algorithm>

namespace pagecast {
namespace {
constexpr uint64_t kLookNs = 50000000;
/// Looks come faster when less than this part of the budget is left: a program fills a gigabyte in a third of a second.
constexpr uint64_t kNearNs = 2000000, kNearPart = 4;
/// Small blocks asked for between two looks: this part of what was left at the first.
constexpr uint64_t kSmallPart = 8;
constexpr uint64_t kLeastSmall = 1u << 20;

constexpr uint64_t kMillisecond = 1000000, kMostWaitNs = 1000 * kMillisecond;
/// When nothing has come free for so long, nobody gives anything back: others that do write pages to a disk first.
constexpr uint64_t kPatienceNs = 200 * kMillisecond;
constexpr uint64_t kStep = 64u << 10; ///< bytes that are taken between two looks
constexpr uint64_t kLeft = 512u << 10; ///< bytes that are left to others, and to the kernel, at each step
} // namespace

unsigned UnpagedBudget::look(core::Pool *pools) {
  os::MemoryWatch memory;
  memory.open_for_a_look();
  const unsigned n = memory.look(pools);
  has_swap_ = memory.has_swap();
  memory.close();
  return n;
}

void UnpagedBudget::find(uint64_t used) {
  core::Pool pools[core::kMostPools];
  const unsigned n = look(pools);
  core::Limit limit;
  limit.start(options_.memory, kLeastMemory);
  limit.update(looked_ns_ = os::now_ns(), used, pools, n);
  bytes_ = limit.budget();
}

/// What the pager takes itself.
uint64_t UnpagedBudget::own_bytes(uint64_t data_bytes) const {
  return options_.backend == BackEnd::kAdvise ? 0 : Engine::bytes_to_start(options_.backing, bytes_, data_bytes);
}

uint64_t UnpagedBudget::unpaged(uint64_t data_bytes) const {
  const uint64_t own = own_bytes(data_bytes);
  return bytes_ > own ? bytes_ - own : 0;
}

/// What is not large data and cannot be paged, of `anonymous` bytes that the process holds beside large data of `data_bytes`.
/// All that was asked for since it was last known may have been stored to.
uint64_t UnpagedBudget::small_bytes(uint64_t anonymous, uint64_t data_bytes) const {
  const uint64_t least = anonymous > data_bytes ? anonymous - data_bytes : 0;
  return std::clamp(small_known_ + small_asked_.load(std::memory_order_relaxed), least, anonymous);
}

void UnpagedBudget::follow(uint64_t data_bytes) {
  if (data_bytes <= kLeastMemory) return;
  const bool near = data_bytes > bytes_ - bytes_ / kNearPart;
  if (os::now_ns() - looked_ns_ < (near ? kNearNs : kLookNs)) return;
  const uint64_t anonymous = os::own_anonymous_bytes(), small = small_bytes(anonymous, data_bytes);
  find(anonymous - small);
  if (data_bytes <= unpaged(data_bytes) || small == (anonymous > data_bytes ? anonymous - data_bytes : 0)) return;
  small_asked_.store(0, std::memory_order_relaxed);
  small_known_ = anonymous - std::min(anonymous, allocations_in_memory());
  find(anonymous - small_known_);
}

void UnpagedBudget::watch_small_blocks(uint64_t data_bytes) const {
  const uint64_t most = unpaged(data_bytes), left = most > data_bytes ? most - data_bytes : 0;
  small_blocks_watch.left.store(data_bytes > kLeastMemory ? static_cast<int64_t>(std::max(left / kSmallPart, kLeastSmall))
                                                          : SmallBlocksWatch::kNot,
                                std::memory_order_relaxed);
}

/// What anybody could have now in the fullest of the control groups where others hold memory, bytes; all there can be if none is.
uint64_t UnpagedBudget::left_beside_others() {
  core::Pool pools[core::kMostPools];
  const unsigned n = look(pools);
  uint64_t left = UINT64_MAX;
  for (unsigned i = 0; i < n; ++i)
    if (!pools[i].machine && pools[i].shared) left = std::min(left, pools[i].free);
  return left;
}

void UnpagedBudget::wait_for_room(uint64_t data_bytes) {
  const uint64_t bytes = os::page_up(own_bytes(data_bytes)), began = os::now_ns();
  uint64_t left = bytes ? left_beside_others() : UINT64_MAX, taken = 0, moved = began;
  char *room = left < bytes + kLeft ? static_cast<char *>(os::reserve(bytes)) : nullptr;
  for (uint64_t now = began; room && taken < bytes && now - moved < kPatienceNs && now - began < kMostWaitNs;
       now = os::now_ns()) {
    if (left < kLeft + kStep) {
      os::sleep(kMillisecond);
    } else {
      for (const uint64_t end = std::min(taken + kStep, bytes); taken < end; taken += os::page_size()) room[taken] = 1;
      moved = now;
    }
    left = left_beside_others();
  }
  if (room) os::unmap(room, bytes);
}

bool UnpagedBudget::copies_exceed() {
  core::Pool pools[core::kMostPools];
  const unsigned n = look(pools);
  uint64_t left = UINT64_MAX;
  for (unsigned i = 0; i < n; ++i) // in the machine's memory a fork is what it is without us; most children only call exec
    if (!pools[i].machine) left = std::min(left, pools[i].free - std::min(pools[i].free, core::reserve(pools[i])));
  return core::saturating_mul(os::own_anonymous_bytes(), os::own_children() + 1) > left;
}

} // namespace pagecast
