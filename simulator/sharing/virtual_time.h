// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Virtual time, in microseconds, for what happens by events: a clock, and processors that all share.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace pagecast::simulator {

using Then = std::function<void()>;

/// Events in the order of their times.
class Clock {
public:
  uint64_t now() const { return now_; }
  void at(uint64_t time, Then then) { events_.push({std::max(time, now_), number_++, std::move(then)}); }
  void run() {
    while (!events_.empty()) {
      Event next = events_.top();
      events_.pop();
      now_ = next.time;
      next.then();
    }
  }

private:
  struct Event {
    uint64_t time, number;
    Then then;
    bool operator<(const Event &e) const { return std::pair(time, number) > std::pair(e.time, e.number); }
  };
  std::priority_queue<Event> events_;
  uint64_t now_ = 0, number_ = 0;
};

/// Processors that all share: first come, first served.
class Processors {
public:
  Processors(Clock &clock, uint32_t count) : clock_(clock), free_at_(count) {}
  void work(uint64_t micros, Then then) {
    uint64_t &first = *std::min_element(free_at_.begin(), free_at_.end());
    first = std::max(first, clock_.now()) + micros;
    clock_.at(first, std::move(then));
  }

private:
  Clock &clock_;
  std::vector<uint64_t> free_at_;
};

} // namespace pagecast::simulator
