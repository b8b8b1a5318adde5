// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What large data may hold while nothing is paged: the budget as it was last found, less what the pager needs itself. What cannot
// be paged, small blocks for the most part, grows beside it. When large data exceed this, paging begins (runtime.h).
//
// Called with the allocations' lock held, or before there are other threads; asked_small() from any thread.
#pragma once
#include "core/memory/limit.h"
#include "runtime/state/options.h"
#include "runtime/process/runtime.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class UnpagedBudget {
public:
  constexpr explicit UnpagedBudget(const Options &options) : options_(options) {}
  /// As it was last found, bytes.
  uint64_t bytes() const { return bytes_; }
  /// Whether the machine had swap when it was last looked at.
  bool has_swap() const { return has_swap_; }
  /// Finds it out anew (core/memory/limit.h), for a program of which `used` bytes are held. Cost: 50 us.
  void find(uint64_t used);
  /// What large data of `data_bytes` may hold before paging begins: the pager, too, must find memory then, or the kernel ends the
  /// program. Where memory moves to a file instead, the kernel pages it, and little is needed.
  uint64_t unpaged(uint64_t data_bytes) const;
  /// Finds the budget out anew from time to time: the limit may have fallen, or what is not large data may have grown. The next block is
  /// the occasion to begin paging then. Before it does, how much is small is counted, since what was asked for may have been freed again.
  void follow(uint64_t data_bytes);
  /// So many bytes of small blocks are asked for.
  void asked_small(uint64_t bytes) { small_asked_.fetch_add(bytes, std::memory_order_relaxed); }
  /// Small blocks are watched while nothing is paged and large data are such that paging could make room for them.
  void watch_small_blocks(uint64_t data_bytes) const;
  /// Whether what is left in the control groups would not hold copies of all anonymous memory for each child there is and one more.
  /// Cost: 50 us.
  bool copies_exceed();

  /// Returns when there is memory for a pager of `data_bytes`, which are in memory, in each control group where others hold some, or when
  /// nobody gives any back. Cost: 50 us where there is room, else as long as others need, a second at most.
  ///
  /// Paging takes a few MiB at once when it begins, and who is alone in a group keeps less than that free: the kernel would end a program
  /// before the others have given anything back. So what is needed is taken page by page, as fast as there is room, which is how
  /// the others learn of a newcomer (below 1 MiB they hold it for a launcher), and left to the start of paging.
  void wait_for_room(uint64_t data_bytes);

private:
  uint64_t own_bytes(uint64_t data_bytes) const;
  uint64_t left_beside_others();
  unsigned look(core::Pool *pools);
  uint64_t small_bytes(uint64_t anonymous, uint64_t data_bytes) const;

  const Options &options_;
  uint64_t bytes_ = 0;
  bool has_swap_ = false;
  uint64_t looked_ns_ = 0; ///< when that was
  uint64_t small_known_ =
      UINT64_MAX / 4; ///< bytes that the process held beside its large data, when they were last counted: perhaps all
  std::atomic<uint64_t> small_asked_{0}; ///< bytes of small blocks asked for since
};

} // namespace pagecast
