// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether pages that are about to go get a second chance. Memory has no trace of use, so that pages go in the order in which they
// came. One that waits at the end of that order for a while, out of the program's sight, shows by a fault that it is still in
// use: it comes back without a read, as the youngest. Such a fault costs less than a read; who comes back often costs more.
//
//   touched  the part of the pages that wait which come back; of those that wait again, since they came back before, it is the
//            greater the more use foretells use
//   lost     the part of those that waited in vain, and went, which are read again within as long a time
//   saved    reads, for each page that comes back: it is used again as those that wait again are, and takes the place of one that
//            waited in vain, which has lost / touched of that. Where a program comes to its pages at random both are the same, and
//            nothing is saved. Nor is it where a page is not used again while it stays, until as many have gone as memory holds.
//            Until enough have waited again, a read is taken as saved
//
// They may be compressed where that makes them smaller (compressibility.h). Then `ratio` of them wait in the memory of one, and of
// those that come back 1 - 1/ratio have saved a read for no memory, whatever use foretells.
//
// What it costs and what it saves is compared, for each page that waits. Where it costs more it rests, until the program has waited for
// reads kLossShare times as long as all that was tried took, and twice as long each time up to kMostPatience, unless it has paid since.
// A program that only grows has nothing to use again, and waits for no reads: so its rest ends soon after it begins to.
//
// The part of memory in which pages wait grows from 1/kLeastShare to 1/kMostShare while that gains, if they are compressed. A page of
// memory more holds `ratio` pages longer, of which as many are touched as of those that wait longest: each saves a read, less a
// fault. It takes a page from those that do not wait: as many of these are touched as of those that have just come, by a fault each.
//
// Example: of pages that wait 15 % are touched, of those that wait again 30, and 10 % of those that went are read again in as long a
// time. A read takes 90 us, a fault without one 22, and having a page wait 2: of 100 pages that wait, 15 come back for 0.3 ms, all
// wait for 0.2 ms, and 10 reads are saved, 0.9 ms.
//
// The pager's thread; O(1).
#pragma once
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
  static constexpr double kMostCounted = 4096; ///< then all counts are halved
  static constexpr uint32_t kLossShare = 32, kMostPatience = 8;
  static constexpr uint32_t kPaid = 2; ///< times as many pages as decide, after which it has paid

  struct Costs {
    uint64_t read_ns, fault_ns, wait_ns; ///< of a read; of a fault without one; of having a page wait
    double ratio = 1; ///< pages that wait in the memory of one
  };
  /// Whether pages wait now.
  bool pays() const { return pays_; }
  /// The part of memory in which they do.
  double share() const { return share_; }
  /// A page has waited, and was `touched` or goes; `again`: it had come back before. `age`: of one that was touched, the part of the
  /// time that it may wait which had passed, 0 to 1.
  void waited(bool again, bool touched, double age = 0.5) {
    waited_[again] += 1;
    touched_[again] += touched;
    young_ += touched && age < kYoung;
    old_ += touched && age >= kOld;
    ++tried_, ++since_step_;
    if (all_waited() >= kMostCounted) scale_counts(0.5);
  }
  /// The program waits for a page that had waited in vain. `away`: pages that have gone since it did, of a memory of so many. It is
  /// lost if it would still be waiting had it come a second time: pages wait until as many others still wait as may. Those that are
  /// touched leave their places to others, so that they wait the longer the more are touched.
  void missed(uint64_t away, uint32_t memory) {
    const double touched = all_touched() / std::max(all_waited(), 1.0);
    const double longer = touched > 0 && touched < 1 ? -std::log1p(-touched) / touched : 1;
    lost_ += double(away) < places(memory) * (1 - touched) * longer;
  }
  /// Decides anew. `reads`: pages that the program has waited for so far, of a memory that holds `memory`.
  void judge(uint64_t reads, uint32_t memory, const Costs &costs) {
    if (!pays_) {
      pays_ = double(reads - rests_since_) * double(costs.read_ns) >= tried_ns_ * kLossShare * patience_;
      if (pays_) patience_ = std::min(patience_ * 2, kMostPatience);
      return;
    }
    ratio_ = std::max(costs.ratio, 1.0);
    if (!compressed()) share_ = 1.0 / kLeastShare;
    const double decide = std::max(double{kEnough}, kFills * places(memory));
    if (double(tried_) < decide) return;
    const double waited = all_waited(), came_back = all_touched(), gain = gain_of(came_back / waited, costs);
    const bool step = compressed() && double(since_step_) >= decide;
    if (gain >= 0) {
      if (waited_[1] >= kEnoughAgain && double(tried_) >= kPaid * decide) patience_ = 1;
      if (step) resize(costs);
      return;
    }
    if (may_pay_with_more(came_back / waited, costs)) {
      if (step) resize_to(share_ * kStep);
      return;
    }
    pays_ = false;
    ++switched_off_;
    rests_since_ = reads;
    tried_ = 0;
    tried_ns_ = came_back * double(costs.fault_ns) + waited * double(costs.wait_ns);
    scale_counts(0);
    share_ = 1.0 / kLeastShare;
  }
  uint32_t switched_off() const { return switched_off_; }

private:
  static constexpr double kWorthwhile = 1.25; ///< ratio
  static constexpr double kYoung = 0.25, kOld = 0.75; ///< ages
  static constexpr double kStep = 1.5;

  double all_waited() const { return waited_[0] + waited_[1]; }
  double all_touched() const { return touched_[0] + touched_[1]; }
  void scale_counts(double by) {
    for (double *n : {&waited_[0], &waited_[1], &touched_[0], &touched_[1], &lost_, &young_, &old_}) *n *= by;
  }
  bool compressed() const { return ratio_ >= kWorthwhile; }
  /// Pages that may wait, of a memory that holds `memory`.
  double places(uint32_t memory) const { return memory * share_ * ratio_; }
  /// What a page that waits saves, ns, where `touched` of them are.
  double gain_of(double touched, const Costs &costs) const {
    const double saved = saved_by(lost_ / std::max(all_waited() - all_touched(), 1.0));
    return touched * (saved * double(costs.read_ns) - double(costs.fault_ns)) - double(costs.wait_ns);
  }
  double saved_by(double lost) const { return 1 - (1 - saved_by_order(lost)) / ratio_; }
  double saved_by_order(double lost) const {
    if (waited_[1] < kEnoughAgain) return 1;
    const double again = touched_[1] / waited_[1], while_it_stays = 1 - std::pow(1 - again, 1 / (share_ * ratio_));
    return lost < again ? while_it_stays * (1 - lost / again) : 0;
  }
  /// Whether it would pay in the most memory, where pages wait longer and more are touched.
  bool may_pay_with_more(double touched, const Costs &costs) const {
    const double longer = 1.0 / kMostShare / share_;
    return compressed() && longer > 1 && gain_of(1 - std::pow(1 - std::min(touched, 1.0), longer), costs) > 0;
  }
  void resize(const Costs &costs) {
    const double waited = all_waited(), went = waited - all_touched();
    const double read = double(costs.read_ns), fault = double(costs.fault_ns);
    const double gained = old_ / std::max(old_ + went, 1.0) * ratio_ * (read - fault), lost = young_ / waited * fault;
    if (gained > lost && went >= 1) resize_to(share_ * kStep);
    else if (gained < lost / 2) resize_to(share_ / kStep);
  }
  void resize_to(double share) {
    share_ = std::clamp(share, 1.0 / kLeastShare, 1.0 / kMostShare);
    since_step_ = 0;
  }

  double waited_[2] = {}, touched_[2] = {}, lost_ = 0; ///< pages
  double young_ = 0, old_ = 0; ///< of those touched
  double tried_ns_ = 0; ///< what the last trial took, lately
  double share_ = 1.0 / kLeastShare, ratio_ = 1;
  uint64_t tried_ = 0, since_step_ = 0; ///< pages that have waited in this trial, and since the share was changed
  uint64_t rests_since_ = 0; ///< in reads
  uint32_t patience_ = 1, switched_off_ = 0;
  bool pays_ = true;
};

} // namespace pagecast::core
