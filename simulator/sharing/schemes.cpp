// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/schemes.h"
#include "core/sharing/teams.h"
#include <algorithm>
#include <queue>

namespace pagecast::simulator {
namespace {

/// A processor that computes, or a helper.
struct Actor {
  uint64_t now = 0;
  uint32_t team = 0, client = 0;
  size_t number = 0; ///< among those of the team that compute
  bool is_helper = false;
  size_t interval = 0, at = 0; ///< in the reads, or in what is foretold for the interval
  size_t asked = 0;            ///< reads for which an independent one has asked
  uint64_t ready = 0;          ///< of a helper: when all that it has asked for is there
};

/// Where a team meets at the beginning of each interval: its helper is the last of the members of `pace`.
struct Meeting {
  uint64_t time = 0;
  core::Pace pace;
  std::vector<uint32_t> there;
};

class Run {
public:
  Run(const Program &program, const IoMachine &m, const Scheme &scheme)
      : program_(program), m_(m), scheme_(scheme), clients_(2 * m.processors) {
    for (uint32_t n = 0; n < m.nodes; ++n) nodes_.push_back(std::make_unique<IoNode>(m, clients_));
  }

  SharedReport go() {
    for (const Phase &phase : program_.phases) run(phase);
    report_.micros = now_;
    for (const auto &node : nodes_) {
      report_.disk_reads += node->reads();
      for (uint32_t c = 0; c < clients_; ++c) report_.counts += node->counts(c);
    }
    return report_;
  }

private:
  void run(const Phase &phase) {
    teams_ = make_teams(program_, phase, m_, scheme_);
    start();
    // How far ahead a compiler has to ask: the latency of a disk for which all processors queue, over the time of a read,
    // and half as much again, since it is an estimate.
    distance_ = size_t((m_.disk * m_.processors / m_.nodes + m_.network) * 3 / 2 / (phase.micros + m_.network) + 1);
    if (scheme_.kind == SchemeKind::kLive ||
        scheme_.kind == SchemeKind::kAdaptive) // all of them together never more than half of the cache
      distance_ = std::max<size_t>(1, std::min<size_t>(distance_, size_t(m_.nodes) * m_.cache / 2 / m_.processors));
    uint64_t end = now_;
    while (!order_.empty()) {
      const uint32_t a = order_.top().second;
      order_.pop();
      const bool goes_on = actors_[a].is_helper ? help(&actors_[a]) : compute(&actors_[a]);
      end = std::max(end, actors_[a].now);
      if (goes_on) order_.push({actors_[a].now, a});
      else if (waits(actors_[a])) meet(a);
    }
    now_ = end;
  }

  void start() {
    actors_.clear();
    meetings_.assign(teams_.size(), {});
    uint32_t processor = 0, helpers = 0;
    for (uint32_t t = 0; t < teams_.size(); ++t) {
      const bool has_helper = !teams_[t].foretold.empty();
      meetings_[t].pace.start(uint32_t(teams_[t].reads.size() + has_helper), teams_[t].foretold.size() + 1, 0);
      for (size_t n = 0; n < teams_[t].reads.size(); ++n) actors_.push_back({now_, t, processor++, n});
      if (!has_helper) continue;
      actors_.push_back({now_, t, m_.processors + helpers++, 0, true});
    }
    report_.helpers = std::max(report_.helpers, helpers);
    for (uint32_t a = 0; a < actors_.size(); ++a)
      if (teams_[actors_[a].team].foretold.empty() || actors_[a].is_helper) order_.push({now_, a});
      else meet(a);
  }

  bool waits(const Actor &actor) const { return actor.interval < teams_[actor.team].foretold.size(); }

  /// The actor has come to the beginning of its next interval. The last one to come lets all go on.
  void meet(uint32_t a) {
    Actor &actor = actors_[a];
    const Team &team = teams_[actor.team];
    Meeting &meeting = meetings_[actor.team];
    meeting.time = std::max(meeting.time, actor.now);
    meeting.there.push_back(a);
    const uint64_t meetings = actor.interval + 1; // the first one is before interval 0
    meeting.pace.arrived(uint32_t(actor.is_helper ? team.reads.size() : actor.number), meetings);
    if (meeting.pace.gate() <= meetings) return;
    for (const uint32_t other : meeting.there) {
      Actor &one = actors_[other];
      one.now = meeting.time;
      if (one.is_helper) one.interval++, one.at = 0;
      else if (team.is_beside) one.now += m_.prefetch_call * team.foretold[one.interval].size() / team.reads.size();
      if (!one.is_helper || one.interval < team.foretold.size()) order_.push({one.now, other});
    }
    meeting.time = 0;
    meeting.there.clear();
  }

  IoNode &node_of(uint32_t block) { return *nodes_[block % nodes_.size()]; }

  /// One read; false at the end of an interval or of all reads.
  bool compute(Actor *actor) {
    const Team &team = teams_[actor->team];
    const std::vector<Access> &reads = team.reads[actor->number];
    const bool has_helper = !team.foretold.empty();
    const size_t end = has_helper ? team.begin_of(actor->number, actor->interval + 1) : reads.size();
    if (actor->at == end) {
      actor->interval += has_helper;
      return false;
    }
    if (team.is_independent && actor->asked < std::min(reads.size(), actor->at + 1 + distance_)) {
      actor->asked = std::max(actor->asked, actor->at + 1); // not for what is read now
      if (actor->asked < reads.size()) {
        const uint32_t block = reads[actor->asked++].block;
        node_of(block).prefetch(actor->now, block, actor->client);
        actor->now += m_.prefetch_call;
        return true;
      }
    }
    const Access &read = reads[actor->at];
    const uint64_t there = node_of(read.block).reference(actor->now, read.block, actor->client);
    if (there == 0) {
      actor->now = node_of(read.block).next_arrival();
      return true;
    }
    ++actor->at;
    actor->now = there + m_.network + read.micros;
    return true;
  }

  /// Asks for one block; false when all of the interval has come.
  bool help(Actor *actor) {
    const auto &blocks = teams_[actor->team].foretold[actor->interval];
    if (actor->at == blocks.size()) {
      actor->now = std::max(actor->now, actor->ready);
      return false;
    }
    IoNode &node = node_of(blocks[actor->at]);
    const uint64_t there = node.prefetch(actor->now, blocks[actor->at], actor->client);
    if (there == 0) {
      actor->now = node.next_arrival();
      return true;
    }
    actor->ready = std::max(actor->ready, there);
    ++actor->at;
    actor->now += m_.prefetch_call;
    return true;
  }

  const Program &program_;
  const IoMachine m_;
  const Scheme scheme_;
  const uint32_t clients_;
  std::vector<std::unique_ptr<IoNode>> nodes_;
  std::vector<Team> teams_;
  std::vector<Actor> actors_;
  std::vector<Meeting> meetings_;
  using Turn = std::pair<uint64_t, uint32_t>;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> order_;
  size_t distance_ = 1;
  uint64_t now_ = 0;
  SharedReport report_;
};

} // namespace

SharedReport run_shared(const Program &program, const IoMachine &m, const Scheme &scheme) { return Run(program, m, scheme).go(); }

} // namespace pagecast::simulator
