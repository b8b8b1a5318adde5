// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file in a directory: unlinked, sparse, opened for direct I/O. A page's place is its slot.
#pragma once
#include "runtime/store/store.h"

#include <cstdint>

namespace pagecast {

class Backing : public Room {
public:
  /// Opens it in `directory` (NULL: $TMPDIR, then /var/tmp). On failure returns -errno and `why` holds a
  /// sentence. `need` bytes must be free, else -ENOSPC; and a file may be as long as an extent at least, else -EFBIG.
  int start(const char *directory, uint64_t need, char *why, unsigned capacity);
  int fd() const { return fd_; }
  /// What start() makes of the option.
  static const char *directory(const char *given);
  /// Makes sure that [offset, offset+bytes) can be written without running out of space. 0 or -errno.
  /// Cost: nothing when it was reserved before, about 0.1 ms per extent otherwise, and as long as the disk stalls.
  int reserve(uint64_t offset, uint64_t bytes);
  /// Closes it; start() may follow.
  void stop();

private:
  int fd_ = -1;
};

} // namespace pagecast
