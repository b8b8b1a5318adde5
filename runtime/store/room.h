// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which parts of a file in a store have room for data, in extents. Pager's thread only.
#pragma once
#include <cstdint>

namespace pagecast {

class Room {
public:
  /// Room is reserved in extents of so many bytes.
  static constexpr uint64_t kExtent = 16u << 20;
  /// Address space for the map; no extent is reserved then. `most_bytes`: that the file may ever have. 0 or -ENOMEM.
  int start_room(uint64_t most_bytes = ~uint64_t{0});
  void stop_room();
  /// Whether all of [offset, offset+bytes) was reserved before.
  bool reserved(uint64_t offset, uint64_t bytes) const {
    for (uint64_t e = offset / kExtent; e * kExtent < offset + bytes; ++e)
      if (!has_extent(e)) return false;
    return true;
  }
  /// Whether extent number `e` was reserved.
  bool has_extent(uint64_t e) const { return e / 64 < reserved_words_ && (reserved_[e / 64] >> (e % 64) & 1); }
  /// It has been.
  void note_extent(uint64_t e) { reserved_[e / 64] |= 1ull << (e % 64); }
  /// Extents beyond this one cannot be.
  uint64_t most_extents() const { return most_extents_; }

private:
  uint64_t reserved_words_ = 0, most_extents_ = 0;
  uint64_t *reserved_ = nullptr; ///< one bit per extent of the file
};

} // namespace pagecast
