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
  /// Takes the memory of so many pages from now on, at most whole_pages(). To give some back, none may be handed out; what comes to it
  /// is there at once. Not of memory that is shared. Cost: 0.3 us a page.
  void resize(uint32_t pages);
  bool can_resize() const { return owned_; }
  /// The most that were handed out at once since begin_look(), and whether there were fewer than somebody wanted.
  uint32_t most_taken() const { return most_taken_; }
  bool lacked() const { return lacked_; }
  void begin_look() { most_taken_ = in_use(), lacked_ = false; }

  char *address(uint32_t page) const { return base_ + (static_cast<uint64_t>(page) << shift_); }
  uint32_t free_pages() const { return free_; }
  uint32_t in_use() const { return pages_ - free_; }
  uint32_t pages() const { return pages_; }
  uint32_t whole_pages() const { return whole_pages_; }
  char *base() const { return base_; }
  int fd() const { return fd_; } ///< -1: it is not shared
  uint64_t bytes() const { return static_cast<uint64_t>(pages_) << shift_; }
  uint64_t whole_bytes() const { return static_cast<uint64_t>(whole_pages_) << shift_; }

private:
  static constexpr uint32_t kWords = 256; ///< 64 MiB with 4 KiB pages
  char *base_ = nullptr;
  int fd_ = -1;
  bool owned_ = false; ///< private memory that was made here
  uint32_t whole_pages_ = 0, pages_ = 0, free_ = 0, hand_ = 0;
  uint32_t most_taken_ = 0;
  bool lacked_ = false;
  unsigned shift_ = 12;
  uint64_t used_[kWords] = {}; ///< bit = page in use
};

} // namespace pagecast
