// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/memory/favour.h"

#include "core/arithmetic.h"

namespace pagecast::core {

Favour::Owner Favour::owner_of(uint64_t thread) {
  if (thread == 0) return kNobody;
  unsigned oldest = favoured_ == 1 ? 1 : 0;
  for (unsigned i = 0; i < kMost; ++i) {
    if (thread_[i].number == thread) {
      thread_[i].seen = ++clock_;
      return static_cast<Owner>(i + 1);
    }
    if (thread_[i].seen < thread_[oldest].seen && !is_favoured(static_cast<Owner>(i + 1))) oldest = i;
  }
  if (thread_[oldest].number && clock_ - thread_[oldest].seen < kUnseen) return kNobody;
  thread_[oldest] = {};
  thread_[oldest].number = thread;
  thread_[oldest].seen = ++clock_;
  return static_cast<Owner>(oldest + 1);
}

void Favour::look(const uint64_t *cpu_ns, uint32_t memory) {
  for (unsigned i = 0; i < kMost; ++i) {
    Thread &t = thread_[i];
    t.done_ns = t.cpu_ns && cpu_ns[i] > t.cpu_ns ? cpu_ns[i] - t.cpu_ns : 0;
    t.cpu_ns = cpu_ns[i];
  }
  if (any()) mind_favoured(memory);
  else if (rest_) --rest_;
  else if (thrashes()) pass_on();
  for (Thread &t : thread_) t.waits = 0;
  gone_ = waits_ = soon_ = 0;
}

/// Pages come back soon after they went, for more threads than one.
bool Favour::thrashes() const {
  unsigned threads = 0;
  for (const Thread &t : thread_) threads += t.waits >= kFewWaits;
  return threads > 1 && soon_ > waits_ / 2;
}

/// Whether the favoured thread gets more done with each wait than the others together.
bool Favour::gets_further() const {
  const Thread &mine = thread_[favoured_ - 1];
  uint64_t done_ns = 0, waits = 1;
  for (const Thread &t : thread_)
    if (&t != &mine) done_ns += t.done_ns, waits += t.waits;
  return mine.done_ns * waits > kFurther * done_ns * (mine.waits + 1);
}

void Favour::mind_favoured(uint32_t memory) {
  const Thread &mine = thread_[favoured_ - 1];
  ++looks_;
  if (waits_ < mine.waits + kFewWaits) { // the others want nothing now
    favoured_ = kNobody;
  } else if (gets_further()) {
    failures_ = 0;
    next_rest_ = kFirstRest;
    brought_ = 0;
    paid_ += !got_further_;
    got_further_ = true;
    if (looks_ >= kMostLooks) pass_on();
  } else if (mine.waits == 0) { // it waits for something else, or has ended
    pass_on();
  } else if (brought_ > memory - memory / 4) { // else it may not have all of its own yet
    if (++failures_ < kFailures) pass_on();
    else rest();
  }
}

/// To another thread, the one that got the furthest with each wait.
void Favour::pass_on() {
  const Owner before = favoured_;
  favoured_ = kNobody;
  uint64_t best = 0;
  for (unsigned i = 0; i < kMost; ++i) {
    const Thread &t = thread_[i];
    const uint64_t far = t.done_ns / (t.waits + 1);
    if (i + 1u == before || t.waits < kFewWaits || far < best) continue;
    best = far;
    favoured_ = static_cast<Owner>(i + 1);
  }
  turns_ += any();
  looks_ = brought_ = 0;
  got_further_ = false;
}

void Favour::rest() {
  favoured_ = kNobody;
  failures_ = 0;
  rest_ = next_rest_;
  next_rest_ = least(2 * next_rest_, kMostRest);
}

} // namespace pagecast::core
