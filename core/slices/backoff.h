// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which steps a stage of a slice runs. A stage that finds nearly everything resident, or whose pages are evicted
// before their turn, costs processor time for nothing: it runs a step here and there (a probe), and every step again
// once probes find absent pages.
//
//   full      every step. The last kJudged of work is judged: worth it if each kWorth of work found a page
//   sampling  a step in 2, 4, 8 ... up to the lead: the slice's lead over the program bounds the gap, so that steps
//             that were passed over can still be run when the probe at their end finds what they would have found
//
// Example: hot places of an array, then cold ones. At the change the gap is the longest; the next probe finds a
// hundred pages, and the stage goes on where it was before the gap.
//
// Counts only: no clock. Not thread-safe; no allocation.
#pragma once
#include <cstdint>

namespace pagecast::core {

class Backoff {
public:
  static constexpr uint64_t kWorth = uint64_t{1} << 17;  ///< operations that one page's read may cost: some 50 us
  static constexpr uint64_t kJudged = uint64_t{1} << 20; ///< operations
  static constexpr uint64_t kMostGap = 64;               ///< steps
  static constexpr uint64_t kZero = 4;                   ///< so many untouched pages count as one that must be read
  static constexpr uint64_t kConvincing = 4;             ///< pages found by probes: fewer may be chance

  /// The nest begins (again): what was found out stays, the steps count from 0.
  void enter() { after_probe_ = 0; }

  /// Step `step` has been run for `work` operations, and found so many pages to be read, and untouched ones. The slice
  /// runs up to `lead` steps ahead of the program. Returns the step to run next: step + 1, one beyond a gap, or one
  /// before `step`, where the gap began that should not have been one.
  uint64_t ran(uint64_t step, uint64_t work, uint64_t absent, uint64_t untouched, uint64_t lead);
  /// Pages that the stage had asked for have been evicted unused.
  void wasted(uint64_t pages) { wasted_ += pages; }
  /// The program is in step `step` and has faulted on absent pages. Returns the step to run next instead of `next`:
  /// a probe right ahead of the program, if it would have been beyond a gap.
  uint64_t missed(uint64_t step, uint64_t next) const { return sampling() && step + 1 < next ? step + 1 : next; }

  bool sampling() const { return gap_ > 1; }
  uint64_t gap() const { return gap_; } ///< steps from one probe to the next; 1: all are run
  uint64_t backed_off() const { return backed_off_; } ///< steps passed over for good, since the beginning
  uint64_t probes() const { return probes_; }         ///< steps run as a sample, since the beginning

private:
  void note(uint64_t work, uint64_t absent, uint64_t untouched);
  bool worth() const;

  uint64_t gap_ = 1;
  uint64_t after_probe_ = 0; ///< sampling: where the present gap begins
  uint64_t work_ = 0;        ///< full: since it was last judged; sampling: of late, older probes counting less
  uint64_t found_ = 0;       ///< the same of what was found, in parts of a page
  uint64_t wasted_ = 0;      ///< pages, not yet taken from found_
  uint64_t backed_off_ = 0, probes_ = 0;
};

} // namespace pagecast::core
