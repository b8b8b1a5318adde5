// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/outstanding.h"
#include <algorithm>

namespace pagecast::simulator {

void Outstanding::change(uint64_t now, int64_t by) {
  value_ += uint64_t(by);
  if (!samples_.empty() && samples_.back().cycle == now) samples_.back().outstanding = value_;
  else samples_.push_back({now, value_});
}

void Outstanding::add(uint64_t now) {
  change(now, 1);
  last_add_ = now;
}

void Outstanding::remove(uint64_t now) { change(now, -1); }

void Outstanding::stalled(uint64_t until) { first_stall_ = std::min(first_stall_, until); }

void Outstanding::finish(Report *r) const {
  const uint64_t begin = first_stall_ == ~uint64_t{0} ? 0 : first_stall_, end = last_add_;
  double area = 0;
  bool any = false;
  for (size_t i = 0; i < samples_.size(); ++i) {
    const uint64_t from = std::max(samples_[i].cycle, begin);
    const uint64_t to = std::min(i + 1 < samples_.size() ? samples_[i + 1].cycle : end, end);
    if (from >= to) continue;
    const uint64_t v = samples_[i].outstanding;
    r->steady_min = any ? std::min(r->steady_min, v) : v;
    r->steady_max = std::max(r->steady_max, v);
    area += double(v) * double(to - from);
    any = true;
  }
  if (end > begin) r->steady_mean = area / double(end - begin);
  if (keep_) r->timeline = samples_;
}

} // namespace pagecast::simulator
