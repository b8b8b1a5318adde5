// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/distance.h"
#include "core/arithmetic.h"

namespace pagecast::core {

namespace {

constexpr uint64_t kMaxSteps = uint64_t{1} << 20;
constexpr int kMaxBoost = 10, kMinBoost = -4;
constexpr int kCrowdedBoost = -2;  // a quarter of the queue still gives the disk work
constexpr int kPatience = 2;       // doublings without effect before they are taken back
constexpr uint64_t kLeastTurnover = 8; // steps
constexpr uint64_t kRareLates = 8; // one request in so many may be late
constexpr int kQuietTurnovers = 4;    // without lates, until a doubling is taken back
constexpr uint64_t kAheadShare = 4;     // of the budget, the part that may be ahead of the program
constexpr uint64_t kWastedShare = 8;    // of what is in flight, the part that may be given up unused, or crowd others out
constexpr uint64_t kBatchShare = 4;     // of the distance, the part that is fetched at a time
constexpr uint64_t kLatencyRise = 64;   // a greater latency counts for this part of the difference

} // namespace

void Distance::start(const Plan &plan, const Conditions &c, uint64_t now_ns) {
  *this = Distance();
  latency_ = c.latency_ns;
  last_ns_ = now_ns;
  limit(plan, c);
}

void Distance::limit(const Plan &plan, const Conditions &c) {
  fixed_ = c.fixed_distance;
  page_ = c.page;
  max_io_ = most(c.max_io, c.page);
  step_bytes_ = plan.step_bytes;
  queue_known_ = c.queue_bytes > 0;
  batch_steps_ = plan.batch_steps;
  floor_ = step_bytes_ ? most(1, least(kMaxSteps, divide_up(c.queue_bytes, step_bytes_))) : 1;
  fit(c.budget);
}

void Distance::budget(uint64_t bytes) {
  if (bytes != budget_) fit(bytes);
}

void Distance::fit(uint64_t budget) {
  budget_ = budget;
  ceiling_ = step_bytes_ ? most(1, least(kMaxSteps, budget / kAheadShare / step_bytes_)) : kMaxSteps;
  compute();
}

void Distance::observe(uint64_t step, uint64_t now_ns) {
  if (step <= last_step_ || now_ns <= last_ns_) return;
  const uint64_t each = least((now_ns - last_ns_) / (step - last_step_), uint64_t{1} << 50) * 16;
  step_ns_ = step_ns_ ? step_ns_ - step_ns_ / 4 + each / 4 : each;
  last_step_ = step;
  last_ns_ = now_ns;
  if (step - turnover_step_ >= most(steps_, kLeastTurnover)) adapt(step);
  compute();
}

void Distance::measured(uint64_t latency_ns) {
  latency_ns = least(latency_ns, uint64_t{1} << 50);
  // The least that was measured lately, rising slowly: what is above it is the queue that we build ourselves.
  if (latency_ == 0 || latency_ns < latency_) latency_ = latency_ns;
  else latency_ += (latency_ns - latency_) / kLatencyRise;
  compute();
}

void Distance::adapt(uint64_t step) {
  const uint64_t rate = saturating_mul(lates_, 1024) / (step - turnover_step_);
  const uint64_t requests = saturating_mul(step - turnover_step_, step_bytes_) / max_io_;
  const uint64_t in_flight = saturating_mul(steps_, step_bytes_) / page_;
  if (unused_ > in_flight / kWastedShare) {
    if (boost_ > kMinBoost) --boost_;
    useless_ = 0;
    growing_ = false; // memory is the limit: lates will not be cured by more prefetches
  } else if (crowded_ > in_flight / kWastedShare) {
    if (boost_ > kCrowdedBoost) --boost_;
    rate_before_ = 0;
  } else if (lates_ <= requests / kRareLates || !settled_) {
    useless_ = 0;
    growing_ = true;
    rate_before_ = 0;
    if (boost_ > 0 && ++quiet_ >= kQuietTurnovers) {
      --boost_;
      quiet_ = 0;
    }
  } else if (growing_) {
    quiet_ = 0;
    const bool helped = rate_before_ == 0 || rate < rate_before_ - rate_before_ / 4;
    useless_ = helped ? 0 : useless_ + 1;
    if (useless_ >= kPatience) {
      boost_ -= useless_;
      if (boost_ < kMinBoost) boost_ = kMinBoost;
      useless_ = 0;
      growing_ = false;
    } else if (boost_ < kMaxBoost && steps_ + batch_ < ceiling_) {
      ++boost_;
      rate_before_ = most(rate, 1);
    }
  }
  settled_ = true;
  turnover_step_ = step;
  lates_ = 0;
  unused_ = 0;
  crowded_ = 0;
}

void Distance::compute() {
  uint64_t d = floor_;
  if (step_ns_) {
    const uint64_t hide = divide_up(saturating_mul(latency_, 16), step_ns_);
    d = most(d, queue_known_ ? least(hide, saturating_mul(floor_, 2)) : hide);
  }
  d = least(d, kMaxSteps);
  d = boost_ >= 0 ? d << boost_ : d >> -boost_;
  d = most(1, least(d, ceiling_));
  if (fixed_) d = least(fixed_, uint64_t{1} << 40);
  // A batch is a large request or a quarter of the distance, and comes on top of it; both stay within the
  // limit.
  batch_ = least(most(batch_steps_, d / kBatchShare), kMaxSteps);
  if (!fixed_) {
    batch_ = most(1, least(batch_, ceiling_ / 2));
    d = most(1, least(d, ceiling_ - least(ceiling_ - 1, batch_)));
  }
  steps_ = d;
}

} // namespace pagecast::core
