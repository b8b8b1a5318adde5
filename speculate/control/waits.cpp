// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judging the original's waits. A wait counts when two looks find the thread in it: then it is a long one.
#include "speculate/control/controller.h"
#include "speculate/inject/tracee.h"
#include <algorithm>
#include <cstring>

namespace pagecast::speculate {
namespace {

constexpr uint64_t kAskEvery = 50000000;  ///< ns: what it is that a thread sleeps in
constexpr uint64_t kCopyNeeds = 30000000; ///< ns that a copy is given to come ahead
constexpr uint64_t kSlowCopyNeeds = 100000000; ///< ns, if none of its hints has met a wait: it has idle priority
constexpr uint64_t kMostMisses = 4;       ///< waits that a copy may miss, and one more for each so many hits:
constexpr uint64_t kHitsPerMiss = 8;
constexpr uint64_t kMostBetween = 1500000; ///< ns between two looks that are taken for waiting
constexpr uint64_t kLeastBriefly = 20000000; ///< ns, before it is looked at more closely
constexpr uint64_t kHeadStart = 30000000, kBriefTrial = 80000000; ///< ns until a copy must be of use, and in which it is judged
constexpr double kLeastGain = 1.1;        ///< of the share of time that the original has a processor
constexpr uint64_t kQuickWait = 4000000; ///< ns: a disk whose long waits are no longer on average is fast
constexpr uint64_t kQuickFactor = 4; ///< times the price that its waits must have cost
constexpr uint64_t kLeastFaults = 12; ///< long waits in page faults: a few are accidents of a fast disk
constexpr uint64_t kListingPatience = 200000000; ///< ns in which the first listing tells whether it is kept
constexpr uint64_t kFewInVain = 4; ///< hints
constexpr unsigned kInVainCounts = 3; ///< useless copies: the next will not be of more use, whatever it finds
constexpr unsigned kDoubtfulDepth = 4; ///< of requests, for hints that may be wrong

/// What a copy of its process would cost, ns. Cost: a file of /proc.
uint64_t price_of(const Watched &one) { return Worth::price(facts_of(one.thread.process(), one.thread.number()).resident); }

} // namespace

/// D is a wait for a disk. S is one only in calls on names: file systems in user space have it there.
bool Controller::is_waiting(Watched &one, const Look &look) {
  if (look.state == 'D') {
    one.by_name = false;
    return true;
  }
  if (look.state != 'S') return false;
  if (look.runs == one.last.runs && one.last.state == 'S') return one.by_name;
  const Call call = one.thread.call();
  one.by_name = call.known && call.number >= 0 && may_stop_in(call.number, true);
  // Reads past the page cache have it there, too, and an io_uring everywhere.
  if (one.by_name || one.refused || one.looked < one.asked + kAskEvery) return one.by_name;
  one.asked = one.looked;
  if (const char *const reason = own_reading(one.thread.process(), call)) refuse(one, reason);
  return false;
}

void Controller::examine(Watched &one, uint64_t now) {
  const Look look = one.looked ? one.thread.look(one.last, now - one.looked) : one.thread.look();
  if (!look.alive) {
    one_ended_ = true;
    return;
  }
  const bool waiting = is_waiting(one, look);
  const bool same = waiting && one.wait_begin && look.runs == one.last.runs;
  if (&one == watched_ && one.looked) {
    const double passed = static_cast<double>(now - one.looked) * 1e-9;
    (waiting ? statistics_.waiting_disk : look.state == 'R' ? statistics_.running : statistics_.waiting_other) += passed;
  }
  if (one.looked) one.worth.passed(now - one.looked, waiting);
  if (one.unhinted && !same) wait_over(one, now);
  if (one.long_wait && !same && one.looked - one.wait_begin < Worth::kLongWait)
    one.worth.waited_briefly(one.looked - one.wait_begin);
  const bool briefly = waiting && !same && one.wait_begin && look.state == 'D';
  const uint64_t passed = now - one.looked;
  one.looked = now;
  one.last = look;
  if (one.was_copied) follow_reads(one);
  if (briefly && !one.refused) account_short_wait(one, passed);
  one.long_wait = same;
  if (!waiting) {
    one.wait_begin = 0;
    return;
  }
  if (!same) {
    one.wait_begin = one.accounted = now;
    one.judged = one.in_vain = false;
    return;
  }
  if ((eager_ || now - one.wait_begin >= Worth::kLeastWait) && !one.refused) account_wait(one, now);
}

/// What the original computes for a read, beside its copies and after them: theirs are compared with it.
void Controller::follow_reads(Watched &one) {
  constexpr uint64_t kEnough = 1000;
  if (statistics_.original_reads >= kEnough) return;
  const uint64_t reads = one.thread.reads();
  if (reads <= one.reads) return;
  if (one.reads) {
    statistics_.original_reads += reads - one.reads;
    statistics_.original_seconds += static_cast<double>(one.last.ran - one.ran_at_reads) * 1e-9;
  }
  one.reads = reads;
  one.ran_at_reads = one.last.ran;
}

bool Controller::is_hinted(const Awaited &awaited) const {
  return awaited.kind == Awaited::Kind::kRead ? log_.has(awaited.inode, awaited.offset) : log_.has_path(awaited.path);
}

/// A long wait goes on.
void Controller::account_wait(Watched &one, uint64_t now) {
  const Call call = one.thread.call();
  if (call.is_fault()) return account_fault(one, now);
  if (!call.known || !may_stop_in(call.number, one.by_name)) return;
  if (!prepare()) return;
  give_names(one, call);
  Awaited &awaited = one.awaited;
  find_awaited(one.thread.process(), call, &awaited);
  if (awaited.kind == Awaited::Kind::kUnknown) return;
  if (awaited.direct) return refuse(one, kDirect);
  one.unhinted = !is_hinted(awaited) || (eager_ && !copied_);
  if (!one.unhinted) {
    if (!one.judged) {
      statistics_.waits_hinted++;
      copy_hit_++;
      prefetcher_.passed(awaited.inode, awaited.offset, awaited.kind == Awaited::Kind::kRead ? nullptr : awaited.path);
    }
    one.judged = true;
    one.in_vain = is_listing(call) && prefetcher_.listings_of(0).is_in_vain();
    return;
  }
  if (lists_in_vain(one, now, call)) return;
  bool quick = false;
  if (!would_copy_pay(one, now, &quick)) return;
  make_copy(one, now, call, false);
  on_trial_ |= quick && one.since && now - one.since > kLeastBriefly;
}

/// A copy lists directories for itself. Where listings do not stay in memory, that only makes the storage answer twice, so it is
/// found out before one is made: by listing what the program lists, unless what it names is being listed.
bool Controller::lists_in_vain(Watched &one, uint64_t now, const Call &call) {
  if (eager_ || copied_ || one.awaited.kind != Awaited::Kind::kName) return false;
  const uint64_t device = device_of_directory(one.thread.process(), call);
  const Kept kept = prefetcher_.listings_of(device);
  if (kept.is_known()) return one.in_vain = is_listing(call) && kept.is_in_vain();
  if (listings_asked_ == 0) listings_asked_ = now;
  if (prefetcher_.queued() && now - listings_asked_ < kListingPatience) return true;
  if (!is_listing(call) || listings_tried_ == Kept::kTries) return false; // it cannot be told
  listings_tried_++;
  static Hint hint;
  memset(&hint, 0, sizeof hint);
  hint.kind = HintKind::kDirectory;
  hint.device = device;
  return join_path(hint.path, sizeof hint.path, "/", one.awaited.path) && prefetcher_.give(hint);
}

/// A long wait in a page fault. Where in which file nobody tells, so it is not judged by what has been hinted: a copy comes
/// as late as for short waits, of which nobody knows either what is gained.
void Controller::account_fault(Watched &one, uint64_t now) {
  if (prepared_ && prefetcher_.queued()) return; // hints are on their way
  bool quick = false;
  statistics_.waits_in_faults += !one.judged;
  one.judged = true;
  if (!would_copy_pay(one, now, &quick)) return;
  if (!eager_ && (one.long_waits < kLeastFaults || !one.worth.pays_briefly(now, price_of(one)))) return;
  if (!prepare()) return;
  const Call call = one.thread.call();
  give_names(one, call);
  make_copy(one, now, call, false);
}

/// A wait that nothing was hinted for goes on. `quick`: the disk is fast.
bool Controller::would_copy_pay(Watched &one, uint64_t now, bool *quick) {
  if (!eager_ && now - one.wait_begin < Worth::kLongWait) return false;
  if (one.since == 0) begin_period(one);
  one.long_waits += one.accounted == one.wait_begin;
  one.worth.waited(now - one.accounted);
  one.accounted = now;
  *quick = one.worth.at_length() < one.long_waits * kQuickWait;
  if (eager_) return !copied_;
  const uint64_t price = price_of(one) * (*quick ? kQuickFactor : 1);
  return !copied_ && one.worth.pays(now, price);
}

/// What the copy that comes is compared with.
void Controller::begin_period(Watched &one) {
  one.since = one.looked;
  one.ran = one.last.ran;
  one.long_waits = 0;
}

/// Two looks have found it in different waits: it does little but wait, for something quick.
void Controller::account_short_wait(Watched &one, uint64_t passed) {
  if (one.since == 0) begin_period(one);
  if (copied_ || (prepared_ && prefetcher_.queued())) return; // hints are on their way
  one.worth.waited_briefly(std::min(passed, kMostBetween));
  if (one.worth.briefly() < kLeastBriefly) return;
  const uint64_t price = price_of(one);
  if (!one.worth.pays_briefly(one.looked, price) || !prepare()) return;
  const Call call = one.thread.call();
  if (call.is_fault()) return; // on so fast a disk the kernel's own reading around faults is as good
  if (const char *const reason = own_reading(one.thread.process(), call)) return refuse(one, reason);
  give_names(one, call);
  make_copy(one, one.looked, call, true);
}

/// Once for each copy that was made because of short waits, or of those of a fast disk. They are too many to be judged one by one:
/// a copy that is of use leaves the original more of the time to compute.
void Controller::judge_trial(uint64_t now) {
  if (!copied_ || !on_trial_ || now - copy_made_ < kHeadStart) return;
  if (trial_ == 0) {
    trial_ = now;
    ran_before_ = copied_->last.ran;
  }
  if (now - trial_ < kBriefTrial) return;
  on_trial_ = false;
  const double share = static_cast<double>(copied_->last.ran - ran_before_) / static_cast<double>(now - trial_);
  if (share < share_before_ * kLeastGain) end_copy(Ending::kNoGain);
}

/// A copy of which most is in vain only makes the storage answer twice.
void Controller::judge_hints(uint64_t now) {
  const bool doubtful = copied_ && (copied_->worth.useless() || prefetcher_.listings_of(0).is_in_vain());
  if (!copied_ || now - copy_made_ < (doubtful ? kCopyNeeds : kSlowCopyNeeds)) return;
  const uint64_t given = channel_->head, in_vain = prefetcher_.in_vain_for(copy_number_);
  if (in_vain < kFewInVain || given >= 2 * in_vain) return;
  for (unsigned i = 0; i < kInVainCounts; i++) copied_->worth.ended(now, 0, 1);
  end_copy(Ending::kNoGain);
}

/// A long wait has ended that nothing had been hinted for. If nothing has been since, the copy is behind or somewhere else.
void Controller::wait_over(Watched &one, uint64_t now) {
  one.unhinted = false;
  const bool own = copied_ && copied_->thread.process() == one.thread.process();
  const uint64_t needs = copy_hit_ ? kCopyNeeds : kSlowCopyNeeds;
  if (own && now - copy_made_ > needs && one.wait_begin > copy_made_ && !is_hinted(one.awaited)) missed();
}

void Controller::missed() {
  statistics_.waits_missed++;
  copy_missed_++;
  prefetcher_.limit_depth(copy_hit_ >= kHitsPerMiss * copy_missed_ ? Prefetcher::kWorkers : kDoubtfulDepth);
  if (copy_missed_ >= kMostMisses + copy_hit_ / kHitsPerMiss) end_copy(Ending::kAstray);
}

} // namespace pagecast::speculate
