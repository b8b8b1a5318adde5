// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iterations that touch places in ascending order: rows of a list that was made in order, numbers made from a counter by shifts
// and masks. Few of them need to be run. Where two of them touch the same page, or one and the next, so do those between.
//
// Example, of every fourth iteration, with places of 1000 bytes and a jump: iterations 0, 4, 8 touch 0, 4000, and 40000. The
// ones between 0 and 4 need not be run; 5, 6, and 7 are.
#include "runtime/slices/machine.h"

#include <algorithm>
#include <cstring>

namespace pagecast {

bool slice_can_sample(const pagecast_nest &nest) {
  const pagecast_slice &s = *nest.slice;
  bool touches = false;
  for (unsigned i = 0; i < s.ops; ++i) {
    const pagecast_op &op = s.op[i];
    if (op.code == PAGECAST_OP_TOUCH && op.c == PAGECAST_NONE) touches = true;
    else if (!slice_computes(op) || op.code == PAGECAST_OP_PREVIOUS) return false;
  }
  return touches && s.loops == 0;
}

/// Notes which of the places that all lanes touch lie apart. Lanes that are dead touch nobody knows what.
void SliceMachine::watch(const uint64_t *address) {
  in_order_ &= alive_count_ == lanes_;
  bool back = false;
  for (unsigned l = 1; l < lanes_; ++l) {
    back |= address[l] < address[l - 1];
    far_[l] |= address[l] - address[l - 1] > page_;
  }
  in_order_ &= !back;
}

/// Each batch begins with the iteration that the one before it ended with, so that nothing between them is left out. Those within
/// are not at even distances: what comes round every so many iterations would look as if it stood still.
SliceMachine::Flow SliceMachine::sampled_loop(unsigned end, uint64_t first, uint64_t count, uint64_t every) {
  constexpr uint64_t kOdd = 37;
  uint64_t at[kLanes];
  uint8_t far[kLanes];
  for (uint64_t i = 0; i < count;) {
    const uint64_t left = count - 1 - i;
    const auto n = static_cast<unsigned>(std::min<uint64_t>(kLanes, (left + every - 1) / every + 1));
    for (unsigned l = 0; l < n; ++l)
      at[l] = first + i + std::min<uint64_t>(l * every + (l > 0 && l + 1 < n ? l * kOdd % every : 0), left);
    lanes_ = alive_count_ = n;
    if (!spend(n)) return Flow::kTired;
    std::copy_n(at, n, v_[0]);
    std::memset(far_, 0, n);
    watching_ = true;
    Flow flow = vector_body(0, end);
    watching_ = false;
    if (flow >= Flow::kRefused) return flow;
    if (!in_order_) return Flow::kOn; // who called runs all of them
    std::copy_n(far_, n, far);
    for (unsigned l = 1; l < n; ++l) {
      if (!far[l]) continue;
      flow = vector_loop(0, end, PAGECAST_VECTOR, at[l - 1] + 1, at[l] - at[l - 1] - 1);
      if (flow >= Flow::kRefused) return flow;
    }
    i = at[n - 1] == first + count - 1 ? count : at[n - 1] - first;
  }
  return Flow::kOn;
}

} // namespace pagecast
