// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/hand/own_reads.h"
#include "speculate/watch/proc.h"

namespace pagecast::speculate {

uint64_t bytes_read_by_this_process() {
  char text[512];
  return read_whole("/proc/self/io", text, sizeof text) ? field(text, "rchar", 0) : 0;
}

} // namespace pagecast::speculate
