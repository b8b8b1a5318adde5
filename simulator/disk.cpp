// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/disk.h"
#include <algorithm>
#include <cmath>

namespace pagecast::simulator {

uint64_t Disk::request(uint64_t now, uint64_t bytes) {
  ++requests_;
  bytes_ += bytes;
  if (bandwidth_ <= 0) return now + latency_;
  free_at_ = std::max(free_at_, now) + uint64_t(std::ceil(double(bytes) / bandwidth_));
  return free_at_ + latency_;
}

} // namespace pagecast::simulator
