// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a slice is worth its cost. Its cost is processor time: its own, the pager's for its hints, and the program's in
// waiting for it. Its gain is that the nest goes faster with it than without. Both are measured while the nest runs.
//
//   running   the slice runs. Where the pages that it has asked for are not worth its cost, even if the program would have waited
//             for each of them, it is switched off without a trial. After kFirstTrial of cost there is a trial; where its pages
//             speak for it once later, by kNextTrial and not before kPutOff. After kNextTrial there is another one, as a chance may
//             have decided; then, after each that it passes, after four times as much
//   with      it runs, and what the nest does in kPeriod of time is noted
//   draining  it rests, and the nest goes over what it had asked for
//   without   it rests, and what the nest does is noted; where that speaks for the slice it is once more, since streams of faults may
//             take longer than a period to find their way. Then it runs again, or is switched off if that is the second time
//   off       it rests for kFirstRest (kLeastRest if it has asked for nothing), twice as long each time; less where the nest
//             becomes much slower
//   warming   it runs again, and has kSettle to get ahead; then it is as in `with`, and compared to what was before
//
// Example: the nest does a million iterations in 48 ms with the slice, which takes 40 ms for them, and in 30 ms without. The slice
// is switched off after some 140 ms of its own time. It is tried again one second later, and then after two seconds, four, eight.
//
// The gain must be at least a kDear-th of the cost: the processor may have nothing else to do, the program waits for its pages.
// What a nest does is not always the same: a period may have few waits in it. So a slice also goes on where it has asked for single
// pages, apart from each other, whose waits would have taken twice what it cost, and the nest is not much slower with it.
//
// What streams of faults fetch is an investment, too (core/faults/stream_investment.h). There pages used are compared with pages
// wasted, since a stream costs no processor time to speak of, and is not asked for by a nest whose pace could be compared.
//
// No clock, no allocation; not thread-safe. Times are nanoseconds.
#pragma once
#include <cstdint>

namespace pagecast::core {

class SliceInvestment {
public:
  static constexpr uint64_t kMs = 1000000;
  static constexpr uint64_t kFirstTrial = 50 * kMs; ///< of cost
  static constexpr uint64_t kNextTrial = 100 * kMs; ///< of cost, once it has passed one
  static constexpr uint64_t kPutOff = 200 * kMs; ///< of cost, at least, where what it has asked for speaks for it
  static constexpr uint64_t kMostTrial = 6400 * kMs;
  static constexpr uint64_t kLook = 10 * kMs; ///< of cost, between looks at what has been asked for
  static constexpr uint64_t kPeriod = 48 * kMs;
  static constexpr uint64_t kLeast = 12 * kMs; ///< of a period that is clear before its end
  static constexpr uint64_t kLeastSteps = 16; ///< in a period: less are too coarse
  static constexpr uint64_t kMostPeriod = 320 * kMs; ///< however few steps there are in it
  static constexpr uint64_t kSettle = 8 * kMs;
  static constexpr uint64_t kFirstRest = 1000 * kMs, kMostRest = 64000 * kMs, kLeastRest = 100 * kMs;
  static constexpr uint64_t kDear = 4;
  static constexpr double kSlower = 2; ///< times; a period in which the nest is so much slower need not be full
  /// The same just after the slice stopped: streams of faults find their way in some ms, in which the nest was seen to be up to
  /// 5.6 times slower, and then faster than with the slice.
  static constexpr double kTransient = 8;
  static constexpr uint64_t kWait = 80000; ///< for a page that a fault reads alone; on slow disks it is more, and periods show it

  /// What has been seen of a nest since it was looked at last.
  struct Progress {
    uint64_t steps, work; ///< `work`: iterations, which other executions of the nest may have more of in a step
    uint64_t ns;
    bool covered; ///< the program has not come yet to where the slice rests
    bool may_begin; ///< it can begin where the program is
  };

  /// The slice has cost so much more.
  void spent(uint64_t ns);
  /// It has asked for so many pages, and for so many of these as no stream of faults would have foreseen.
  void asked(uint64_t pages, uint64_t foreseen) { asked_ += pages, foreseen_ += foreseen; }
  /// The nest went on. `now`: any clock that goes on while no nest is open.
  void went(const Progress &, uint64_t now);

  bool runs() const { return phase_ == kRunning || phase_ == kWith || phase_ == kWarming || phase_ == kAgain; }
  /// It rests for long: nobody needs to look at it soon.
  bool is_off() const { return phase_ == kOff; }

  uint64_t cost() const { return cost_; }
  /// By what it has done so far, as far as it has been compared; negative: it cost time besides.
  int64_t saved() const;
  uint64_t trials() const { return trials_; }
  uint64_t switched_off() const { return switched_off_; }

private:
  enum Phase : uint8_t { kRunning, kWith, kDraining, kWithout, kOff, kWarming, kAgain };
  struct Period {
    uint64_t steps = 0, work = 0, ns = 0, cost = 0;
    void add(const Progress &p) { steps += p.steps, work += p.work, ns += p.ns; }
    bool full() const { return (ns >= kPeriod && steps >= kLeastSteps) || ns >= kMostPeriod; }
  };

  void begin(Phase);
  bool asks_for_nothing();
  bool clearly_slower(const Period &other, double times) const;
  void rest(const Progress &, uint64_t now);
  static uint64_t step_of(const Period &with, const Period &without);
  static bool covers_cost(double gain, const Period &with, uint64_t step);
  bool pays(const Period &with, const Period &without, uint64_t step) const;
  static double gain(const Period &with, const Period &without, uint64_t step);
  void judge(const Period &with, const Period &without, uint64_t now);
  void switch_off(uint64_t now, uint64_t rest);

  Phase phase_ = kRunning;
  Period period_, with_, without_;
  uint64_t cost_ = 0, since_trial_ = 0, trial_at_ = kFirstTrial;
  uint64_t foreseen_ = 0; ///< since the last verdict, as since_trial_
  uint64_t asked_ = 0, since_look_ = 0; ///< since the last look: pages, and cost
  uint64_t off_since_ = 0, rest_ = kFirstRest;
  uint64_t work_ = 0; ///< done with the slice, since the last verdict
  double gain_ = 0; ///< ns for each iteration, by the last verdict
  double saved_ = 0; ///< ns, until the last verdict
  uint64_t trials_ = 0, switched_off_ = 0;
  bool put_off_ = false; ///< the first trial has been: what the slice asks for speaks for it
  bool doubted_ = false; ///< a trial has failed, and is made once more
  bool settled_ = false; ///< it rests for a second period: the first was slower
  unsigned passed_ = 0; ///< trials, since it was switched on
};

} // namespace pagecast::core
