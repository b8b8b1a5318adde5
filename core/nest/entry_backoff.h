// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a nest is worth being entered that was left early before, or asked for nothing: a search that nearly always ends where
// it begins is entered millions of times, and planning each of these executions costs more than the program spends in it. So it is
// with a short loop over a table that is in memory. Then entries are passed over, and what the program's faults foretell serves
// it; one here and there is let in (a probe).
//
//   full       every entry. kEnough such exits in a row (more once it was wrong to pass over) begin a gap
//   gaps       none of kFirstGap entries, then a probe; none of twice as many if that is left early, too, and so on up to
//              kMostGap. All are let in again when a probe goes on, or when the program has missed so many pages in a gap
//              that hints would have been worth their while
//
// Example: find(a, from, x) called for each hit. 64 entries are let in, then one in 257, 513, 1025, 2049, 4097, ...: of two
// million some 560. Searches of random places that are not in memory miss a page or more each: after one gap all are let in.
//
// Counts only: no clock. 48 bits, so that it fits beside something else in a word, which several threads may load and store: if
// one overwrites what another has noted, that is a count that goes missing.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pagecast::core {

class EntryBackoff {
public:
  static constexpr unsigned kBits = 48;
  static constexpr unsigned kLeftBits =
      13; ///< the lowest: entries to pass over; while there are any, to pass one over is to take 1
  static constexpr uint32_t kEnough = 64; ///< early exits in a row: as many plans are some 100 us
  static constexpr uint32_t kMostPatience = 6; ///< kEnough is doubled so often at most
  static constexpr uint32_t kFirstGap = 256, kMostGap = 4096; ///< entries
  /// Entries that may be passed over for each page missed: hints for so many cost what waiting for a page does.
  static constexpr uint32_t kWorth = 16;

  EntryBackoff() = default;
  explicit EntryBackoff(uint64_t bits)
      : left_(bits & ((1u << kLeftBits) - 1)), early_(bits >> 13 & 0x1fff), gap_(bits >> 26 & 7), patience_(bits >> 29 & 7),
        missed_(bits >> 32 & 0xffff) {}
  uint64_t bits() const {
    return left_ | uint64_t{early_} << 13 | uint64_t{gap_} << 26 | uint64_t{patience_} << 29 | uint64_t{missed_} << 32;
  }

  bool passes_over() const { return gap_ > 0; } ///< all but probes
  uint32_t gap() const { return gap_ ? kFirstGap << (gap_ - 1) : 0; } ///< entries that are passed over before the next probe

  /// The program comes to the nest; `missed`: pages that it has missed so far, in this nest or elsewhere. False: the entry is
  /// passed over.
  bool enters(uint64_t missed) {
    if (gap_ == 0) return true;
    if (left_ > 0) return --left_, false;
    const uint32_t since = (static_cast<uint32_t>(missed) - missed_) & 0xffff;
    if (since > gap() / kWorth) were_wanted();
    else begin(gap_, missed); // whatever becomes of this one
    return true;
  }
  /// The nest was left before it had finished anything worth a hint, or was short, and nothing was asked for.
  void left_early(uint64_t missed) {
    if (gap_ > 0) return begin(std::min(gap_ + 1, kGaps), missed);
    if (++early_ >= kEnough << patience_) begin(1, missed);
  }
  /// It went on: its hints were worth having.
  void went_on() {
    if (gap_ > 0) were_wanted();
    early_ = 0;
  }

private:
  static constexpr uint32_t kGaps = 5;
  static_assert(kFirstGap << (kGaps - 1) == kMostGap && kMostGap < 1u << kLeftBits && kEnough << kMostPatience < 1u << 13);

  void begin(uint32_t gap, uint64_t missed) {
    gap_ = gap;
    left_ = kFirstGap << (gap - 1);
    missed_ = static_cast<uint32_t>(missed) & 0xffff;
  }
  void were_wanted() {
    gap_ = left_ = early_ = 0;
    patience_ = std::min(patience_ + 1, kMostPatience);
  }

  uint32_t left_ = 0; ///< of this gap
  uint32_t early_ = 0; ///< in a row, while all are let in
  uint32_t gap_ = 0; ///< 0: all are let in; 1 .. kGaps: a gap of kFirstGap, twice, four times that ...
  uint32_t patience_ = 0; ///< how often it was wrong to pass over
  uint32_t missed_ = 0; ///< when this gap began
};

} // namespace pagecast::core
