// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a slice's references leave behind: neighbouring ranges, and pages touched one after the other, are joined before
// they are asked for, so that rows of a few bytes become requests of many pages; and ranges that only ever move on are
// given up once the program has passed them. What another reference comes to a little later, as u[k] comes to the
// planes of u[k + 1], is given up by the last one that does.
//
// Ranges may go up, or down as in a sweep back over rows. Those that have moved on far may begin anew, as in each iteration of a solver.
// Where they go back earlier, they have no order, and what they leave behind ages.
//
// Threads: the slicer's. A trail belongs to one execution of a nest.
#pragma once
#include "core/types.h"
#include "pagecast/abi.h"

#include <cstdint>

namespace pagecast {

class SliceTrail {
public:
  /// `kept`: bytes by which a reference may follow another one, and what lies between them is kept for it. Ranges that begin anew have
  /// come over more.
  void start(uint64_t page_bytes, uint64_t max_io, uint64_t kept);

  /// The group touches `e` in step `step`. What must be asked for now, because it does not join or is large
  /// enough; empty if nothing.
  core::Extent add(unsigned group, core::Extent touched, uint64_t step);
  /// The whole pages of the group that have not been asked for; `last`: the page that the next range may
  /// share, too.
  core::Extent take(unsigned group, bool last);
  /// The first step that touched what add() or take() returned last.
  uint64_t taken_since() const { return taken_since_; }
  /// The first step that touched what has not been asked for; ~0: all has been.
  uint64_t waits_since(unsigned group) const { return stream_[group].pending.empty() ? ~0ull : stream_[group].since; }
  /// What has not been asked for goes on where that ended which was asked for last: neighbours will follow.
  bool goes_on(unsigned group) const { return stream_[group].pending.begin == stream_[group].taken; }
  /// What has not been asked for; bytes.
  core::Extent waiting(unsigned group) const { return stream_[group].seen(stream_[group].pending); }

  /// The slice has done step `step` whole: what lies behind the ranges' ends can go when the program has
  /// done it, too.
  void step_done(unsigned group, uint64_t step);
  /// Whether the group's ranges have come in order so far.
  bool moves_on(unsigned group) const { return stream_[group].even; }
  /// Whether the ranges of one of `groups`, a bit for each, come to the place that the group is at, before long.
  bool is_followed_by(uint32_t groups, unsigned group) const;
  /// The next extent that the program, which has finished `step` steps, has passed. False: none.
  bool passed(uint64_t step, unsigned *group, core::Extent *e);

private:
  /// Addresses are those of the stream's own view: of one that goes down they are negated, so that it goes up.
  struct Stream {
    core::Extent pending; ///< touched, not asked for yet; bytes
    uint64_t since = 0, latest = 0; ///< the steps that touched the first of it, and the last
    uint64_t taken = 0; ///< the end of what was asked for last
    uint64_t first = 0; ///< the page of the first touch
    uint64_t low = 0; ///< pages below have been noted for release
    uint64_t high = 0; ///< the furthest end so far
    uint64_t done = 0; ///< and when the last step was done whole: a step may be begun twice
    uint32_t moves = 0; ///< steps in which it has moved on, since it began
    bool down = false; ///< goes from high addresses to low ones
    bool even = true; ///< has only moved on, but for beginning anew

    /// Bytes of memory in the stream's view, and the other way round.
    core::Extent seen(core::Extent e) const { return down ? core::Extent{0 - e.end, 0 - e.begin} : e; }
  };
  struct Passed {
    uint64_t step;
    core::Extent extent; ///< in the group's view
    unsigned group;
  };
  static constexpr uint32_t kSweep = 16; ///< steps; ranges in no order do not move on so often
  static constexpr unsigned kMost = 1024; ///< noted; when full, pages are not given up but age

  bool begins_anew(const Stream &, core::Extent e) const;
  static core::Extent gone_over(const Stream &, bool down);
  void turn(unsigned group);
  uint64_t left_to_others(unsigned group, core::Extent e) const;

  Stream stream_[PAGECAST_MAX_GROUPS];
  Passed passed_[kMost];
  unsigned first_ = 0, count_ = 0;
  uint64_t page_ = 4096, max_io_ = 4096, kept_ = 0, taken_since_ = 0;
};

} // namespace pagecast
