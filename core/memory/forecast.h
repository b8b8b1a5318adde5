// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When will this be wanted again? Programs go through the same nests again and again: time steps, iterations of a
// solver, directions of a transform. The papers' systems could not see beyond the end of a nest; here the nests that
// were executed are remembered, with the ranges that they touched, and what followed the last time is taken for what
// will follow now.
//
//   visit   one execution of a nest: a key, the ranges it touches, and its bytes
//   time    counted in bytes that nests touch; a visit lasts for its bytes
//   due     the time at which a range is expected to be touched again
//   rank    says what is given up first: the due, but half as far from now again where the use does not both load and
//           store; of a visit that memory does not hold, what stays is spread over it
//
// The present visit's like is the earlier one with the same key and ranges, about, whose predecessors agree longest
// with the present ones. A visit without a like is taken for the first of its kind; what it stores is then expected to
// be wanted next, since that is what it was stored for. Where several visits do nothing but make new data, one after the
// other, what was made first is expected to be wanted first. Only an order of eviction follows: an error costs time,
// never data.
//
// Of the rank: a page that is kept saves the read; one that is loaded and stored to then saves a write as well, since
// given up before it is written twice. One that is only loaded would have come back clean, and could go after that
// without a write; one that is overwritten is not read. Of the sweeps of the programs in apps/ this saves up to a
// twelfth of the traffic; with more than half as much again, reads cost what writes save.
//
// If what is wanted first stayed, the disk would stand still while a sweep goes through it, and the program would wait for
// the disk after that. So the range is divided into bands of 1 MiB, of which as many stay as there would be in one piece.
// Which ones follows from the address: bands have points that fill the unit interval evenly, and those below the part that
// stays do. When memory becomes more or less, few bands change sides. This is for a range that is most of its visit; beside
// others of its size more would have to be written (APPBT: a twentieth).
#pragma once
#include "core/types.h"

namespace pagecast::core {

class Forecast {
public:
  /// A range that a visit touches from one end to the other.
  struct Use {
    Extent range;
    bool backward = false;
    bool loads = true;   ///< what it holds; if not, it is overwritten
    bool stores = false;
  };
  /// A visit that begins at `start` and lasts for `bytes` goes through `use`.
  struct Pass {
    uint64_t start = 0, bytes = 0;
    Use use;
    /// When it comes to `e`, a part of the range.
    uint64_t at(Extent e) const;
  };
  /// The next use of a range after the present visit.
  struct Next {
    enum Kind : uint8_t {
      kUnknown, ///< the visit has no like
      kNever,   ///< nothing that is expected touches it
      kLater,   ///< `later`
    };
    Kind kind = kUnknown;
    Pass present, later;
    /// When `e`, a part of the range, is due. Only for kLater, as the others.
    uint64_t due(Extent e) const { return later.at(e); }
    /// The part with the greater rank is given up before another. `memory`: bytes for what visits touch.
    uint64_t rank(Extent e, uint64_t memory = ~uint64_t{0}) const;
    /// Nobody loads what it holds now: it can go at once unless that costs a write.
    bool dead() const { return !later.use.loads; }

  private:
    uint64_t spread(Extent e, uint64_t memory) const;
  };

  static constexpr unsigned kUses = 12;    ///< of a visit; further ones are not remembered
  static constexpr unsigned kVisits = 512; ///< remembered
  static constexpr unsigned kBandShift = 20; ///< so little that reads ahead reach over it

  /// A visit begins; the one before is over, or goes on beside it. Uses that overlap become one. O(kVisits).
  void begin(uint64_t key, const Use *uses, unsigned count);
  /// For a range that the present visit touches; `stored`: it stores there. O(visits until its next use).
  Next next_use(Extent range, bool stored = false) const;
  /// At the beginning of the present visit.
  uint64_t now() const { return now_; }

private:
  struct Visit {
    uint64_t key = 0, bytes = 0;
    uint64_t made = 0; ///< bytes of the visits right before it that made new data, if it does so too
    unsigned uses = 0;
    bool makes = false; ///< no visit before it touched what it touches
    /// Constructed as they are added, so that visits that are yet to come are all zero, and take no memory.
    union {
      Use use[kUses];
    };
    Visit() {}
  };
  static bool alike(const Visit &, const Visit &);
  const Visit &visit(uint64_t number) const { return visit_[number % kVisits]; }
  void find_like();
  Use present_use(Extent range) const;
  bool touched_before(const Visit &) const;

  Visit visit_[kVisits];
  uint32_t agree_[kVisits] = {}; ///< how many visits up to this one are like as many up to the present one
  uint64_t visits_ = 0; ///< begun; the present one is the last
  uint64_t like_ = 0;   ///< number of the present one's like
  bool has_like_ = false;
  uint64_t now_ = 0;
};

} // namespace pagecast::core
