// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of memory compressed pages are to have. Each use of a page that was not in sight has a distance: how many others had come
// since the page had, over those that memory holds. Had all pages stayed as they are, those up to 1 would have been there. Where a
// part s of memory has pages of which `ratio` fit in the memory of one:
//
//   up to 1 - s                 there
//   up to 1 - s + s * ratio     waits, and comes back by a fault
//   beyond                      is read
//
// So a part s saves the reads of distances from 1 to 1 + s * (ratio - 1), and costs a fault for each of these, and for those between
// 1 - s and 1. Of the latter only the part that waits now is seen: where s grows there are taken to be as many for each page as of
// those that have just begun to wait. The idea is of Wilson, Kaplan and Smaragdakis (The case for compressed caching in virtual
// memory systems, USENIX 1999), who know all distances, as they protect many pages.
//
// Example: a program goes round 1.2 memories, and three pages fit in the memory of one. All distances are 1.2: a part of 0.1 saves
// every read, and a smaller one none.
//
// The pager's thread; O(1).
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace pagecast::core {

class PackedRoom {
public:
  struct Costs {
    double read_ns, return_ns, wait_ns; ///< of a read; of a page that comes back; of having one wait
  };
  struct Part {
    double share; ///< of memory
    double value_ns; ///< what it saves, of the uses that were counted
  };

  /// A page was used at a distance of more than 1: it came back, or was read.
  void used(double distance) { count_[bin_of(distance - 1)] += 1; }
  void scale(double by) {
    for (double &n : count_) n *= by;
  }
  /// What a part of memory saves. `near`: uses at distances just below 1, for each memory.
  double value_ns(double share, double ratio, double near, const Costs &c) const {
    const double saved = within(share * (ratio - 1)), idle = share * near;
    return saved * (c.read_ns - c.return_ns) - idle * (c.return_ns + c.wait_ns);
  }
  /// The part that saves most, from `least` to `most`.
  Part best(double least, double most, double ratio, double near, const Costs &c) const {
    Part best{least, value_ns(least, ratio, near, c)};
    for (double share = least; share < most;) {
      share = std::min(share * kStep, most);
      if (const double value = value_ns(share, ratio, near, c); value > best.value_ns) best = {share, value};
    }
    return best;
  }

private:
  static constexpr int kBins = 26, kFirst = -14; ///< two for each power of 2, from 2^-7 to 2^6 memories
  static constexpr double kStep = 1.25;

  static double end_of(int bin) { return std::exp2(0.5 * (bin + 1 + kFirst)); }
  static size_t bin_of(double beyond) {
    if (beyond <= 0) return 0;
    return static_cast<size_t>(std::clamp(static_cast<int>(std::floor(2 * std::log2(beyond))) - kFirst, 0, kBins - 1));
  }
  /// Uses up to so far beyond 1.
  double within(double beyond) const {
    double n = 0, begin = 0;
    for (int bin = 0; bin < kBins && begin < beyond; ++bin) {
      const double end = end_of(bin);
      n += count_[static_cast<size_t>(bin)] * std::min(1.0, (beyond - begin) / (end - begin));
      begin = end;
    }
    return n;
  }

  std::array<double, kBins> count_{};
};

} // namespace pagecast::core
