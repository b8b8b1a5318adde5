// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Giving memory back: the pages that are wanted least go first. Clean ones are discarded; dirty ones are written, and go
// when that is done.
//
// Pager's thread, but for what is marked.
#pragma once
#include "runtime/memory/discards.h"
#include "runtime/memory/memory_limit.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/releases.h"
#include "runtime/memory/shelf.h"
#include "runtime/memory/write_back.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class Eviction {
public:
  Eviction(PagedMemory &memory, MemoryLimit &limit, BackingStore &store, Releases &releases, Discards &discards, Shelf &shelf,
           WriteBack &write_back)
      : memory_(memory), limit_(limit), store_(store), releases_(releases), discards_(discards), shelf_(shelf),
        write_back_(write_back) {}

  /// Gives up to `pages` pages back, the least wanted first. Clean ones are free on return; dirty ones later.
  /// Returns the pages freed or on their way.
  uint32_t evict(uint32_t pages) { return evict(pages, lot()); }
  /// The program has finished with [begin, end). The pages stay until their memory is needed (buffered), or
  /// go at once (aggressive).
  void release(uint64_t begin, uint64_t end, Wanted, uint16_t site);

  // --- once in each turn of the loop ---
  /// Gives up what the program holds beyond the budget, a part in each turn. True: there is more to do now.
  bool give_back(uint64_t now);
  /// Keeps some memory free ahead of need, so that fetches and faults need not wait for writes. `busy`: something happened
  /// in this turn; `waited_for`: by faults.
  void keep_reserve(bool busy, bool waited_for);
  /// While the disk reads what the program waits for, and there is nothing else to do: gives up a few pages, so that the next ones that
  /// come find room. No more is kept free for that than evict() leaves of a lot, on the average. True: some went.
  bool make_room_ahead();
  /// Writes released dirty pages shortly before their memory is needed, so that some memory can always be given up at
  /// once. In the order in which they would go. Only a little: what is not written may be stored to once more, or die.
  /// What is due before `soon` is left alone.
  void write_ahead(uint64_t soon);

  /// Pages given up so far that nobody had released. Any thread.
  uint64_t crowded() const { return crowded_.load(std::memory_order_relaxed); }

private:
  uint32_t lot() const;
  uint32_t evict(uint32_t pages, uint32_t lot);
  uint32_t give_up(uint32_t slot, uint32_t pages, bool *stuck);
  void give_up_written(uint32_t slot, uint32_t pages);
  void put_back(uint32_t slot, uint32_t pages);
  void pass_over(uint32_t slot, uint32_t pages);
  void keep_aging();

  PagedMemory &memory_;
  MemoryLimit &limit_;
  BackingStore &store_;
  Releases &releases_;
  Discards &discards_;
  Shelf &shelf_;
  WriteBack &write_back_;
  uint32_t passed_ = 0; ///< pages, in this search for clean ones
  std::atomic<uint64_t> crowded_{0}; ///< changed by the pager alone
};

} // namespace pagecast
