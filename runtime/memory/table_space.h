// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of tables that describe pages which have left memory, and are no use until they come back: their places in the order of
// eviction, and the kernel's page tables. It is given back where all pages of a stretch have gone.
//
// Pager's thread.
#pragma once
#include "runtime/memory/paged_memory.h"

#include <cstdint>

namespace pagecast {

class TableSpace {
public:
  explicit TableSpace(PagedMemory &memory) : memory_(memory) {}
  /// Pages have gone, and the kernel knows. Cost: some ns, or 3 us where they were the last of a stretch.
  void gone(uint32_t slot, uint32_t pages) {
    for (uint32_t g = slot / kGroup; g <= (slot + pages - 1) / kGroup; ++g)
      if (memory_.order.is_idle(g)) give_back(g, slot);
  }

private:
  static constexpr uint32_t kGroup = core::Replacement::kGroup;
  void give_back(uint32_t group, uint32_t slot);
  bool all_gone(uint32_t first, uint32_t end) const;

  PagedMemory &memory_;
};

} // namespace pagecast
