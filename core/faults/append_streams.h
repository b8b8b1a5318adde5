// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that grows at many places: a sort into a thousand buckets stores to each from its beginning to its end, and
// each page that it comes to was never stored to before. No hint can say where the next store goes, since each moves
// the place of the next one; but that a place goes on where it ended is likely. So pages are filled with zeros some at a
// time, and before the program comes to them.
//
//         run                     run
//   |.....stored to.....|....|- - - - - - - -|
//                       ^    ^ filled up to here
//                       a place; when less than ahead() is left, the next run is filled
//
// One such object for each region; O(1); the caller's lock. What it learns from are faults on pages that were never stored
// to: does the page before lie in use? If most do, the region grows. Memory at random places, or walked through by columns,
// does not.
//
// Example: 1,024 buckets of 128 pages, memory of 57,000. With runs as long as what lies before there are 12 faults a bucket
// (1, 1, 2, 4, 8, 16, 16...), with somebody who looks ahead() of the stores two. 64 buckets get runs of 64 pages.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

namespace pagecast::core {

class AppendStreams {
public:
  static constexpr uint32_t kMostRun = 64;       ///< pages
  static constexpr uint32_t kMostForFault = 16;  ///< 64 KiB move at nearly full speed
  static constexpr uint32_t kLeastPlaces = 64;   ///< as many as there may well be, until there are more
  /// Runs at all places together may have this part of memory: with what is stored to meanwhile, they must not grow old
  /// before they are used up.
  static constexpr uint32_t kShare = 4;
  static constexpr uint32_t kShareForFault = 2048; ///< the same for a fault: a thousand runs have a half of the memory
  static constexpr uint32_t kAhead = 4;          ///< this part of a run is left when the next one is filled
  static constexpr uint32_t kDoubtShare = 16;    ///< faults that a judgement may take, as a part of the memory

  /// A fault on a page that was never stored to. `goes_on`: the page before it is in use.
  void fault(bool goes_on) { last_ = last_ << 1 | (goes_on ? 1u : 0u), faults_ += faults_ < ~0u; }
  /// A page was filled, for whatever reason, that no page in use lies right before.
  void began() { places_ += places_ < ~0u; }
  /// Three in four of the last 64 faults went on where pages were in use.
  bool grows() const { return std::popcount(last_) >= kEnough; }
  /// Nothing speaks for it yet, since faults on pages that nobody foresaw are not seen, or all places are new: it is worth
  /// while to be a page ahead. Where that is wrong, it costs a sixteenth of the memory, once.
  bool in_doubt(uint32_t memory) const { return !grows() && faults_ < memory / kDoubtShare; }
  /// Pages to fill for a fault at a place that `before` pages in use lie right before, at least 1. `memory`: pages of the
  /// budget.
  static uint32_t run_for_fault(uint32_t before, uint32_t memory) {
    return std::clamp(std::min(before, memory / kShareForFault), 1u, kMostForFault);
  }
  /// Pages to fill ahead of a place.
  uint32_t run(uint32_t memory) const { return std::clamp(memory / kShare / std::max(places_, kLeastPlaces), 1u, kMostRun); }
  /// How many pages before the end of a run the next one is to be filled; 0: not at all.
  uint32_t ahead(uint32_t memory) const { return grows() ? (run(memory) + kAhead - 1) / kAhead : 0; }

private:
  static constexpr int kEnough = 48;

  uint64_t last_ = 0;   ///< faults, a bit each: it went on
  uint32_t places_ = 0; ///< where it began
  uint32_t faults_ = 0;
};

} // namespace pagecast::core
