// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memory/table_space.h"

#include "runtime/kernel/os.h"

#include <algorithm>

namespace pagecast {
namespace {
/// What one of the kernel's page tables maps. Linux 6.14 and later frees one when all of that is discarded in one call.
constexpr uint64_t kTableBytes = 2u << 20;
} // namespace

/// Nothing of them is in memory, on its way there, or marked in the page tables.
bool TableSpace::all_gone(uint32_t first, uint32_t end) const {
  for (uint32_t s = first; s < end; ++s)
    if (memory_[s].state != PageState::kZero && memory_[s].state != PageState::kAbsent) return false;
  return true;
}

/// `slot`: of a page that has gone. Its region's part of the group has one or two of the kernel's tables, or parts of three.
void TableSpace::give_back(uint32_t group, uint32_t slot) {
  constexpr uint64_t kLinkBytes = kGroup * sizeof(core::Replacement::Link);
  const PagedRegion *r = memory_.region_of(slot);
  const uint32_t first = group * kGroup;
  if (!r || kLinkBytes % memory_.page || !all_gone(std::max(first, r->first_slot), std::min(first + kGroup, memory_.end_of(*r))))
    return;
  iovec ranges[4];
  unsigned n = 0;
  ranges[n++] = {memory_.pages.links() + first, kLinkBytes};
  const uint64_t begin = memory_.pages.address(std::max(first, r->first_slot)) & ~(kTableBytes - 1),
                 end = memory_.pages.address(std::min(first + kGroup, memory_.end_of(*r)) - 1) + memory_.page;
  for (uint64_t at = std::max(begin, r->base); at < end && n < 4; at = (at | (kTableBytes - 1)) + 1) {
    const uint64_t next = (at | (kTableBytes - 1)) + 1;
    if (at & (kTableBytes - 1) || next > r->end() || !all_gone(memory_.slot_of(*r, at), memory_.slot_of(*r, next - 1) + 1))
      continue;
    ranges[n++] = {reinterpret_cast<void *>(at), kTableBytes};
  }
  os::discard(ranges, n);
  memory_.order.forget(group);
}

} // namespace pagecast
