// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which members of a recorded run are served together: those who enter the same nest between two meetings, by the scheme. Of each group
// it is known which blocks its members touch in each interval.
#pragma once
#include "simulator/sharing/recorded.h"
#include "simulator/sharing/schemes.h"
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace pagecast::simulator {

using Blocks = std::set<uint64_t>;

/// A nest that members have open at the same time, and what is asked for them.
struct Group {
  std::vector<uint32_t> members;
  uint64_t intervals = 1, most_intervals = 1; ///< of those without a helper, each has its own number if it is between
  bool has_helper = false;
  std::map<uint32_t, uint64_t> at; ///< of those who have come and not left: their interval
  std::set<uint32_t> seen;
  uint64_t first_came = 0, asked = 0;
  bool has_begun = false;
  std::vector<Blocks> unions; ///< of each interval
  std::vector<uint32_t> waiting;

  uint64_t slowest() const {
    uint64_t least = intervals;
    for (const auto &[member, interval] : at) least = std::min(least, interval);
    return least;
  }
};

class Groups {
public:
  /// `frames`: of the node's cache. `run` must last.
  Groups(const RecordedRun &run, const Scheme &scheme, uint64_t page, uint64_t block, uint64_t frames)
      : run_(run), scheme_(scheme), page_(page), block_(block), frames_(frames) {}

  /// Those of the leg. Groups of earlier legs stay what they are.
  void make(const Leg &);
  /// Who is served with a member in a nest that it enters; nullptr: nobody.
  Group *find(uint32_t phase, uint32_t occurrence, uint32_t member) const;

private:
  using Nest = std::pair<uint32_t, uint32_t>; ///< phase and occurrence
  using StepsOfAll = std::map<uint32_t, std::vector<Step>>; ///< of each member that enters it

  void make(Nest, const StepsOfAll &);
  uint64_t most_blocks(uint64_t teams) const;
  uint32_t clusters(const StepsOfAll &, const std::vector<uint32_t> &members, std::vector<uint32_t> *team_of) const;
  void add(Nest, const StepsOfAll &, const std::vector<uint32_t> &members, bool has_helper, uint64_t most);
  std::vector<Blocks> unions_of(const StepsOfAll &, const Group &) const;
  uint64_t block_of(const PageTouch &t) const { return t.page * page_ / block_; }

  const RecordedRun &run_;
  const Scheme scheme_;
  const uint64_t page_, block_, frames_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Group *> group_of_;
};

} // namespace pagecast::simulator
