// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing dirty pages from where they are: they are protected meanwhile, and those that were to go have gone when the write
// is done and nobody stored in between.
//
// Pager's thread.
#pragma once
#include "runtime/memory/discards.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/placement.h"
#include "runtime/memory/releases.h"
#include "runtime/memory/shelf.h"
#include "runtime/store/backing_store.h"

#include <cstdint>

namespace pagecast {

class WriteBack {
public:
  WriteBack(PagedMemory &memory, MemoryLimit &limit, BackingStore &store, Placement &placement, Discards &discards, Shelf &shelf)
      : memory_(memory), limit_(limit), store_(store), placement_(placement), discards_(discards), shelf_(shelf) {}

  /// Why pages are written: they are to go then; they are the next to go; the program rests.
  enum class Why : uint8_t { kGoing, kNext, kIdle };
  /// How many of the ascending slots follow each other, in one region and in the same state. Neighbouring addresses may be
  /// another region's, which counts its own requests.
  uint32_t run_length(const uint32_t *slots, uint32_t count);
  /// Starts writing a run of pages that are unwritten, in one state. Returns how many of the first ones: all but where copies of
  /// them are written. Nothing changed of the others: not now (queue full, disk full, no room for copies).
  uint32_t write_out(PagedRegion &, uint32_t slot, uint32_t pages, Why);
  /// Writes pages that stay, of which the released ones count as clean already. False: none of them, now.
  bool write_ahead(uint32_t *slots, uint32_t count, Why);
  /// A write is done, or has failed: then the data stay in memory.
  void written(Request &, int result);
  /// As many pages are being written as may be.
  bool full() const { return store_.pages_writing() >= most_writing() || !store_.may_request(1); }
  /// How many more pages may be written that are not yet to go; less than they would be worth a request: none.
  uint32_t room_ahead() const;

private:
  uint32_t most_writing() const;
  int write_copies(PagedRegion &, uint32_t slot, uint32_t pages);
  void begun(uint32_t slot, uint32_t pages, Why, uint64_t started_ns);

  PagedMemory &memory_;
  MemoryLimit &limit_;
  BackingStore &store_;
  Placement &placement_;
  Discards &discards_;
  Shelf &shelf_;
};

// Cleaning while the program rests (core/memory/cleaning.h): dirty pages are written and stay.
//
// Pager's thread.

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
