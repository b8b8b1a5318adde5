// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process's mappings as /proc tells them: where instructions may be put, and what is shared with others.
// No allocation: one buffer for the text, which lives as long as the object.
#pragma once
#include "speculate/shared/order.h"
#include <cstdint>
#include <sys/types.h>

namespace pagecast::speculate {

class MemoryMap {
public:
  /// Reads it anew. False: the process is gone or not ours to look at, or there are too many mappings.
  bool read(pid_t process);

  /// An address with `bytes` zeros behind it that are executable and of no use to the program; 0 = none.
  uint64_t find_zeros(pid_t process, unsigned bytes) const;
  /// Lists mappings that are shared with others. False: more than `capacity`.
  bool list_shared(SharedOrder *to, unsigned capacity, unsigned *count) const;
  /// Lists up to `capacity` mappings through which files are read: read-only, and no part of a program or library.
  unsigned list_mapped(SharedOrder *to, unsigned capacity) const;
  uint64_t mapped() const { return mapped_; } ///< bytes

private:
  bool is_code(uint64_t inode) const;

  static constexpr unsigned kText = 1u << 20;
  char text_[kText];
  unsigned length_ = 0;
  uint64_t mapped_ = 0;
};

} // namespace pagecast::speculate
