// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backing store: one unlinked, sparse file, opened for direct I/O. A page's place is its slot.
#pragma once
#include <cstdint>

namespace pagecast {

class Backing {
public:
  /// Opens it in `directory` (NULL: $TMPDIR, then /var/tmp). On failure returns -errno and `why` holds a
  /// sentence. `need` bytes must be free, else -ENOSPC.
  int start(const char *directory, uint64_t need, char *why, unsigned capacity);
  int fd() const { return fd_; }
  /// What start() makes of the option.
  static const char *directory(const char *given);
  /// Whether all of [offset, offset+bytes) was reserved before.
  bool reserved(uint64_t offset, uint64_t bytes) const;
  /// Makes sure that [offset, offset+bytes) can be written without running out of space. 0 or -errno.
  /// Cost: nothing when it was reserved before, about 0.1 ms per extent otherwise, and as long as the disk stalls.
  int reserve(uint64_t offset, uint64_t bytes);
  /// Room is reserved in extents of so many bytes.
  static constexpr uint64_t kExtent = 16u << 20;
  /// Whether extent number `e` was reserved.
  bool has_extent(uint64_t e) const { return e / 64 < reserved_words_ && (reserved_[e / 64] >> (e % 64) & 1); }
  /// Somebody else (preallocation.h) has reserved it.
  void note_extent(uint64_t e) { reserved_[e / 64] |= 1ull << (e % 64); }
  /// Extents beyond this one cannot be.
  uint64_t most_extents() const { return reserved_words_ * 64; }
  /// Closes it; start() may follow.
  void stop();

private:
  int fd_ = -1;
  uint64_t reserved_words_ = 0;
  uint64_t *reserved_ = nullptr; ///< one bit per extent of the file
};

} // namespace pagecast
