// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/cleaning.h"
#include "core/arithmetic.h"

namespace pagecast::core {
namespace {
/// More than this part of a processor: it computes.
constexpr uint64_t kComputingPart = 4;
/// Pause after a batch of what is not urgent, in times that it took.
constexpr uint64_t kFarPause = 7;
} // namespace

void Cleaning::start(Cluster *clusters) {
  *this = Cleaning();
  clusters_ = clusters;
}

void Cleaning::restart(uint64_t next) {
  next_ns_ = next;
  begins_ = true;
  rest_ns_ = kLongNs;
}

void Cleaning::disturbed(uint64_t now) {
  sampled_ns_ = 0;
  pace_ = Pace::kUnknown;
  restart(now + kQuietNs);
}

void Cleaning::gave_back(uint64_t now) {
  if (next_ns_ != kNever) restart(sampled_ns_ ? least(next_ns_, now) : next_ns_);
}

/// It returns false while it is not known yet what the program does.
bool Cleaning::sample(const Seen &s) {
  if (sampled_ns_ && s.now - sampled_ns_ >= kSampleNs)
    pace_ = s.cpu_ns - sampled_cpu_ns_ < (s.now - sampled_ns_) / kComputingPart ? Pace::kRests : Pace::kComputes;
  else if (sampled_ns_) return pace_ != Pace::kUnknown;
  sampled_ns_ = most(s.now, 1);
  sampled_cpu_ns_ = s.cpu_ns;
  return pace_ != Pace::kUnknown;
}

uint32_t Cleaning::wanted(const Seen &s) {
  if (!sample(s)) {
    next_ns_ = s.now + kSampleNs;
    return 0;
  }
  if (pace_ == Pace::kComputes && s.in_nest) {
    ran_out(s.now);
    return 0;
  }
  const uint32_t clean = begins_ ? 0 : s.clean;
  far_ = pace_ == Pace::kComputes || clean >= s.near;
  const uint32_t want = pace_ == Pace::kRests && far_ ? s.far : s.near;
  if (want > clean) return want;
  ran_out(s.now);
  return 0;
}

bool Cleaning::begins() {
  const bool now = begins_;
  begins_ = false;
  return now;
}

void Cleaning::done(uint64_t now) {
  const uint64_t took = now - began_ns_;
  began_ns_ = 0;
  if (next_ns_ <= now) next_ns_ = now + (far_ ? took * kFarPause : 0);
}

void Cleaning::ran_out(uint64_t now) {
  next_ns_ = now + rest_ns_;
  rest_ns_ = least(rest_ns_ * 2, kMostRestNs);
  begins_ = true;
}

bool Cleaning::may_clean(uint32_t slot, uint64_t now) const {
  const Cluster &b = clusters_[slot / kClusterPages];
  return b.cleaned || b.wait == 0 || since(b, now) >= wait_ns(b.wait);
}

void Cleaning::cleaned(uint32_t slot, uint64_t now) {
  Cluster &b = clusters_[slot / kClusterPages];
  b.since = ticks(now);
  b.cleaned = 1;
}

void Cleaning::stored(uint32_t slot, uint64_t now) {
  Cluster &b = clusters_[slot / kClusterPages];
  if (!b.cleaned) return;
  if (since(b, now) < 2 * most(wait_ns(b.wait), kLongNs)) b.wait = least(b.wait + 1, kMostWaits);
  else if (b.wait) --b.wait;
  b.since = ticks(now);
  b.cleaned = 0;
}

} // namespace pagecast::core
