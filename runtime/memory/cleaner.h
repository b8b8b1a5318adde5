// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cleaning while the program rests (core/memory/cleaning.h): dirty pages are written and stay.
//
// Pager's thread.
#pragma once
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/releases.h"
#include "runtime/memory/write_back.h"

#include <cstdint>

namespace pagecast {

class Cleaner {
public:
  Cleaner(PagedMemory &memory, const MemoryLimit &limit, const BackingStore &store, Releases &releases, WriteBack &write_back)
      : memory_(memory), limit_(limit), store_(store), releases_(releases), write_back_(write_back) {}
  /// Once in each turn of the loop. `busy`: something happened for the program in this turn.
  void clean(uint64_t now, bool busy);
  /// When there may be something to clean next, ns; ~0: never.
  uint64_t next_ns() const { return may_clean() ? memory_.cleaning.next_ns() : core::Cleaning::kNever; }

private:
  bool may_clean() const;
  uint32_t next_to_clean(uint32_t *slots, uint32_t want, uint64_t now, bool *more);
  uint32_t keep_cleanable(uint32_t *slots, uint32_t count, uint64_t now);

  PagedMemory &memory_;
  const MemoryLimit &limit_;
  const BackingStore &store_;
  Releases &releases_;
  WriteBack &write_back_;
  uint32_t walked_clean_ = 0; ///< pages that are not released, but clean and the next to go, as far as the walk has come
};

} // namespace pagecast
