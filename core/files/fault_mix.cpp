// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/files/fault_mix.h"

namespace pagecast::core {

void FaultMix::fault(uint64_t place, uint64_t moved, bool foreseen) {
  ++faults_;
  foreseen_ += foreseen;
  const uint64_t within = place % kMapped;
  if (!moved || within < kEdge || within >= kMapped - kEdge) return;
  ++strided_;
  forward_ += moved;
}

FaultMix::Verdict FaultMix::verdict(bool apart, uint64_t elapsed_ns, uint64_t read_bytes) {
  if (faults_ < kEnough || elapsed_ns < kLeastNs) return Verdict::kGoOn;
  const double ns = static_cast<double>(elapsed_ns);
  const bool strided = 2 * strided_ > faults_;
  bool is_better = strided;
  double around = around_bytes_per_ns_;
  if (!apart) {
    around = static_cast<double>(read_bytes) / ns;
    is_better &= read_bytes > 0;
  } else {
    // The faults themselves must have been foreseen: a stream that is new with each row waits for each place.
    is_better &= 2 * foreseen_ > faults_ && static_cast<double>(forward_) / ns > around;
  }
  *this = {};
  around_bytes_per_ns_ = around;
  return is_better ? Verdict::kApart : Verdict::kAround;
}

} // namespace pagecast::core
