// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether pages that are about to go get a second chance. Memory has no trace of use, so that pages go in the order in which they
// came. One that waits at the end of that order for a while, out of the program's sight, shows by a fault that it is still in
// use: it comes back without a read, as the youngest. Such a fault costs less than a read; who comes back often costs more.
//
//   touched  the part of the pages that wait which come back; of those that wait again, since they came back before, it is the
//            greater the more use foretells use
//   soon     the part of those that wait again which are touched within kSoon of the time that pages may wait
//   lost     the part of those that waited in vain, and went, which are read again as soon
//   saved    reads, for each page that comes back: it is used again as those that wait again are, and takes the place of one that
//            waited in vain, which has lost / soon of that. Where a program comes to its pages at random both are the same, and
//            nothing is saved. Nor is it where a page is not used again while it stays, until as many have gone as memory holds.
//            Until enough have waited again, a read is taken as saved. In the whole time that pages wait all are touched where
//            nearly all fit, so that what is touched soon has to tell
//
// They may be compressed where that makes them smaller (compressibility.h). Then `ratio` of them wait in the memory of one. Those of the
// pages that come back which had waited for longer than in so much memory uncompressed pages could have saved a read for sure.
//
// What it costs and what it saves is compared, for each page that waits. Where it costs more it rests, until the program has waited for
// reads kLossShare times as long as it took too much, and twice as long each time up to kMostPatience, unless it has paid since.
// A program that only grows has nothing to use again, and waits for no reads: so its rest ends soon after it begins to.
//
// The part of memory in which pages wait is 1/kLeastShare, or up to 1/kMostShare where that gains, if they are compressed: by how long
// ago those pages were in memory that the program waits for (packed_room.h).
//
// Example: of pages that wait 15 % are touched. Of those that wait again 8 % are touched soon, and 2 % of those that went are read as
// soon. A read takes 90 us, a fault without one 22, and having a page wait 2: of 100 pages that wait, 15 come back for 0.3 ms, all
// wait for 0.2 ms, and some 11 reads are saved, 1 ms.
//
// The pager's thread; O(1).
#pragma once
#include "core/memory/packed_room.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pagecast::core {

class SecondChance {
public:
  static constexpr uint32_t kLeastShare = 20, kMostShare = 2; ///< of memory: one in so many pages holds those that wait
  static constexpr double kEnoughAgain = 128; ///< pages that have waited again
  static constexpr uint32_t kEnough = 256; ///< pages that have waited,
  static constexpr uint32_t kFills = 3; ///< and at least so many times as many as may wait
  static constexpr uint32_t kJudged = 64; ///< pages that have waited, from one judgement to the next
  static constexpr double kMostCounted = 4096; ///< then all counts are halved
  static constexpr uint32_t kLossShare = 32, kMostPatience = 8;
  static constexpr uint32_t kPaid = 2; ///< times as many pages as decide, after which it has paid

  struct Costs {
    uint64_t read_ns, fault_ns, wait_ns; ///< of a read; of a fault without one; of having a page wait
    double ratio = 1; ///< pages that wait in the memory of one
    uint32_t waiting = ~uint32_t{0}; ///< pages that wait now, if they take less than their share
  };
  /// Whether pages wait now.
  bool pays() const { return pays_; }
  /// The part of memory in which they do.
  double share() const { return share_; }
  /// A page has waited, and was `touched` or goes; `again`: it had come back before. `age`: of one that was touched, the part of the
  /// time that it may wait which had passed, 0 to 1.
  void waited(bool again, bool touched, double age = 0.5) {
    if (!pays_) return; // what is left of those that waited
    if (touched && compressed()) note_rank(rank_at(age));
    waited_[again] += 1;
    touched_[again] += touched;
    soon_ += again && touched && age < kSoon;
    ++tried_, ++since_step_;
    if (all_waited() >= kMostCounted) scale_counts(0.5);
  }
  /// The program waits for a page that is gone. `away`: pages that have gone since it did, of a memory of so many. `vainly`: it had
  /// waited before it went, in vain. It is lost then if it would still be waiting had it come a second time: pages wait until as many
  /// others still wait as may. Those that are touched leave their places to others, so that they wait the longer the more are touched.
  void missed(bool vainly, uint64_t away, uint32_t memory) {
    room_.used(1 + (pays_ ? used_ * (ratio_ - 1) : 0) + double(away) / std::max(memory, 1u));
    if (!vainly || !pays_) return; // of what went before it last began, none is counted
    const double touched = all_touched() / std::max(all_waited(), 1.0);
    const double longer = touched > 0 && touched < 1 ? -std::log1p(-touched) / touched : 1;
    lost_ += double(away) < places(memory) * (1 - touched) * longer * kSoon;
  }
  /// Decides anew. `reads`: pages that the program has waited for so far, of a memory that holds `memory`.
  void judge(uint64_t reads, uint32_t memory, const Costs &costs) {
    if (!pays_) {
      pays_ = double(reads - rests_since_) * double(costs.read_ns) >= lost_ns_ * kLossShare * patience_;
      if (pays_) patience_ = std::min(patience_ * 2, kMostPatience), room_.scale(0);
      return;
    }
    ratio_ = std::max(costs.ratio, 1.0);
    if (!compressed()) share_ = 1.0 / kLeastShare;
    used_ = std::min(share_, double(costs.waiting) / (std::max(memory, 1u) * ratio_));
    const double fill = std::max(double{kEnough}, places(memory)), decide = std::max(double{kEnough}, kFills * places(memory));
    if (double(tried_) < fill || tried_ < judged_ + kJudged) return;
    judged_ = tried_;
    const double gain = gain_ns(costs), spent_ns = all_touched() * double(costs.fault_ns) + all_waited() * double(costs.wait_ns);
    const double doubt_ns = compressed() ? kDoubt * spent_ns : 0;
    const PackedRoom::Part best = best_part(costs);
    if (gain >= 0 && waited_[1] >= kEnoughAgain && double(tried_) >= kPaid * decide) patience_ = 1;
    const bool more = best.share > share_ * kNear;
    if (gain >= -doubt_ns || (more && best.value_ns > (all_waited() - all_touched()) * double(costs.wait_ns))) {
      const bool less = best.share < share_ / kNear && best.value_ns > room_value_ns(costs) + doubt_ns;
      if ((more || less) && double(since_step_) >= fill)
        share_ = std::clamp(best.share, share_ / kStep, share_ * kStep), since_step_ = 0;
      return;
    }
    if (double(tried_) < decide) return;
    pays_ = false;
    ++switched_off_;
    rests_since_ = reads;
    tried_ = judged_ = 0;
    lost_ns_ = -gain;
    scale_counts(0);
    share_ = 1.0 / kLeastShare;
  }
  uint32_t switched_off() const { return switched_off_; }

private:
  static constexpr double kWorthwhile = 1.25; ///< ratio
  static constexpr double kYoung = 0.1; ///< of those that wait
  static constexpr double kSoon = 0.125; ///< of the time that pages may wait
  static constexpr double kMostTouched = 0.999, kLeastNear = 1e-6;
  static constexpr double kStep = 2, kNear = 1.2; ///< by which the share changes, at most and at least
  static constexpr double kDoubt = 0.15; ///< of what was spent, which may be an error

  double all_waited() const { return waited_[0] + waited_[1]; }
  double all_touched() const { return touched_[0] + touched_[1]; }
  void scale_counts(double by) {
    for (double *n : {&waited_[0], &waited_[1], &touched_[0], &touched_[1], &soon_, &lost_, &young_, &beyond_}) *n *= by;
    room_.scale(by);
  }
  bool compressed() const { return ratio_ >= kWorthwhile; }
  /// Of those that wait, the part that came after a page of that age. The longer ago they came, the fewer are left.
  double rank_at(double age) const {
    const double touched = std::min(all_touched() / std::max(all_waited(), 1.0), kMostTouched);
    return touched > 0 ? (1 - std::pow(1 - touched, age)) / touched : age;
  }
  void note_rank(double rank) {
    young_ += rank < kYoung;
    if (rank * ratio_ <= 1) return;
    ++beyond_;
    room_.used(1 + used_ * (rank * ratio_ - 1));
  }
  /// Pages that may wait, of a memory that holds `memory`.
  double places(uint32_t memory) const { return memory * share_ * ratio_; }
  /// What all those that waited have saved, ns.
  double gain_ns(const Costs &costs) const {
    const double by_order = saved_by_order(lost_ / std::max(all_waited() - all_touched(), 1.0));
    const double saved = beyond_ + (all_touched() - beyond_) * by_order;
    return saved * double(costs.read_ns) - all_touched() * double(costs.fault_ns) - all_waited() * double(costs.wait_ns);
  }
  double saved_by_order(double lost) const {
    if (waited_[1] < kEnoughAgain) return 1;
    const double again = touched_[1] / waited_[1], while_it_stays = 1 - std::pow(1 - again, 1 / (share_ * ratio_));
    const double soon = soon_ / waited_[1];
    return lost < soon ? while_it_stays * (1 - lost / soon) : 0;
  }
  /// What the part of memory would save if the order in which pages go saved nothing; and the part that would save most.
  double room_value_ns(const Costs &costs) const { return room_.value_ns(share_, ratio_, near(), room_costs(costs)); }
  PackedRoom::Part best_part(const Costs &costs) const {
    if (!compressed()) return {share_, 0};
    return room_.best(1.0 / kLeastShare, 1.0 / kMostShare, ratio_, near(), room_costs(costs));
  }
  double near() const { return young_ / std::max(kYoung * used_ * ratio_, kLeastNear); }
  static PackedRoom::Costs room_costs(const Costs &costs) {
    return {double(costs.read_ns), double(costs.fault_ns), double(costs.wait_ns)};
  }

  double waited_[2] = {}, touched_[2] = {}; ///< pages
  double soon_ = 0, lost_ = 0; ///< pages: of those that waited again, touched soon; of those that went in vain, read as soon
  double young_ = 0,
         beyond_ = 0; ///< of those touched: among the youngest; when they would have been gone were pages not compressed
  PackedRoom room_;
  double lost_ns_ = 0; ///< what the last trial took beyond what it saved, lately
  double share_ = 1.0 / kLeastShare, ratio_ = 1;
  double used_ = 1.0 / kLeastShare; ///< the part of memory in which pages wait now
  uint64_t tried_ = 0, since_step_ = 0; ///< pages that have waited in this trial, and since the share was changed
  uint64_t judged_ = 0; ///< tried_, when that was last judged
  uint64_t rests_since_ = 0; ///< in reads
  uint32_t patience_ = 1, switched_off_ = 0;
  bool pays_ = true;
};

} // namespace pagecast::core
