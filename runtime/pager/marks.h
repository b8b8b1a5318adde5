// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages that were read but are kept out of the program's sight: the marks of streams (core/faults/fault_streams.h) and of
// successions (core/faults/successions.h). Their contents wait in a buffer here until the program faults on them, which then needs
// no read.
//
// Pager's thread.
#pragma once
#include "core/faults/fault_streams.h"
#include "runtime/kernel/os.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/placement.h"

#include <cstdint>

namespace pagecast {

class Marks {
public:
  Marks(PagedMemory &memory, Placement &placement) : memory_(memory), placement_(placement) {}
  /// False if the memory cannot be had.
  bool start();
  static uint64_t bytes() { return kMost * os::page_size(); }

  /// Keeps the contents of a page that has been read out of the program's sight. False: there is no room, or someone waits.
  bool keep(uint32_t slot, const char *from);
  /// Puts a kept page where the program sees it.
  void show(uint32_t slot, bool write);
  /// It is absent, as it was before it was read.
  void drop(uint32_t slot);
  /// What is kept of a page. forget(): it is where the program sees it.
  const char *contents(uint32_t slot) const;
  void forget(uint32_t slot) { let_go(slot); }

private:
  const char *let_go(uint32_t slot);

  static constexpr unsigned kMost = core::FaultStreams::kMost + core::Favour::kMost + 1;
  PagedMemory &memory_;
  Placement &placement_;
  uint32_t slot_[kMost]; ///< whose contents are page i of buffer_, or kNoSlot
  char *buffer_ = nullptr; ///< takes memory for as many pages as were kept at once, each of which counts as used while it is
};

} // namespace pagecast
