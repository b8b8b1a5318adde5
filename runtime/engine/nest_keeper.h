// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stays in memory for the sake of a nest that begins: pages that it will use, indirect targets that are fetched whole,
// and the margins of rows that it stores over.
//
// Pager's thread.
#pragma once
#include "core/types.h"
#include "runtime/memory/margins.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/state/open_nests.h"

#include <cstdint>

namespace pagecast {

class NestKeeper {
public:
  NestKeeper(PagedMemory &memory, MemoryLimit &limit, Margins &margins) : memory_(memory), limit_(limit), margins_(margins) {}
  /// A nest begins, and it is worth while to walk through what it touches: what is resident is kept where this one will use
  /// it, so that what it releases itself and what it does not use go first. The groups are walked backwards, side by side: if
  /// memory must be found among these pages all the same, the ones that the nest comes to last go first.
  void keep_for(OpenNest &);
  /// Whether so much memory is left that nothing goes soon.
  bool plenty() const;
  /// Indirect targets that are fetched whole get no hints while their nest runs: they do not age then. `change`: 1 when it
  /// begins, -1 when it is over.
  void pin_targets(const OpenNest &, int change);
  /// A nest begins that may leave pages unread: the margins of what it stores over are wanted when it comes round again.
  void expect_margins(const OpenNest &);

private:
  void keep_group(const OpenNest &, unsigned group, uint64_t part);
  void keep_part(core::Extent, uint64_t part);
  void keep_range(uint64_t begin, uint64_t end);

  PagedMemory &memory_;
  MemoryLimit &limit_;
  Margins &margins_;
};

} // namespace pagecast
