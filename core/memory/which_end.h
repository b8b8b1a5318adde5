// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the pages that came first are to go first, or those that came last. Of pages that nobody released it is not known
// when they are used: memory has no trace of it. What is seen is when those that went are wanted again.
//
//   oldest   the longest active pages go. Right where what was used lately is used again.
//   newest   the newcomers go, but for the very last: what came before stays. Right where a program goes round and round
//            over somewhat more than memory: the oldest page is just the next one to be wanted, and without the newest
//            ones going, every visit would miss. Right, too, where much that is used once passes by data in use.
//
//   pages of 1,000 that fit 900, round and round:   misses in a round: oldest 1,000; newest 100 and some
//
// Both ends are tried: most lots go from the end that does better, one in kTryEvery from the other. Some pages of each such lot and of
// the next lot are sampled. The rate at which an end's samples are wanted again, in each unit of time that they are gone, tells
// which is better; samples that never come back count by the time that they have been gone. Time is counted in pages that went.
// Where it makes no difference (pages at random) the rates are equal, and the end stays what it was.
//
// A page that a nest's hints bring comes in the order of use, like one that is waited for, but costs a read alone: that it is wanted again
// counts kByNest of a wait. What a stream of faults brings is no newcomer, and that it is wanted again costs nothing: a stream goes on
// while most of its pages are gone. Newcomers are the last to come among all pages, so that a stream's, too, make them old.
//
// Cost: wanted() looks at one entry of a table of kSamples * 2; others O(samples). Not thread-safe.
#pragma once
#include "core/memory/replacement.h"

#include <cstdint>

namespace pagecast::core {

class WhichEnd {
public:
  enum End : uint8_t { kOldest, kNewest };
  /// Who asked for a page: the program, which waits for it; a nest's hints; a stream of faults.
  enum Asker : uint8_t { kProgram, kNest, kStream };
  static constexpr uint32_t kTryEvery = 32; ///< lots
  static constexpr uint32_t kSampled = 8; ///< pages of a lot
  static constexpr uint32_t kSamples = 256; ///< that are gone, of each end
  /// Samples that came back, for a judgement; how many times the rate of the other end makes one the worse.
  static constexpr uint32_t kEnough = 24;
  static constexpr double kWorse = 1.3;
  /// What it costs that pages of nests' hints come back, of a wait.
  static constexpr double kByNest = 0.25;
  /// So many more of the other's might have come back: the pages of a lot are often used together.
  static constexpr uint32_t kChance = 2 * kSampled;
  static constexpr uint32_t kMostCounted = 384; ///< that came back; then all counts are halved

  /// Newcomers that are left alone, of so many pages in memory: what was asked for is to be used before it goes.
  static constexpr uint32_t newcomers(uint32_t pages) { return pages / kNewShare; }

  /// A page has come to memory, which holds `pages`; `again`: soon after it went.
  void came(Replacement &order, uint32_t slot, uint32_t pages, Asker asker, bool again = false) {
    if (asker == kStream) came_by_stream(order, slot, pages);
    else order.insert_active(slot, better_ == kNewest ? 2 * newcomers(pages) : newcomers(pages), again);
  }
  /// Frees up to `max` slots into `out`, which are then to be given up, where no page is released; returns how many.
  uint32_t pop(Replacement &, uint32_t *out, uint32_t max, uint32_t pages);
  /// A page that is not in memory is asked for.
  void wanted(uint32_t slot, Asker asker) {
    if (number_[hash(slot)]) came_back(slot, asker);
  }
  End better() const { return better_; }
  /// The end that the last lot went from.
  End last() const { return last_; }
  /// Pages that have gone from an end.
  uint64_t gone(End end) const { return side_[end].gone; }
  /// Which part of the pages that go the program waits for again, for each page that goes after them.
  double wanted_again() const {
    const double time = time_of(side_[better_]);
    return time > 0 ? side_[better_].came_back / time : 0;
  }
  /// How often the better end has changed.
  uint32_t changes() const { return changes_; }

private:
  static constexpr uint32_t kNewShare = 32;
  static constexpr unsigned kTableBits = 11; ///< four entries for each sample
  static constexpr uint32_t kNoSlot = ~uint32_t{0};
  struct Sample {
    uint32_t slot = kNoSlot;
    uint64_t when = 0; ///< it went
  };
  /// What is known of an end. Only the times since a sample went are summed up: the rate is came_back / (away + of those away).
  struct Side {
    Sample sample[kSamples]; ///< a ring
    uint64_t gone = 0; ///< pages, sampled or not
    uint32_t next = 0;
    uint32_t away = 0; ///< samples that are gone
    uint64_t gone_sum = 0; ///< of these, when they went
    double time = 0; ///< in which others were gone, that came back or are not looked for any more
    double came_back = 0;
  };

  static End other(End end) { return end == kOldest ? kNewest : kOldest; }
  static uint32_t hash(uint32_t slot) { return (slot * 2654435761u) >> (32 - kTableBits); }
  void went(End, const uint32_t *slots, uint32_t n);
  void sample(End, uint32_t slot);
  void drop(Side &, Sample &);
  void came_by_stream(Replacement &order, uint32_t slot, uint32_t pages);
  void came_back(uint32_t slot, Asker);
  double time_of(const Side &s) const { return s.time + (double(s.away) * double(now_) - double(s.gone_sum)); }
  void judge();

  Side side_[2];
  uint16_t number_[1u << kTableBits] = {}; ///< 1 + 2 * index in the ring + end, of the last sample with this hash; 0: none
  uint64_t now_ = 0; ///< counts pages that went
  uint32_t lots_ = 1, changes_ = 0;
  uint64_t made_old_ = 0; ///< by pages of streams: newcomers, times newcomers() of memory, that are not settled yet
  End better_ = kOldest, last_ = kOldest;
};

} // namespace pagecast::core
