// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who is served together in a job, and how far: the rules of core/sharing/teams.h on what members have laid open. It neither waits
// nor asks for anything itself.
#pragma once
#include "core/arithmetic.h"
#include "core/sharing/teams.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pagecast::nbd {

/// An open nest of a member.
struct Opened {
  uint32_t place = 0, entry = 0, serial = 0;
  int64_t rank = -1;
  uint64_t phase = 0;
  std::vector<core::Foreseen> foreseen;
  uint64_t seen_ns = 0; ///< when it was seen first
  uint64_t done = 0; ///< of 2^32
  uint64_t own_intervals = 0; ///< that it has by itself
  bool is_served = false; ///< it has been in a team
  bool is_settled = false; ///< of who is alone: nobody is to come with whom it may share data, or room

  bool is(const Opened &o) const { return place == o.place && entry == o.entry && serial == o.serial; }
};

/// How teams are made.
struct JobScheme {
  enum Kind : uint8_t { kAll, kByProfile, kLive };
  Kind kind = kLive;
  core::TeamRules rules{core::kSharingThreshold, 2};
  double interval = core::kInterval;
  /// By a profile: the team of each rank in each phase, by the phase's number.
  std::map<uint64_t, std::map<int64_t, uint32_t>> plan;
  int64_t ranks = 0; ///< that the profile knows
  uint32_t helpers = 1; ///< of all: so many teams, of ranks that follow each other
  std::string report; ///< a file for what happened; empty: none
};

/// The intervals of members of a phase: as the scheme has them, or more, so that the members together touch at most `most` blocks
/// in one. `most` 0: any number.
uint64_t intervals_of(const std::vector<Opened> &members, const JobScheme &, const std::vector<core::DataSetBlocks> &,
                      uint64_t words, uint64_t most);

/// The intervals of a member of a phase who is among those without a team. `most`: blocks that a team might ask for in one.
uint64_t intervals_alone(const Opened &, const std::vector<Opened> &alone, const JobScheme &,
                         const std::vector<core::DataSetBlocks> &, uint64_t words, uint64_t most);

/// A team at work.
class JobTeam {
public:
  /// `most`: blocks of an interval; 0: any number.
  JobTeam(std::vector<Opened> members, const JobScheme &, const std::vector<core::DataSetBlocks> &, uint64_t words,
          uint64_t most);
  const std::vector<Opened> &members() const { return members_; }
  uint64_t intervals() const { return intervals_; }
  /// The interval that comes next: those before it have been asked for.
  uint64_t asked() const { return next_; }
  /// What was asked for lately, by this team or by one that it takes the place of, is not asked for again.
  void know(const std::vector<uint64_t> &recent);
  std::vector<uint64_t> recent() const;
  /// What the member has done since; null: it has left.
  void note(size_t member, const Opened *now);
  /// The blocks of the next interval that may be asked for now, each once, but for those of the one before. False: there is none.
  bool next(std::vector<uint64_t> *blocks);
  bool is_over() const { return pace_.is_over(); }
  /// What it had cost its members when that was noted last: they waited for each other for `met_ns` in all of their nests so far.
  struct Paid {
    uint64_t at_ns = 0, met_ns = 0, asked = 0;
  } paid;

private:
  uint64_t interval_at(uint64_t done) const { return core::rescale(done, uint64_t{1} << 32, intervals_); }

  std::vector<Opened> members_;
  const std::vector<core::DataSetBlocks> &sets_;
  uint64_t words_, intervals_ = 1, next_ = 0;
  core::Pace pace_;
  std::vector<uint64_t> before_, before_that_; ///< what was asked for in the last two intervals
  std::vector<uint64_t> known_; ///< from others, for the first two
  unsigned asked_ = 0;
};

inline constexpr uint64_t kGraceNs = 10'000'000; ///< for others to come to the same nest

/// The members of one phase in teams; those that are in none are `alone`, be it for now. `ranks`: that the job has had. A team
/// begins when all that may belong to it are there, or the first of them has waited for so long, since a helper that begins anew
/// with each who comes asks for the same blocks again and again. But for the scheme of one for all, one member is no team.
std::vector<std::vector<Opened>> teams_of(const std::vector<Opened> &phase, const JobScheme &,
                                          const std::vector<core::DataSetBlocks> &, uint64_t words, int64_t ranks,
                                          uint64_t now_ns, std::vector<Opened> *alone);

} // namespace pagecast::nbd
