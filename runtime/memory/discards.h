// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clean pages on their way out of memory: collected, so that many go in one call. Until flush() they still take memory.
//
// Pager's thread.
#pragma once
#include "runtime/memory/margins.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/table_space.h"

#include <cstdint>

namespace pagecast {

class Discards {
public:
  Discards(PagedMemory &memory, Margins &margins) : memory_(memory), margins_(margins) {}
  /// Clean pages, which are out of the replacement order already. Their margins are saved.
  void add(uint32_t slot, uint32_t pages);
  /// They have gone. To be called before anything is fetched again. Cost: 0.25 us a page.
  void flush();
  bool any() const { return count_ != 0; }

private:
  void settle(uint32_t slot);
  void save_margins(uint32_t slot, uint32_t pages);

  static constexpr unsigned kMost = 256;
  PagedMemory &memory_;
  Margins &margins_; ///< of pages that are absent
  TableSpace tables_{memory_};
  PageRun run_[kMost];
  unsigned count_ = 0;
};

} // namespace pagecast
