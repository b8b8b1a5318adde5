// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/slices/slice_investment.h"
#include "core/arithmetic.h"

namespace pagecast::core {
namespace {

/// The time of one iteration; where not even a step was finished, as if one had been at the end.
double each(uint64_t ns, uint64_t work, uint64_t step) {
  return static_cast<double>(ns) / static_cast<double>(most(most(work, step), 1));
}

} // namespace

void SliceInvestment::begin(Phase phase) {
  phase_ = phase;
  period_ = {};
}

void SliceInvestment::spent(uint64_t ns) {
  cost_ += ns;
  since_trial_ += ns;
  since_look_ += ns;
  period_.cost += ns;
}

/// The present period shows less than one in `times` of the other's pace, and is no accident of a few steps.
bool SliceInvestment::clearly_slower(const Period &other, double times) const {
  if (period_.ns < kLeast || other.ns == 0) return false;
  const double expected = static_cast<double>(period_.ns) / static_cast<double>(other.ns);
  return expected * static_cast<double>(other.steps) >= 4 &&
         times * static_cast<double>(period_.work) < expected * static_cast<double>(other.work);
}

/// What it has asked for of late is less than it has cost, however long the program would have waited for it. Nothing needs to be
/// compared then.
bool SliceInvestment::asks_for_nothing() {
  if (since_look_ < kLook) return false;
  const bool nothing = saturating_mul(asked_, kWait) < since_look_;
  asked_ = since_look_ = 0;
  return nothing;
}

void SliceInvestment::went(const Progress &p, uint64_t now) {
  period_.add(p);
  if (runs()) work_ += p.work;
  if (runs() && asks_for_nothing()) {
    with_ = period_;
    return switch_off(now, kLeastRest);
  }
  switch (phase_) {
  case kRunning:
    if (since_trial_ < trial_at_) break;
    if (put_off_ || saturating_mul(foreseen_, kWait) < saturating_mul(4, since_trial_)) begin(kWith);
    else put_off_ = true, trial_at_ = most(kPutOff, trial_at_ + kNextTrial);
    break;
  case kWith:
    if (!period_.full()) break;
    with_ = period_;
    begin(kDraining);
    break;
  case kDraining:
    if (!p.covered) begin(kWithout);
    break;
  case kWithout:
    if (!clearly_slower(with_, kTransient)) {
      if (!period_.full()) break;
      const uint64_t step = step_of(with_, period_);
      if (!settled_ &&
          covers_cost(gain(with_, period_, step), with_, step)) { // perhaps only until the streams of faults are there
        settled_ = true;
        begin(kWithout);
        break;
      }
    }
    settled_ = false;
    without_ = period_;
    judge(with_, without_, now);
    break;
  case kOff: rest(p, now); break;
  case kWarming:
    if (period_.ns >= kSettle) begin(kAgain);
    break;
  case kAgain:
    if (!period_.full() && !clearly_slower(without_, kSlower)) break;
    judge(period_, without_, now);
    break;
  }
}

/// It is off. The last whole period is what it will be compared to.
void SliceInvestment::rest(const Progress &p, uint64_t now) {
  const uint64_t rested = now - least(now, off_since_);
  const bool slower = rested >= kLeastRest && clearly_slower(with_, kSlower);
  if (period_.full() || slower) {
    without_ = period_;
    period_ = {};
  }
  if ((rested >= rest_ || slower) && p.may_begin) begin(kWarming);
}

/// What the slice brings for each iteration. Where a period ended early, it is clear which of the two is slower, and not by how
/// much: twice as slow is taken then, which is less than it was.
double SliceInvestment::gain(const Period &with, const Period &without, uint64_t step) {
  const double one = each(with.ns, with.work, step), other = each(without.ns, without.work, step);
  if (with.full() && without.full()) return other - one;
  return other > one ? one : -other;
}

uint64_t SliceInvestment::step_of(const Period &with, const Period &without) {
  return most(with.work / most(with.steps, 1), without.work / most(without.steps, 1));
}

bool SliceInvestment::covers_cost(double gain, const Period &with, uint64_t step) {
  return gain * static_cast<double>(kDear) >= each(with.cost, with.work, step);
}

bool SliceInvestment::pays(const Period &with, const Period &without, uint64_t step) const {
  if (covers_cost(gain_, with, step)) return true;
  const bool much_slower = 4 * each(with.ns, with.work, step) > 5 * each(without.ns, without.work, step);
  return !much_slower && saturating_mul(foreseen_, kWait) >= saturating_mul(2, since_trial_);
}

void SliceInvestment::judge(const Period &with, const Period &without, uint64_t now) {
  ++trials_;
  const uint64_t step = step_of(with, without);
  gain_ = gain(with, without, step);
  saved_ += gain_ * static_cast<double>(work_);
  work_ = 0;
  const bool good = pays(with, without, step);
  if (!good && phase_ == kWithout && !doubted_) { // it may be the nest that has changed meanwhile
    doubted_ = true;
    return begin(kWith);
  }
  if (!good) return switch_off(now, kFirstRest);
  doubted_ = false;
  since_trial_ = foreseen_ = 0;
  with_ = with;
  trial_at_ = ++passed_ > 1 ? least(4 * trial_at_, kMostTrial) : kNextTrial;
  begin(kRunning);
}

/// `rest`: at least, in which it rests for the first time.
void SliceInvestment::switch_off(uint64_t now, uint64_t rest) {
  rest_ = most(switched_off_++ > 0 ? least(2 * rest_, kMostRest) : 0, rest);
  off_since_ = now;
  put_off_ = false;
  trial_at_ = kFirstTrial;
  passed_ = 0;
  doubted_ = false;
  since_trial_ = foreseen_ = asked_ = since_look_ = 0;
  begin(kOff);
}

int64_t SliceInvestment::saved() const { return static_cast<int64_t>(saved_ + gain_ * static_cast<double>(work_)); }

} // namespace pagecast::core
