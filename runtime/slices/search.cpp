// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slice machine's searches: what a loop does that ends when it has found something. All iterations of a batch search
// at once; a lane takes part until its search has ended. While it runs, the lanes that take part are the ones that are alive,
// so that loads and hints inside are masked as everywhere else. A lane that dies of a load is dead behind the search, too:
// what it would have found nobody knows. The page is asked for, and the step is run again (repeats.h).
#include "runtime/slices/machine.h"

#include <algorithm>
#include <cstring>

namespace pagecast {

SliceMachine::Flow SliceMachine::scalar_search(unsigned number) {
  const pagecast_op &op = op_[number];
  if (op.c != PAGECAST_NONE && !scalar(op.c)) return Flow::kOn;
  for (uint64_t step = 0; step < PAGECAST_SEARCH_STEPS; ++step) {
    if (!spend(1)) return Flow::kTired;
    if (op.to != PAGECAST_NONE) s_[op.to] = step;
    const Flow flow = scalar_body(number + 1, op.extra);
    if (flow == Flow::kFound) return Flow::kOn;
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kLeave;
}

SliceMachine::Flow SliceMachine::vector_search(unsigned number) {
  const pagecast_op &op = op_[number];
  uint8_t found[kLanes], before[kLanes];
  if (alive_count_ == lanes_) std::memset(alive_, 1, lanes_);
  std::memcpy(before, alive_, lanes_);
  std::memset(found, 0, lanes_);
  uint8_t *const around = found_;
  found_ = found;
  if (op.c != PAGECAST_NONE) {
    const uint64_t *const wanted = lanes(op.c, 2);
    for (unsigned l = 0; l < lanes_; ++l) {
      if (before[l] && !wanted[l]) found[l] = 1, kill(l, number);
    }
  }
  Flow flow = Flow::kOn;
  for (uint64_t step = 0; step < PAGECAST_SEARCH_STEPS && alive_count_ && flow == Flow::kOn; ++step) {
    if (op.to != PAGECAST_NONE) std::fill_n(v_[op.to - PAGECAST_VECTOR], lanes_, step);
    flow = vector_body(number + 1, op.extra);
  }
  found_ = around;
  alive_count_ = 0;
  for (unsigned l = 0; l < lanes_; ++l) {
    if (alive_[l]) ended_[l] = static_cast<uint16_t>(number); // it has taken too long
    alive_count_ += alive_[l] = before[l] & found[l];
  }
  return flow;
}

void SliceMachine::carry_lanes(const pagecast_op &op) {
  uint64_t *const to = v_[op.to - PAGECAST_VECTOR];
  const uint64_t *const from = lanes(op.a, 0);
  if (alive_count_ == lanes_) {
    std::copy_n(from, lanes_, to);
    return;
  }
  for (unsigned l = 0; l < lanes_; ++l) to[l] = alive_[l] ? from[l] : to[l];
}

void SliceMachine::leave_lanes(const pagecast_op &op) {
  const uint64_t *const left = lanes(op.a, 0);
  for (unsigned l = 0; l < lanes_; ++l) {
    if (!left[l] || (alive_count_ != lanes_ && !alive_[l])) continue;
    found_[l] = 1;
    kill(l, 0);
  }
}

} // namespace pagecast
