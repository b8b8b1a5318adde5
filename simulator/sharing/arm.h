// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The disk that `pagecast serve --latency --rate` imitates, in virtual time: one request at a time, which takes the latency and the time
// of its bytes. Reads that wait and follow each other are one request, and writes, too; those that someone waits for come first.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

namespace pagecast::simulator {

class Arm {
public:
  struct Request {
    uint64_t offset, bytes, token;
  };
  static constexpr uint64_t kLargest = 1u << 20; ///< bytes of what becomes one request

  Arm(uint64_t latency, uint64_t rate) : latency_(latency), rate_(rate) {}

  void read(const Request &r, bool is_waited_for) { (is_waited_for ? waited_for_ : foretold_).push_back(r); }
  void write(const Request &r) { writes_.push_back(r); }
  /// Someone waits for what was foretold.
  void hurry(uint64_t token);

  /// The next request: what it is made of; empty: nothing waits. Reads and writes take turns.
  std::vector<Request> take(bool *is_write);
  uint64_t micros(const std::vector<Request> &run) const {
    const uint64_t bytes = run.back().offset + run.back().bytes - run.front().offset;
    return latency_ + (rate_ ? bytes * 1'000'000 / rate_ : 0);
  }
  uint64_t reads() const { return reads_; }
  uint64_t writes() const { return writes_made_; }

private:
  static bool take_neighbour(std::deque<Request> *from, std::vector<Request> *run);

  uint64_t latency_, rate_, reads_ = 0, writes_made_ = 0;
  std::deque<Request> waited_for_, foretold_, writes_;
  bool was_read_ = false;
};

} // namespace pagecast::simulator
