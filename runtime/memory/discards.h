// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clean pages on their way out of memory: collected, so that many go in one call. Until flush() they still take memory.
//
// Pager's thread.
#pragma once
#include "runtime/memory/margins.h"
#include "runtime/memory/paged_memory.h"

#include <cstdint>

namespace pagecast {

// Memory of tables that describe pages which have left memory, and are no use until they come back: their places in the order of
// eviction, and the kernel's page tables. It is given back where all pages of a stretch have gone.
//
// Pager's thread.

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

class Discards {
public:
  Discards(PagedMemory &memory, Margins &margins) : memory_(memory), margins_(margins) {}
  /// Clean pages, which are out of the replacement order already. Their margins are saved.
  void add(uint32_t slot, uint32_t pages);
  /// The same of pages whose contents are on the shelf (shelf.h) now. One that leaves it has gone, too.
  void add_shelved(uint32_t slot, uint32_t pages);
  void gone(uint32_t slot) { tables_.gone(slot, 1); }
  /// They have gone. To be called before anything is fetched again. Cost: 0.25 us a page.
  void flush();
  bool any() const { return count_ != 0; }

private:
  void settle(uint32_t slot);
  void save_margins(uint32_t slot, uint32_t pages);
  void note(uint32_t slot, uint32_t pages);

  static constexpr unsigned kMost = 256;
  PagedMemory &memory_;
  Margins &margins_; ///< of pages that are absent
  TableSpace tables_{memory_};
  PageRun run_[kMost];
  unsigned count_ = 0;
};

} // namespace pagecast
