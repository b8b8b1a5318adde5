// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeping to what the program may hold (allowance.h): counting what it holds and what the runtime takes itself, and looking
// what memory there is when it is time. Giving back what is too much is eviction.h's.
//
// Pager's thread, but for what is marked.
#pragma once
#include "runtime/files/advise.h"
#include "runtime/memory/allowance.h"
#include "runtime/memory/margins.h"
#include "runtime/memory/paged_memory.h"
#include "runtime/memory/small_blocks.h"
#include "runtime/store/backing_store.h"

#include <atomic>
#include <cstdint>

namespace pagecast {

class MemoryLimit {
public:
  MemoryLimit(PagedMemory &memory, const BackingStore &store, const Margins &margins, Advise &files)
      : memory_(memory), store_(store), margins_(margins), files_(files) {}
  /// Bytes that the tables of so much data take, and what the runtime has anyway.
  static uint64_t table_bytes(uint64_t data_bytes);
  /// `cap`: bytes; `fixed_bytes`: what the pager takes beside what is counted here.
  void start(uint64_t cap, uint64_t fixed_bytes);
  /// In the child of a fork.
  void forked();
  /// Processes of ours will hold memory beside what is counted here.
  void expect_helpers() { allowance_.expect_helpers(); }
  /// Readable when little is left of a control group: pressed() then. -1: nobody tells.
  int event() const { return allowance_.event(); }
  void pressed() { allowance_.pressed(in_motion()); }

  // --- any thread ---
  uint64_t budget() const { return allowance_.budget(); }
  uint64_t for_pages() const { return allowance_.for_pages(); }
  uint64_t for_files() const { return allowance_.for_files(); }
  void set_cap(uint64_t bytes) { allowance_.set_cap(bytes); }
  /// So much of what will be added is in memory already.
  void expect(uint64_t bytes) { to_come_.store(bytes, std::memory_order_relaxed); }

  /// What cannot be paged grows: note(), wait_for_room() and posted() are for any thread.
  SmallBlocks small_blocks;

  // --- what is used, and what may be ---
  /// Divides the budget anew: what the runtime takes, or what files take, has changed.
  void account();
  /// The same where regions of files came or went.
  void account_for_files();
  /// Before pages are in use for the first time: the tables grow, out of the budget.
  void use_tables(uint32_t slot, uint32_t pages);
  /// Pages that were expected are counted in `used` now.
  void came(uint32_t pages);
  uint32_t pages() const { return allowance_.pages(); }
  /// Pages that take memory. Those that are being read are in staging until they have come.
  uint32_t placed_pages() const { return memory_.used - staged(); }
  /// The pages in use that are still being read.
  uint32_t staged() const { return std::min(memory_.used, store_.staging_in_use()); }
  uint32_t free_pages() const { return allowance_.free(placed_pages()); }
  /// The same for faults, which get some while memory is given back.
  uint32_t free_for_faults() const { return allowance_.free_for_faults(placed_pages()); }
  uint32_t least_free() const { return allowance_.least_free(); }
  /// More is used than may be.
  bool over() const { return placed_pages() > allowance_.pages(); }
  /// The same; notes how long that lasts. Once in each turn of the loop.
  bool exceeded(uint64_t now) { return allowance_.exceeded(placed_pages(), now); }
  bool fits(uint32_t pages) const { return allowance_.fits(used_bytes(), pages); }
  uint32_t exposed(uint64_t burst) const { return allowance_.exposed(placed_pages(), burst); }
  /// Bytes of memory that the program has in regions, and the runtime.
  uint64_t used_bytes() const;
  /// Bytes of pages in memory, where the program sees them.
  uint64_t program_bytes() const;
  void placed(uint32_t pages) { allowance_.placed(pages); }

  // --- forks: memory that others have as well (PageState::kForked) ---
  /// Whether there is memory for what the child of a fork takes at once, or it takes too long to make it: that begins here, and ends
  /// with end_fork().
  bool has_room_for_child(uint64_t now);
  void end_fork();
  /// Others of a fork may have pages of this process.
  bool has_others() const { return others_ || store_.has_others(); }
  /// Some have been found to have pages, of whom nobody tells when they have gone.
  void note_others() { others_ = true; }
  /// How many of `pages` pages may be stored to for the first time: all where nobody else has them, else those for which there is
  /// memory, should each be copied. 0: none now; give something back, and ask again.
  uint32_t may_store(uint32_t pages, uint64_t now);
  /// They can be stored to.
  void stored(uint32_t pages) {
    if (has_others()) allowance_.copied(pages);
  }

  // --- looks ---
  /// Looks at what memory there is, when it is time. Cost: a compare, else 10 to 50 us.
  void follow(uint64_t now);
  /// Before memory is filled: a limit that was lowered since the last look may leave no room for that. Cost: a compare, at
  /// times 1 us for each group.
  void mind(uint64_t now);
  /// More memory is needed than may be used until the next look: makes that look, if there is more to be had and if it
  /// is not too soon; then it comes in a moment.
  void raise_ceiling();
  void look_soon() { allowance_.look_soon(); }
  bool worth_waiting() const { return allowance_.worth_waiting(); }
  /// There is something to give back, or more to be had.
  bool needs_looks() const { return used_bytes() > allowance_.least() || allowance_.rising() || small_blocks.waited_for(); }
  uint64_t next_look_ns() const {
    return allowance_.next_look_ns(small_blocks.waited_for() ? SmallBlocks::kRetryNs : ~uint64_t{0});
  }

private:
  uint64_t tables() const;
  uint64_t kept_free() const;
  bool in_motion() const;
  bool is_time_to_look(uint64_t now) const;
  void follow_child(uint64_t now);
  uint64_t unpaged();

  PagedMemory &memory_;
  const BackingStore &store_;
  const Margins &margins_;
  Advise &files_;
  Allowance allowance_;
  std::atomic<uint64_t> to_come_{0}; ///< bytes
  uint64_t fixed_bytes_ = 0;
  uint64_t unpaged_ = 0; ///< bytes at the last fork: unpaged()
  uint64_t for_child_ = 0; ///< bytes that are left to a child which begins
  bool forking_ = false, others_ = false;
  uint64_t child_until_ns_ = 0, refused_since_ns_ = 0; ///< when has_room_for_child() gives up; since when may_store() says none
  uint64_t files_seen_ = 0; ///< bytes of files' regions, when last accounted
  uint32_t groups_seen_ = 0; ///< stretches whose tables take memory, then
};

} // namespace pagecast
