// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether what is fetched from a device stays in memory until the program asks for it. Some file systems list a directory anew
// for everyone who opens it, ask for facts each time, or forget a file's data when it is opened: there, hints make the servers
// answer twice, and the program wait for both. So what was fetched first is asked for once more, and how long that took tells.
//
//   not known    one hint of the kind is tried, by asking again
//   kept         it was there once: hints of this kind are carried out
//   in vain      it was not there three times in a row, or clearly not twice: they are dropped from then on
//
// Example: a network's file system lists a directory in 2 ms. Again it takes 2 ms, twice: listings are fetched no more.
//
// Times are arguments, in ns. Not thread-safe.
#pragma once
#include <cstdint>

namespace pagecast::speculate {

class Kept {
public:
  static constexpr unsigned kTries = 3;           ///< a thread that did not run for a moment was slow, too
  static constexpr unsigned kClear = 2;           ///< tries that one stands for which took as long as before
  static constexpr uint64_t kFromMemory = 300000; ///< ns: what takes no longer was in memory
  static constexpr uint64_t kParts = 16;          ///< so much quicker than the first time: it was not the same way

  bool is_known() const { return known_; }
  bool is_in_vain() const { return known_ && !kept_; }
  /// It was asked for twice, and was there the second time or not. `clearly` not: it took as long again.
  void saw(bool there, bool clearly = false) {
    if (known_) return;
    if (there) known_ = kept_ = true;
    else known_ = (misses_ += clearly ? kClear : 1) >= kTries;
  }
  static bool is_from_memory(uint64_t first, uint64_t again) { return again <= kFromMemory || again * kParts <= first; }
  static bool is_clearly_not(uint64_t first, uint64_t again) { return again > 2 * kFromMemory && again * 2 >= first; }

private:
  bool known_ = false, kept_ = false;
  unsigned misses_ = 0;
};

} // namespace pagecast::speculate
