// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An array of disks, as the thesis simulates it: any number of requests proceed in parallel, each takes the
// latency. With a bandwidth, transfers queue behind each other as well.
#pragma once
#include <cstdint>

namespace pagecast::simulator {

class Disk {
public:
  /// `latency`: cycles. `bandwidth`: bytes per cycle; 0 = unlimited.
  Disk(uint64_t latency, double bandwidth) : latency_(latency), bandwidth_(bandwidth) {}

  /// A request of `bytes` at time `now`; returns when its data are in memory. `now` never falls.
  uint64_t request(uint64_t now, uint64_t bytes);

  uint64_t requests() const { return requests_; }
  uint64_t bytes() const { return bytes_; }

private:
  uint64_t latency_;
  double bandwidth_;
  uint64_t free_at_ = 0; ///< when the transfers queued so far are done
  uint64_t requests_ = 0, bytes_ = 0;
};

} // namespace pagecast::simulator
