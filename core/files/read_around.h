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
// Where pages stay, everything is in memory soon, and large reads are the best way there.
//
// FaultMix below judges the same of files that are gone through at an even distance. No system call, no clock.
#pragma once
#include <cstdint>

namespace pagecast::core {

// --- files that are read in no order ------------------------------------------------------------

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

// --- files that are gone through at an even distance ---------------------------------------------
//
// Whether the kernel should read around the misses of a mapped file that is gone through at an even distance: down a column,
// or down the panels of a matrix. Reading around brings all that lies between, once for each column; reading apart brings
// the places alone, which are then foreseen (fault_streams.h) and asked for many at a time.
//
// Which is better depends on the distance and on the disk, so it is measured. Both bring the program forward by a number of
// bytes of the file in a second:
//
//   around   what was read: all that the program goes past
//   apart    faults times the distance from one to the next
//
// Example: rows of 24 KB, of each of which a page is wanted. A disk that reads 1 GB/s and 60,000 pages apart brings the program
// forward by 1.0 and by 1.44 GB/s: apart. With rows of 8 KB it is 0.48: around.
//
// A way that was tried and was slower is tried again after twice as many verdicts each time: trying it costs.
//
// Where pages are read around a miss, the kernel maps what is there in stretches of 64 KiB, so that a program that goes through in
// order faults at an even distance, too: at the edges of stretches. These do not count. No system call, no clock.
//
// Not thread-safe. Cost: O(1).

class FaultMix {
public:
  static constexpr uint32_t kEnough = 256; ///< faults, until there is a verdict
  static constexpr uint64_t kLeastNs = 50000000; ///< for which a way is tried at least
  static constexpr uint64_t kMapped = 1 << 16; ///< bytes that the kernel maps around a fault, where they are in memory
  static constexpr uint64_t kEdge = 64; ///< bytes, the first or last of such a stretch: an element of a vector

  enum class Verdict { kGoOn, kApart, kAround };

  /// A fault at `place`. `moved`: bytes by which it moved a stream of strides on; 0: none. `foreseen`: its page was asked for.
  void fault(uint64_t place, uint64_t moved, bool foreseen);
  static constexpr uint32_t kMostRest = 256; ///< verdicts

  /// `apart`: how misses are read now. `elapsed_ns`, `read_bytes`: since the last verdict but kGoOn. Any verdict but kGoOn
  /// begins a new count; the one that is in force is said again.
  Verdict verdict(bool apart, uint64_t elapsed_ns, uint64_t read_bytes);
  void forget() { *this = {}; }

private:
  uint32_t faults_ = 0, strided_ = 0, foreseen_ = 0;
  uint64_t forward_ = 0; ///< bytes that strided faults have moved on
  double around_bytes_per_ns_ = 0; ///< when misses were last read around
  uint32_t rest_ = 0, resting_ = 0; ///< verdicts for which reading apart is not tried, and those that are left
};

} // namespace pagecast::core
