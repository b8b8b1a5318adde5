// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernel reads around the misses of a mapped file, where no hint foresees them: megabytes on many machines. A
// program that goes through the file uses them; one that looks up keys, or sorts by an index, uses one page of each
// read, and loses as many others that it would have come back to.
//
// Judged by samples of 64 pages, of which it is known some time apart which pages were in memory, and which the
// program has in its page table. Of pages that have come since
//
//   not an eighth was touched, while as many have gone   the file is read in no order: a miss should read its page alone
//   and so it is, but samples have come whole            it is gone through again: reading around pays
//
// Where pages stay, everything is in memory soon, and large reads are the best way there. No system call, no clock.
#pragma once
#include <cstdint>

namespace pagecast::core {

class ReadAround {
public:
  static constexpr unsigned kSamplePages = 64;      ///< pages
  static constexpr uint64_t kEnough = 512;     ///< pages that have come, until there is a verdict
  static constexpr uint64_t kEnoughSamples = 16; ///< samples that pages have come to: the same where misses read alone

  enum class Verdict { kGoOn, kAlone, kAround };

  /// One sample, a bit for each page: in memory at the last look and at this one, and in the page table now.
  void look(uint64_t before, uint64_t now, uint64_t touched);
  /// `alone`: what is told the kernel now. A verdict begins a new count.
  Verdict verdict(bool alone);
  void forget() { *this = {}; }

private:
  uint64_t come_ = 0, used_ = 0, gone_ = 0; ///< pages
  uint64_t samples_ = 0, whole_ = 0;        ///< that pages have come to
};

} // namespace pagecast::core
