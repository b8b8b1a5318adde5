// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/schemes.h"
#include "core/sharing/reference.h"
#include "core/sharing/teams.h"
#include <algorithm>
#include <cmath>

namespace pagecast::simulator {
namespace {

using Iterations = std::vector<uint32_t>;

std::vector<Access> reads_of(const Phase &phase, const Iterations &iterations) {
  std::vector<Access> out;
  for (const uint32_t i : iterations) phase.append(i, &out);
  return out;
}

/// The same iterations for `count` processors, by even parts.
std::vector<Iterations> shared_out(const Iterations &iterations, uint32_t count) {
  std::vector<Iterations> out(count);
  for (size_t i = 0; i < iterations.size(); ++i) out[i * count / iterations.size()].push_back(iterations[i]);
  return out;
}

/// What is read in each interval, each block once, in the order in which it is read.
std::vector<std::vector<uint32_t>> unions(const Team &team, uint32_t blocks) {
  size_t longest = 0;
  for (const auto &reads : team.reads) longest = std::max(longest, reads.size());
  std::vector<std::vector<uint32_t>> out((longest + team.step - 1) / team.step);
  std::vector<uint64_t> seen(core::block_set_words(blocks));
  for (size_t k = 0; k < out.size(); ++k) {
    for (size_t at = k * team.step; at < (k + 1) * team.step; ++at)
      for (const auto &reads : team.reads) {
        if (at >= reads.size() || core::has_block(seen.data(), reads[at].block)) continue;
        core::insert_block(seen.data(), reads[at].block);
        out[k].push_back(reads[at].block);
      }
    for (const uint32_t block : out[k]) seen[block / 64] &= ~(uint64_t{1} << block % 64);
  }
  return out;
}

size_t largest(const std::vector<std::vector<uint32_t>> &sets) {
  size_t most = 0;
  for (const auto &set : sets) most = std::max(most, set.size());
  return most;
}

/// `most`: blocks that an interval may have; 0 = as many as there are.
void add_helper(Team *team, const Phase &phase, const Scheme &scheme, uint32_t blocks, size_t most) {
  const auto length = uint64_t(std::lround(scheme.interval * (phase.shared + phase.own)));
  team->step = core::fitting_interval(std::max<uint64_t>(1, length), most, [&](uint64_t reads) {
    team->step = reads;
    return largest(unions(*team, blocks));
  });
  team->foretold = unions(*team, blocks);
}

std::vector<Team> alone(const Phase &phase, uint32_t processors, bool is_independent) {
  std::vector<Team> out(processors);
  for (uint32_t p = 0; p < processors; ++p) {
    out[p].reads.push_back(reads_of(phase, phase.iterations_of(p, processors)));
    out[p].is_independent = is_independent;
  }
  return out;
}

std::vector<Team> reserved(const Program &program, const Phase &phase, const IoMachine &m, const Scheme &scheme) {
  const uint32_t helpers = std::min(scheme.reserved, m.processors / 2);
  if (helpers == 0) return alone(phase, m.processors, true);
  const uint32_t workers = m.processors - helpers;
  std::vector<Team> out(helpers);
  for (uint32_t w = 0; w < workers; ++w)
    out[w * helpers / workers].reads.push_back(reads_of(phase, phase.iterations_of(w, workers)));
  for (Team &team : out) add_helper(&team, phase, scheme, program.blocks, 0);
  return out;
}

/// The team of each processor, by what it reads in the phase.
std::vector<uint32_t> teams_of(const Program &program, const Phase &phase, uint32_t processors, const core::TeamRules &rules,
                               uint32_t *count) {
  const uint64_t words = core::block_set_words(program.blocks);
  std::vector<std::vector<uint64_t>> sets(processors, std::vector<uint64_t>(words));
  std::vector<const uint64_t *> rows;
  for (uint32_t p = 0; p < processors; ++p) {
    for (const Access &read : reads_of(phase, phase.iterations_of(p, processors))) core::insert_block(sets[p].data(), read.block);
    rows.push_back(sets[p].data());
  }
  std::vector<double> densities(size_t(processors) * processors);
  core::pair_densities(rows.data(), processors, words, densities.data());
  std::vector<uint32_t> out(processors);
  *count = core::make_teams(densities.data(), processors, rules, out.data());
  return out;
}

std::vector<Team> by_clusters(const Program &program, const Phase &phase, const IoMachine &m, const Scheme &scheme) {
  const bool is_live = scheme.kind == SchemeKind::kLive;
  uint32_t count = 0;
  const std::vector<uint32_t> team_of =
      teams_of(program, phase, m.processors, {scheme.threshold, is_live ? 2 : scheme.smallest}, &count);
  std::vector<Team> out;
  for (uint32_t t = 0; t < count; ++t) {
    std::vector<Iterations> members;
    for (uint32_t p = 0; p < m.processors; ++p)
      if (team_of[p] == t) members.push_back(phase.iterations_of(p, m.processors));
    if (!is_live) { // one of them becomes the helper
      Iterations all;
      for (const Iterations &one : members) all.insert(all.end(), one.begin(), one.end());
      members = shared_out(all, uint32_t(members.size() - 1));
    }
    Team team;
    team.is_beside = is_live;
    for (const Iterations &one : members) team.reads.push_back(reads_of(phase, one));
    add_helper(&team, phase, scheme, program.blocks, is_live ? std::max<size_t>(1, size_t(m.nodes) * m.cache / 2 / count) : 0);
    out.push_back(team);
  }
  for (uint32_t p = 0; p < m.processors; ++p)
    if (team_of[p] == core::kAlone) out.push_back({{reads_of(phase, phase.iterations_of(p, m.processors))}, {}, 1, true, false});
  return out;
}

} // namespace

std::vector<Team> make_teams(const Program &program, const Phase &phase, const IoMachine &m, const Scheme &scheme) {
  switch (scheme.kind) {
  case SchemeKind::kNone: return alone(phase, m.processors, false);
  case SchemeKind::kIndependent: return alone(phase, m.processors, true);
  case SchemeKind::kReserved: return reserved(program, phase, m, scheme);
  case SchemeKind::kAdaptive:
  case SchemeKind::kLive: break;
  }
  return by_clusters(program, phase, m, scheme);
}

} // namespace pagecast::simulator
