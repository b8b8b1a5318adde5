// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process's descriptors as /proc tells them.
#pragma once
#include "speculate/shared/order.h"
#include <sys/types.h>

namespace pagecast::speculate {

struct Descriptors {
  unsigned count = 0;
  bool own_io = false; ///< it has an io_uring or a userfaultfd: it overlaps its reads itself, or handles its faults
  DescriptorOrder order[kMaxDescriptors];
};

/// Whether the process has an io_uring or a userfaultfd among its first few thousand descriptors.
bool has_own_io(pid_t process);

/// Where the files of `process` stand: read while it is stopped, since the clone shares them. Only the first ones.
struct Positions {
  static constexpr unsigned kMost = 24;
  unsigned count = 0;
  int number[kMost];
  int64_t position[kMost];
  void read(pid_t process);
};

/// Lists what the clone has; at most kMaxDescriptors, by ascending number. False: it cannot be read.
bool list_descriptors(pid_t clone, const Positions &positions, Descriptors *to);

} // namespace pagecast::speculate
