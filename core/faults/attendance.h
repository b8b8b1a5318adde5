// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the thread that serves faults attends the thread of the program that has them: it runs on that one's processor, and only
// while that one waits. Then a fault changes from one thread to the other on one processor, where else another processor has to be
// woken, twice. Measured on a virtual machine, from the fault until the program goes on: 4 us instead of 18 where the other processor
// is kept awake, and instead of 50 where it sleeps.
//
// What it does ahead of the program, in the meantime, it does no more. So both ways are tried in turns:
//
//   alone     faults of one thread only, kInARow of them
//   trial     kPairs times kWindow each way. Attending is chosen where faults come at least as fast, which they do if each takes less;
//             but not if the program's thread runs for much less from one to the next, because less was fetched ahead of it. Some less
//             is usual, as a change of processors costs the thread itself time, too
//   verdict   holds for kFirstHold, and each time that it is the same one for twice as long, up to kMostHold
//   disturbed where others want the processor, or there is work ahead of the program, it rests, twice as long each time; as short as at
//             first when it has gone on for a while
//
// Example: of a list in no order half is in memory. Apart, each fault takes 120 us, of which the thread runs for 10; attended 100, of which
// it runs for 8. In 30 ms there are 250 faults at first, and 300 then: it is attended.
//
// The pager's thread; O(1), some ns.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class Attendance {
public:
  static constexpr uint32_t kInARow = 32; ///< faults of one thread
  static constexpr uint64_t kWindow = 10'000'000; ///< ns
  static constexpr uint32_t kPairs = 3;
  static constexpr uint64_t kFirstHold = 500'000'000, kMostHold = 8'000'000'000; ///< ns
  static constexpr uint64_t kFirstRest = 20'000'000, kMostRest = 1'000'000'000; ///< ns
  static constexpr double kLessRun = 4; ///< times less, by which the thread may run from one fault to the next
  static constexpr uint64_t kCalm = 200'000'000; ///< ns without a disturbance

  /// A thread of the program has a fault; 0: the kernel does not tell which.
  void faulted(uint64_t thread) {
    ++faults_;
    in_row_ = thread && thread == thread_ ? in_row_ + 1 : 0;
    if (thread != thread_) begin_trial();
    thread_ = thread;
  }
  uint64_t thread() const { return thread_; }
  /// Whether it is to attend thread(), by the last decide().
  bool attends() const { return attends_; }
  /// Whether decide() would use the thread's processor time now.
  bool wants_time(uint64_t now) const { return may(now) && !holds(now) && (!in_window_ || now - window_ns_ >= kWindow); }
  /// Decides anew. `cpu_ns`: processor time of thread() so far, where wants_time() says so.
  void decide(uint64_t now, uint64_t cpu_ns) {
    if (!may(now)) {
      in_window_ = attends_ = false;
    } else if (holds(now)) {
      attends_ = verdict_;
    } else {
      if (in_window_ && now - window_ns_ >= kWindow) end_window(now, cpu_ns);
      if (holds(now)) attends_ = verdict_;
      else if (!in_window_) in_window_ = true, begin_window(now, cpu_ns);
    }
  }
  /// It was in somebody's way, or was kept from what it has to do; or it could not attend.
  void disturbed(uint64_t now) {
    if (now - rest_until_ > kCalm) rest_ns_ = kFirstRest;
    rest_until_ = now + rest_ns_;
    rest_ns_ = std::min(2 * rest_ns_, kMostRest);
    in_window_ = attends_ = false;
  }

private:
  bool may(uint64_t now) const { return in_row_ >= kInARow && now >= rest_until_; }
  bool holds(uint64_t now) const { return now < hold_until_; }
  void begin_trial() {
    in_window_ = false;
    windows_ = 0;
    for (Way &w : way_) w = {};
  }
  void begin_window(uint64_t now, uint64_t cpu_ns) {
    window_ns_ = now, window_cpu_ns_ = cpu_ns, window_faults_ = faults_;
    attends_ = windows_ % 2 == 0;
  }
  void end_window(uint64_t now, uint64_t cpu_ns) {
    Way &w = way_[windows_ % 2];
    w.ran_ns += double(cpu_ns - std::min(cpu_ns, window_cpu_ns_));
    w.took_ns += double(now - window_ns_);
    w.faults += double(faults_ - window_faults_);
    in_window_ = false;
    if (++windows_ < 2 * kPairs) return;
    const Way &attended = way_[0], &apart = way_[1];
    const bool better = attended.faults * apart.took_ns >= apart.faults * attended.took_ns &&
                        attended.ran_ns * apart.faults * kLessRun >= apart.ran_ns * attended.faults;
    hold_ns_ = better == verdict_ ? std::min(2 * hold_ns_, kMostHold) : kFirstHold;
    verdict_ = better;
    hold_until_ = now + hold_ns_;
    begin_trial();
  }

  uint64_t thread_ = 0;
  uint32_t in_row_ = 0; ///< faults of it, since another one had one
  bool attends_ = false, in_window_ = false;
  bool verdict_ = false; ///< of the last trial: to attend
  uint32_t windows_ = 0; ///< that have ended in this trial: first one in which it attends, then one in which it does not
  uint64_t window_ns_ = 0, window_cpu_ns_ = 0, window_faults_ = 0; ///< when this one began
  struct Way {
    double ran_ns = 0, took_ns = 0, faults = 0; ///< processor time of the thread, time
  };
  Way way_[2]; ///< in the windows of this trial: attended, and apart
  uint64_t faults_ = 0; ///< of all threads
  uint64_t hold_until_ = 0, hold_ns_ = kFirstHold / 2;
  uint64_t rest_until_ = 0, rest_ns_ = kFirstRest;
};

} // namespace pagecast::core
