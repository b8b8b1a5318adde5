// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "speculate/hand/own_reads.h"
#include "speculate/watch/proc.h"

namespace pagecast::speculate {

uint64_t bytes_read_by_this_process() {
  static uint64_t for_this; // reading the number is itself charged; the caller holds a lock
  char text[512];
  const unsigned length = read_whole("/proc/self/io", text, sizeof text);
  const uint64_t read = length ? field(text, "rchar", 0) - for_this : 0;
  for_this += length;
  return read;
}

} // namespace pagecast::speculate
