// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that direct reads land in before their pages are installed: a fixed buffer, handed out in runs of
// pages. Pager's thread only.
#pragma once
#include <cstdint>

namespace pagecast {

class Staging {
public:
  /// `bytes`: a multiple of 64 pages. False if the memory cannot be had.
  bool start(uint64_t bytes);
  /// The same in memory that others can map, by fd().
  bool start_shared(uint64_t bytes);
  /// Over memory that is there.
  void start_at(char *base, uint64_t bytes);
  /// In the child of a fork: other memory in the place of what it shares. Nothing is handed out. False if it cannot be had.
  bool renew();
  /// A run of up to `want` pages, as long as there is (runs end at the hand); returns its length, 0 when full. Cost: O(pages / 64).
  uint32_t take(uint32_t want, uint32_t *first);
  void give(uint32_t first, uint32_t pages);

  char *address(uint32_t page) const { return base_ + (static_cast<uint64_t>(page) << shift_); }
  uint32_t free_pages() const { return free_; }
  uint32_t pages() const { return pages_; }
  char *base() const { return base_; }
  int fd() const { return fd_; } ///< -1: it is not shared
  uint64_t bytes() const { return static_cast<uint64_t>(pages_) << shift_; }

private:
  static constexpr uint32_t kWords = 256; ///< 64 MiB with 4 KiB pages
  char *base_ = nullptr;
  int fd_ = -1;
  uint32_t pages_ = 0, free_ = 0, hand_ = 0;
  unsigned shift_ = 12;
  uint64_t used_[kWords] = {}; ///< bit = page in use
};

} // namespace pagecast
