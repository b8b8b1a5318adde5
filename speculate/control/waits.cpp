// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Judging the original's waits. A wait counts when two looks find the thread in it: then it is a long one.
#include "speculate/control/controller.h"
#include "speculate/inject/tracee.h"

namespace pagecast::speculate {
namespace {

constexpr uint64_t kCopyNeeds = 30000000; ///< ns that a copy is given to come ahead
constexpr uint64_t kSureMiss = 4000000;   ///< ns of a wait: a hint for it would have come
constexpr uint64_t kMostMisses = 2;       ///< waits that a copy may miss, and one more for each so many hits:
constexpr uint64_t kHitsPerMiss = 8;

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
  return one.by_name;
}

void Controller::examine(Watched &one, uint64_t now) {
  const Look look = one.thread.look();
  if (!look.alive) return;
  const bool waiting = is_waiting(one, look);
  const bool same = waiting && one.wait_begin && look.runs == one.last.runs;
  if (&one == watched_ && one.looked) {
    const double passed = static_cast<double>(now - one.looked) * 1e-9;
    (waiting ? statistics_.waiting_disk : look.state == 'R' ? statistics_.running : statistics_.waiting_other) += passed;
  }
  one.looked = now;
  one.last = look;
  if (!waiting) {
    one.wait_begin = 0;
    return;
  }
  if (!same) {
    one.wait_begin = one.accounted = now;
    one.judged = false;
    return;
  }
  if (now - one.wait_begin >= Worth::kLeastWait && !one.refused) account_wait(one, now);
}

/// A long wait goes on.
void Controller::account_wait(Watched &one, uint64_t now) {
  if (names_) give_names();
  const Call call = one.thread.call();
  if (!call.known || call.number < 0 || !may_stop_in(call.number, one.by_name)) return;
  find_wait_place(one.thread.process(), call, &place_);
  if (place_.kind == WaitPlace::Kind::kUnknown) return;
  const bool read = place_.kind == WaitPlace::Kind::kRead;
  if (place_.direct) return refuse(one, "it reads past the page cache (O_DIRECT), and so overlaps its reads itself");
  const bool hinted = read ? log_.has(place_.inode, place_.offset) : log_.has_path(place_.path);
  if (hinted) {
    if (!one.judged) {
      statistics_.waits_hinted++;
      copy_hit_++;
      prefetcher_.passed(place_.inode, place_.offset, read ? nullptr : place_.path);
    }
    one.judged = true;
    return;
  }
  one.worth.waited(now - one.accounted);
  one.accounted = now;
  if (copied_) {
    const bool own = copied_->thread.process() == one.thread.process();
    if (own && now - one.wait_begin > kSureMiss && now - copy_made_ > kCopyNeeds) missed(one, now);
  } else if (one.worth.is_due(now, Worth::price(facts_of(one.thread.process(), one.thread.number()).resident)))
    make_copy(one, now);
}

/// The copy has not hinted what the original waits for: it is behind it, or somewhere else.
void Controller::missed(Watched &one, uint64_t) {
  if (one.judged) return;
  one.judged = true;
  statistics_.waits_missed++;
  copy_missed_++;
  if (copy_missed_ < kMostMisses + copy_hit_ / kHitsPerMiss) return;
  one.careful = true;
  end_copy(Ending::kAstray);
}

} // namespace pagecast::speculate
