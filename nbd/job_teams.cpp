// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nbd/job_teams.h"

#include "core/sharing/reference.h"

#include <algorithm>

namespace pagecast::nbd {
namespace {

constexpr uint64_t kMostIntervals = core::kEnoughIterations;
constexpr uint64_t kSamples = 32; ///< intervals of which the unions are looked at: members wait for the answer
constexpr uint64_t kLead = 1; ///< intervals: whoever is ahead by more would have what it reads pushed out for the others

/// Iterations that are shared out into intervals: of the reference that has most.
uint64_t iterations_of(const std::vector<Opened> &members) {
  uint64_t most = 1;
  for (const Opened &m : members)
    for (const core::Foreseen &f : m.foreseen) most = std::max(most, core::shared_iterations(f.reference));
  return most;
}

void insert(const std::vector<Opened> &members, const std::vector<core::DataSetBlocks> &sets, uint64_t k, uint64_t intervals,
            std::vector<uint64_t> *set) {
  for (const Opened &m : members)
    core::insert_foreseen(m.foreseen.data(), static_cast<uint32_t>(m.foreseen.size()), sets.data(), k, intervals, set->data());
}

/// Blocks that the members touch together in an interval: the most, of some intervals.
uint64_t largest_union(const std::vector<Opened> &members, const std::vector<core::DataSetBlocks> &sets, uint64_t words,
                       uint64_t intervals) {
  uint64_t most = 0;
  std::vector<uint64_t> set(words);
  const uint64_t *const row = set.data();
  const uint64_t samples = std::min(intervals, kSamples);
  for (uint64_t i = 0; i < samples; ++i) {
    const uint64_t k = samples > 1 ? i * (intervals - 1) / (samples - 1) : 0;
    std::fill(set.begin(), set.end(), 0);
    insert(members, sets, k, intervals, &set);
    most = std::max(most, core::touched_by(&row, 1, words).by_any);
  }
  return most;
}

/// The teams by what members touch in the whole phase, pair by pair.
std::vector<uint32_t> live_teams(const std::vector<Opened> &phase, const core::TeamRules &rules,
                                 const std::vector<core::DataSetBlocks> &sets, uint64_t words) {
  std::vector<std::vector<uint64_t>> touched(phase.size(), std::vector<uint64_t>(words));
  std::vector<const uint64_t *> rows;
  for (size_t m = 0; m < phase.size(); ++m) {
    core::insert_foreseen(phase[m].foreseen.data(), static_cast<uint32_t>(phase[m].foreseen.size()), sets.data(), 0, 1,
                          touched[m].data());
    rows.push_back(touched[m].data());
  }
  const auto count = static_cast<uint32_t>(phase.size());
  std::vector<double> densities(phase.size() * phase.size());
  core::pair_densities(rows.data(), count, words, densities.data());
  std::vector<uint32_t> out(phase.size());
  core::make_teams(densities.data(), count, rules, out.data());
  return out;
}

std::vector<uint32_t> planned_teams(const std::vector<Opened> &phase, const JobScheme &scheme) {
  std::vector<uint32_t> out(phase.size(), core::kAlone);
  const auto plan = scheme.plan.find(phase[0].phase);
  if (plan == scheme.plan.end()) return out;
  for (size_t m = 0; m < phase.size(); ++m)
    if (const auto team = plan->second.find(phase[m].rank); team != plan->second.end()) out[m] = team->second;
  return out;
}

/// How many who may belong to the member's team, or be alone as it is, are still to come. Whoever is near the end of its nest may come
/// again: the same loop may be in the code several times, one after the other.
int64_t missing(const Opened &member, const std::vector<Opened> &phase, const JobScheme &scheme, int64_t ranks) {
  const auto has_come = [](const Opened &o) { return o.done < uint64_t{1} << 31; };
  const auto nest = scheme.plan.find(member.phase);
  if (scheme.kind == JobScheme::kLive || nest == scheme.plan.end() || !nest->second.count(member.rank))
    return ranks - std::count_if(phase.begin(), phase.end(), has_come);
  const auto &plan = nest->second;
  const auto is_planned = [number = plan.at(member.rank)](const auto &one) { return one.second == number; };
  return std::count_if(plan.begin(), plan.end(), is_planned) - std::count_if(phase.begin(), phase.end(), [&](const Opened &o) {
           const auto found = plan.find(o.rank);
           return found != plan.end() && is_planned(*found) && has_come(o);
         });
}

/// Whether they may begin: one that has begun goes on.
bool may_begin(const std::vector<Opened> &members, int64_t missing, uint64_t now_ns) {
  uint64_t first = now_ns;
  bool has_begun = false;
  for (const Opened &m : members) first = std::min(first, m.seen_ns), has_begun |= m.is_served;
  if (members.size() < 2) return false;
  return has_begun || missing <= 0 || now_ns - first >= kGraceNs;
}

/// Ranks that follow each other, of as many as the job has, so that a rank's team stays the same while others come to the nest.
std::vector<uint32_t> even_teams(const std::vector<Opened> &phase, uint32_t helpers, int64_t ranks) {
  std::vector<uint32_t> out;
  for (const Opened &o : phase) {
    const uint64_t rank = o.rank >= 0 ? static_cast<uint64_t>(o.rank) : o.place,
                   all = std::max<uint64_t>(static_cast<uint64_t>(ranks), rank + 1);
    out.push_back(static_cast<uint32_t>(rank * helpers / all));
  }
  return out;
}

} // namespace

uint64_t intervals_of(const std::vector<Opened> &members, const JobScheme &scheme, const std::vector<core::DataSetBlocks> &sets,
                      uint64_t words, uint64_t most) {
  const uint64_t iterations = iterations_of(members), least = iterations / kMostIntervals + 1;
  const auto count_of = [&](uint64_t length) { return (iterations + std::max(length, least) - 1) / std::max(length, least); };
  const auto length = static_cast<uint64_t>(static_cast<double>(iterations) * scheme.interval);
  return count_of(core::fitting_interval(std::max<uint64_t>(1, length), most, [&](uint64_t shorter) {
    return largest_union(members, sets, words, count_of(shorter));
  }));
}

uint64_t intervals_alone(const Opened &o, const std::vector<Opened> &alone, const JobScheme &scheme,
                         const std::vector<core::DataSetBlocks> &sets, uint64_t words, uint64_t most) {
  const uint64_t few = intervals_of(alone, scheme, sets, words, core::alone_blocks(core::kAloneMost, alone.size(), most)),
                 many = intervals_of(alone, scheme, sets, words, core::alone_blocks(core::kAloneLeast, alone.size(), most));
  return core::alone_intervals(o.own_intervals, few, many);
}

JobTeam::JobTeam(std::vector<Opened> members, const JobScheme &scheme, const std::vector<core::DataSetBlocks> &sets,
                 uint64_t words, uint64_t most)
    : members_(std::move(members)), sets_(sets), words_(words), before_(words), before_that_(words), known_(words) {
  intervals_ = intervals_of(members_, scheme, sets, words, most);
  pace_.start(static_cast<uint32_t>(members_.size()), intervals_, kLead);
  uint64_t first = intervals_; // where the last of them is
  for (size_t m = 0; m < members_.size(); ++m) {
    note(m, &members_[m]);
    first = std::min(first, interval_at(members_[m].done));
  }
  next_ = first;
}

void JobTeam::know(const std::vector<uint64_t> &recent) {
  for (size_t w = 0; w < std::min(recent.size(), known_.size()); ++w) known_[w] |= recent[w];
}

std::vector<uint64_t> JobTeam::recent() const {
  std::vector<uint64_t> out = before_;
  for (size_t w = 0; w < out.size(); ++w) out[w] |= before_that_[w] | (asked_ < 2 ? known_[w] : 0);
  return out;
}

void JobTeam::note(size_t member, const Opened *now) {
  if (!now) return pace_.left(static_cast<uint32_t>(member));
  pace_.arrived(static_cast<uint32_t>(member), interval_at(now->done));
}

bool JobTeam::next(std::vector<uint64_t> *blocks) {
  blocks->clear();
  if (pace_.is_over()) return false;
  next_ = std::max(next_, pace_.slowest());
  if (!pace_.may_ask(next_)) return false;
  std::vector<uint64_t> set(words_);
  insert(members_, sets_, next_++, intervals_, &set);
  for (uint64_t b = 0; (b = core::next_block(set.data(), words_, b)) < words_ * 64; ++b)
    if (!core::has_block(before_.data(), b) && !(asked_ < 2 && core::has_block(known_.data(), b))) blocks->push_back(b);
  ++asked_;
  before_that_.swap(before_);
  before_.swap(set);
  return true;
}

std::vector<std::vector<Opened>> teams_of(const std::vector<Opened> &phase, const JobScheme &scheme,
                                          const std::vector<core::DataSetBlocks> &sets, uint64_t words, int64_t ranks,
                                          uint64_t now_ns, std::vector<Opened> *alone) {
  const bool by_profile = scheme.kind == JobScheme::kByProfile;
  // A profile of another input may say that those share who share nothing here: what they have laid open must confirm it.
  const core::TeamRules rules{scheme.rules.threshold, by_profile ? 2 : scheme.rules.smallest};
  const std::vector<uint32_t> shared =
      scheme.kind == JobScheme::kAll ? even_teams(phase, scheme.helpers, ranks) : live_teams(phase, rules, sets, words);
  const std::vector<uint32_t> planned = by_profile ? planned_teams(phase, scheme) : shared;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Opened>> teams;
  for (size_t m = 0; m < phase.size(); ++m)
    if (planned[m] == core::kAlone || shared[m] == core::kAlone) {
      alone->push_back(phase[m]);
      // Also who is alone by a profile: all who are alone share room, and how much each has follows from how many they are.
      alone->back().is_settled = missing(phase[m], phase, scheme, ranks) <= 0;
    } else teams[{planned[m], shared[m]}].push_back(phase[m]);
  std::vector<std::vector<Opened>> out;
  for (auto &[number, members] : teams) {
    const bool begins = scheme.kind == JobScheme::kAll || may_begin(members, missing(members[0], phase, scheme, ranks), now_ns);
    if (begins) out.push_back(std::move(members));
    else alone->insert(alone->end(), members.begin(), members.end());
  }
  return out;
}

} // namespace pagecast::nbd
