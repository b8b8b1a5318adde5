// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many bytes a program uses at each place of a file that it goes through at an even distance: of a panel of a matrix, so many
// of each row. They may go over into the next page at some places and not at others, and what is asked for in vain costs as much
// as what is not.
//
//   page            |               |               |
//   places, bytes     *****       *****       ****|*          faults at the last place: on its page, and on the next one
//
// A fault at the beginning of a page that lies behind a place says that there are more bytes than up to there. Where places lie
// differently in their pages, the largest of these distances is soon what there are.
//
// Faults of other streams lie behind a place, too. So a distance counts if one place in kFew has it, or one less than 512 bytes off,
// and if those before it go on without a gap of more than a page.
//
// Cost: O(1), and O(kMost / kPart) each kEnough places. Not thread-safe.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

namespace pagecast::core {

class PlaceBytes {
public:
  static constexpr uint64_t kMost = 1 << 15; ///< bytes
  static constexpr uint32_t kEnough = 256, kFew = 16; ///< places

  /// The program came to a place.
  void came() {
    if (++places_ == kEnough) judge();
  }
  /// It came to a page that begins `bytes` behind a place. Ignored if it is kMost or more.
  void behind(uint64_t bytes) {
    if (bytes >= kMost) return;
    Part &p = part_[bytes / kPart];
    ++p.places;
    p.most = std::max(p.most, bytes);
  }
  /// That a place has, as far as is known; at least 1.
  uint64_t bytes() const { return bytes_; }
  void forget() { *this = {}; }

private:
  static constexpr uint64_t kPart = 512, kGap = 4096; ///< bytes
  struct Part {
    uint32_t places = 0;
    uint64_t most = 0;
  };

  /// What is known stays: where more is asked for, the kernel maps it with the page before, and no fault tells of it.
  void judge() {
    for (const Part &p : part_)
      if (p.places * kFew >= places_ && p.most >= bytes_ && p.most - bytes_ < kGap) bytes_ = p.most + 1;
    part_ = {};
    places_ = 0;
  }

  std::array<Part, kMost / kPart> part_ = {};
  uint32_t places_ = 0;
  uint64_t bytes_ = 1;
};

} // namespace pagecast::core
