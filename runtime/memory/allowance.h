// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many pages the program may have in memory now: the budget as core/memory/limit.h finds it, less what the runtime itself
// and mapped files take, and what becomes of pages that are too many when it falls.
//
// Pager's thread, but for what is marked.
#pragma once
#include "core/arithmetic.h"
#include "core/memory/file_reads.h"
#include "core/memory/limit.h"
#include "runtime/kernel/os.h"
#include "runtime/state/options.h"
#include "runtime/state/statistics.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace pagecast {

class Allowance {
public:
  /// `cap`: the user's, bytes; ~0: none. What it finds out is counted in `statistics`.
  void start(uint64_t cap, Statistics &statistics);
  /// In the child of a fork: goes its own way, from what there is then.
  void forked();
  /// Readable when little is left of a control group: pressed() then. -1: nobody tells.
  int event() const { return event_; }

  // --- any thread ---
  /// Bytes that the program may hold in regions, the runtime's own memory included.
  uint64_t budget() const { return budget_.load(std::memory_order_relaxed); }
  /// What is left of it for pages, and for the page cache of mapped files.
  uint64_t for_pages() const { return for_pages_.load(std::memory_order_relaxed); }
  uint64_t for_files() const { return for_files_.load(std::memory_order_relaxed); }
  /// Bytes of the smallest pool, or of the cap if that is less; and what was left in the fullest one at the last look.
  uint64_t size() const { return std::min(limit_.size(), cap_.load(std::memory_order_relaxed)); }
  uint64_t left() const { return limit_.free(); }
  /// Whether so much was left beside what is to be left.
  bool has_beside_kept(uint64_t bytes) const { return limit_.free() >= core::saturating_add(limit_.kept(), bytes); }
  void set_cap(uint64_t bytes) { cap_.store(bytes, std::memory_order_relaxed); }
  /// Bytes that the program may hold whatever there is. Less where others of a fork have pages of it: as many again each.
  uint64_t least() const { return others_ ? kLeastOfMany : kLeastMemory; }
  static constexpr uint64_t kLeastOfMany = 4u << 20;

  /// os::MemoryWatch. Before the first look.
  void expect_helpers() { memory_.expect_helpers(); }

  // --- looks ---
  /// Whether it is time for a look. Cost: a compare.
  bool is_time_to_look(uint64_t now) const { return now >= next_look_ns_ || cap_.load(std::memory_order_relaxed) != seen_cap_; }
  /// Looks at what memory there is while the program uses `used_bytes`, and does not use `spare` bytes that it may;
  /// divide() must follow. `in_motion`: pages come and go, so that the program itself passes the alarms of its groups.
  /// Cost: 10 to 50 us.
  void look(uint64_t now, uint64_t used_bytes, uint64_t spare, bool in_motion);
  /// From the next look on: whether others of a fork may have pages of the program.
  void have_others(bool any) { others_ = any; }
  /// The same: whether the program maps files beside its code.
  void have_files(bool any) { maps_files_ = any; }
  /// Another look may allow more pages: the ceiling rises, and has not come to what is left beside the files.
  bool rising() const { return limit_.rising() && limit_.ceiling() < limit_.budget() - for_files(); }
  /// By so much that it is better to wait for it than to evict.
  bool worth_waiting() const { return rising() && limit_.worth_waiting(); }
  /// The next look comes as soon as one may.
  void look_soon() { next_look_ns_ = std::min(next_look_ns_, looked_ns_ + core::Limit::kDemandNs); }
  /// Whether a group's limit was moved since the last look, or files began to be read; asks the kernel when 128 KiB may have been
  /// taken since it was last asked, by this program or by others. What is lowered to the use itself leaves no time for the next look. Cost: 1 us
  /// for each group.
  bool moved(uint64_t now);
  void placed(uint32_t pages) { placed_ += pages; }
  /// So does the next look, whenever the last one was.
  void look_at_once() { next_look_ns_ = 0; }
  /// A group of the process tells that its use has passed an alarm.
  void pressed(bool in_motion);
  /// Whether page cache should be given up for the sake of others: os::MemoryWatch.
  bool beside_others() const { return memory_.beside_others(); }
  /// Whether, at the last look, code of the program was read again and again from a disk that reads far ahead.
  bool code_comes_back() const { return limit_.code_comes_back() && memory_.read_ahead() > os::kCodePiece; }
  /// How many pages may be stored to that others of a fork have as well, each of which takes memory for a copy: as many as there is
  /// memory for by the last look, less what came since.
  uint32_t copies(uint64_t used_bytes) const;
  /// They are stored to.
  void copied(uint32_t pages) { copied_ += pages, placed_ += pages; }
  /// When the next look is, at the latest so long after the last one.
  uint64_t next_look_ns(uint64_t latest_ns) const { return std::min(next_look_ns_, core::saturating_add(looked_ns_, latest_ns)); }
  /// Bytes that may be used until the next look beside what the program uses of its pages, which will be `filled_bytes` more:
  /// half of what is left then.
  uint64_t room_beside(uint64_t filled_bytes) const { return (limit_.free() - std::min(limit_.free(), filled_bytes)) / 2; }

  // --- pages ---
  /// Divides the budget between the runtime, mapped files of `file_bytes`, and pages. True: more pages may be used than
  /// before.
  bool divide(uint64_t own_bytes, uint64_t file_bytes);
  /// Pages that a program which uses `used` would have to give back if others took `burst` bytes at once.
  uint32_t exposed(uint32_t used, uint64_t burst) const;
  /// How many pages may be used until the next look.
  uint32_t pages() const { return pages_; }
  uint32_t free(uint32_t used) const { return used < pages_ ? pages_ - used : 0; }
  /// Pages that are kept free ahead of need; up to twice as many are. More where others take memory as well.
  uint32_t least_free() const { return limit_.alone() ? std::max(16u, pages_ / 1024) : std::max(128u, pages_ / 128); }
  /// The same for faults: while memory is given back, they may have a quarter of what has been.
  uint32_t free_for_faults(uint32_t used) const {
    return used <= pages_ ? pages_ - used : used < over_from_ ? (over_from_ - used) / 4 : 0;
  }
  /// Whether memory is there for more pages, for a program that uses `used_bytes` and has more than it may: by the last look,
  /// less what may have been taken since. Never beyond the user's cap.
  bool fits(uint64_t used_bytes, uint32_t pages) const { return used_bytes + pages * os::page_size() <= fits_; }
  /// Whether more pages are used than may be; notes how long that lasts. Once in each turn of the loop.
  bool exceeded(uint32_t used, uint64_t now);

private:
  uint64_t files_read();
  uint32_t pages_within(uint64_t bytes, uint64_t own_bytes) const;
  void note_change(uint64_t before);

  Statistics *statistics_ = nullptr;
  std::atomic<uint64_t> cap_{0};
  core::Limit limit_;
  core::FileReads file_reads_;
  os::MemoryWatch memory_;
  int event_ = -1, refused_ = -1;
  uint64_t seen_cap_ = 0;
  uint64_t seen_read_ = 0; ///< bytes of files that had been read at the last look
  uint64_t looked_ns_ = 0, next_look_ns_ = 0;
  int direction_ = 0; ///< of the budget's last change
  std::atomic<uint64_t> budget_{0}, for_pages_{0}, for_files_{0}; ///< bytes
  uint32_t pages_ = 0;
  uint64_t fits_ = ~uint64_t{0}; ///< bytes that may be used without exhausting what the last look saw
  uint32_t placed_ = 0; ///< pages, since the limits were last read
  uint32_t copied_ = 0; ///< pages, since the last look
  uint64_t used_then_ = 0, free_then_ = ~uint64_t{0}; ///< bytes, at the last look: what the program used, and what it may take
  bool others_ = false, maps_files_ = false;
  uint64_t read_ns_ = 0; ///< when that was
  uint32_t over_most_ = 0; ///< while more is used than may be: the most that was
  uint32_t over_from_ = 0; ///< and the most that may be used meanwhile
  uint64_t over_since_ns_ = 0; ///< 0: no more is used than may be
};

} // namespace pagecast
