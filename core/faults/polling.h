// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the thread that serves faults keeps its processor while it waits. Where faults come one at a time, it waits for the disk
// and then for the next fault, some tens of microseconds each; an idle processor takes as long to wake (20 us on a virtual one).
// So it looks for what it waits for without sleeping, for a bounded time:
//
//   patience   twice as long as such waits took lately; 0 where they take longer than kMost
//   credit     what was found while it looked brings kSaved, what was not costs the time that was looked; without credit it rests,
//              twice as long each time, and short again after a time in which it paid
//   spare      it never looks where more threads want to run, on average, than there are processors. The caller counts them when
//              wants_sample() says so. That the processor was taken from it while it looked costs credit, too
//
// Example: reads take 50 us, but the writes among them 400. Looks end after 100 us, one in ten finds nothing, which costs 100 us,
// and nine save 20 each: it goes on.
//
// The pager's thread; O(1), some ns.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class Polling {
public:
  enum What : uint8_t { kRead, kFault }; ///< a read that a thread of the program waits for; its next fault
  static constexpr uint64_t kMost = 200'000; ///< ns of a look
  static constexpr uint64_t kSlack = 10'000; ///< ns beyond twice the usual
  static constexpr int64_t kSaved = 20'000; ///< ns that a sleep costs
  static constexpr int64_t kFirstCredit = 1'000'000, kMostCredit = 2'000'000;
  static constexpr uint64_t kFirstRest = 10'000'000, kMostRest = 1'000'000'000; ///< ns
  static constexpr uint64_t kSampleEvery = 2'000'000; ///< ns, while it looks

  /// Before a sleep: how long to look for `what`, ns. 0: not at all.
  uint64_t patience(What what, uint64_t now) const { return spare_ && now >= rest_until_ ? usual_patience(what) : 0; }
  /// The same where that is in nobody's way (attendance.h).
  uint64_t usual_patience(What what) const {
    return usual_[what] == 0 || usual_[what] > kMost ? 0 : std::min(kMost, 2 * usual_[what] + kSlack);
  }
  /// Whether the next look wants to know if there is a processor to spare.
  bool wants_sample(uint64_t now) const { return now >= next_sample_; }
  /// So many threads run or want to, the caller among them, on so many processors; 0: that is not known. A processor alone is never
  /// to spare.
  void sample(unsigned running, unsigned processors, uint64_t now) {
    next_sample_ = now + kSampleEvery;
    const unsigned threads = std::min(running, 64 * processors) * kPart;
    threads_ = threads_ ? (threads_ * 7 + threads) / 8 : threads;
    spare_ = running && processors > 1 && threads_ <= processors * kPart;
  }
  /// It waited for `what` for so long, looking or asleep.
  void waited(What what, uint64_t ns) {
    ns = std::min(ns, 8 * kMost);
    usual_[what] = usual_[what] ? (usual_[what] * 15 + ns) / 16 : ns;
  }
  /// It has looked for `ns`, and found something or not. `lost`: of that, the time in which it did not run.
  void looked(uint64_t ns, bool found, uint64_t lost, uint64_t now) {
    credit_ += found ? kSaved : -static_cast<int64_t>(ns);
    credit_ -= static_cast<int64_t>(std::min(kTaken * lost, kMost * kTaken));
    if (credit_ >= kMostCredit) credit_ = kMostCredit, next_rest_ = kFirstRest;
    if (credit_ <= 0) rest(now);
  }

private:
  static constexpr uint64_t kTaken = 4; ///< what the processor was taken for weighs so much more than a look in vain
  static constexpr unsigned kPart = 64; ///< of a thread, in threads_

  void rest(uint64_t now) {
    rest_until_ = now + next_rest_;
    next_rest_ = std::min(next_rest_ * 2, kMostRest);
    credit_ = kFirstCredit;
  }

  uint64_t usual_[2] = {}; ///< ns; 0: not known yet
  bool spare_ = false; ///< not known yet
  unsigned threads_ = 0; ///< that want to run, on average
  int64_t credit_ = kFirstCredit; ///< ns
  uint64_t rest_until_ = 0, next_rest_ = kFirstRest, next_sample_ = 0;
};

} // namespace pagecast::core
