// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/replay.h"
#include "core/sharing/teams.h"
#include "simulator/sharing/arm.h"
#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <unordered_map>

namespace pagecast::simulator {
namespace {

using Then = std::function<void()>;
using Found = core::StorageCache::Found;

constexpr uint64_t kGrace = 10'000;   ///< microseconds, for others to come to the same nest
constexpr uint64_t kMostAhead = 4;    ///< blocks of a reference in an interval of who is alone, about
constexpr uint64_t kLeastUnion = 8;   ///< blocks of a team's interval
constexpr uint64_t kLead = 1;         ///< intervals
constexpr uint64_t kPagesAhead = 32;  ///< for which a member has asked before it comes to them
constexpr uint64_t kAtOnce = 16;      ///< blocks that the node holds for one request

/// Events in the order of their times.
class Clock {
public:
  uint64_t now() const { return now_; }
  void at(uint64_t time, Then then) { events_.push({std::max(time, now_), number_++, std::move(then)}); }
  void run() {
    while (!events_.empty()) {
      Event next = events_.top();
      events_.pop();
      now_ = next.time;
      next.then();
    }
  }

private:
  struct Event {
    uint64_t time, number;
    Then then;
    bool operator<(const Event &e) const { return std::pair(time, number) > std::pair(e.time, e.number); }
  };
  std::priority_queue<Event> events_;
  uint64_t now_ = 0, number_ = 0;
};

/// Processors that all share: first come, first served.
class Processors {
public:
  Processors(Clock &clock, uint32_t count) : clock_(clock), free_at_(count) {}
  void work(uint64_t micros, Then then) {
    uint64_t &first = *std::min_element(free_at_.begin(), free_at_.end());
    first = std::max(first, clock_.now()) + micros;
    clock_.at(first, std::move(then));
  }

private:
  Clock &clock_;
  std::vector<uint64_t> free_at_;
};

/// The I/O node: core's cache before the disk.
class Node {
public:
  Node(Clock &clock, Processors &processors, const RunMachine &m, uint32_t clients)
      : clock_(clock), processors_(processors), turn_(m.turn), block_(m.block), frames_(uint32_t(m.cache / m.block)),
        clients_(clients), arm_(m.latency, m.rate), tables_(core::StorageCache::bytes(frames_, clients) / 8 + 1),
        waits_(frames_) {
    cache_.start(tables_.data(), core::StoragePolicy::kAging, frames_, clients, frames_ / 2, true);
  }

  /// `then` when the block is there. It is pinned, if `is_held`, until let_go().
  void read(uint64_t block, uint32_t client, bool is_filled, bool is_held, std::function<void(uint32_t)> then) {
    const core::StorageCache::Lookup found = cache_.reference(block, client);
    const uint32_t f = found.frame;
    if (found.found == Found::kFull) {
      for_room_.push_back([=, this, then = std::move(then)] { read(block, client, is_filled, is_held, then); });
      return;
    }
    const auto is_there = [=, this] {
      if (!is_held) let_go(f);
      then(f);
    };
    if (found.found == Found::kHere) return clock_.at(clock_.now(), is_there);
    if (found.found == Found::kFetch && is_filled) {
      filled_.insert(f);
      return clock_.at(clock_.now(), is_there);
    }
    waits_[f].push_back(is_there);
    if (found.found == Found::kFetch) fetch(block, f, true);
    else arm_.hurry(f);
  }

  void prefetch(uint64_t block, uint32_t client) {
    const core::StorageCache::Lookup found = cache_.prefetch(block, client);
    if (found.found == Found::kFetch) fetch(block, found.frame, false);
  }

  /// What was held goes to the disk, as one request.
  void write(uint64_t offset, uint64_t bytes, std::vector<uint32_t> held, Then then) {
    writes_.emplace(++token_, [=, this, then = std::move(then)] {
      for (const uint32_t f : held) {
        if (filled_.erase(f)) arrived(f);
        let_go(f);
      }
      then();
    });
    arm_.write({offset, bytes, token_});
    go_on();
  }

  /// Blocks that a request holds at a time.
  uint64_t share() const { return std::clamp<uint64_t>(frames_ / 2 / std::max(2u, serving_), 1, kAtOnce); }
  uint32_t frames() const { return frames_; }
  void serve(int more) { serving_ += uint32_t(more); }

  void report(RunReport *out) const {
    for (uint32_t c = 0; c < clients_; ++c) out->counts += cache_.final_counts(c);
    out->disk_reads = arm_.reads();
    out->disk_writes = arm_.writes();
    out->disk_bytes = bytes_;
  }

private:
  void fetch(uint64_t block, uint32_t f, bool is_waited_for) {
    arm_.read({block * block_, block_, f}, is_waited_for);
    go_on();
  }
  /// Others may ask at the same time, so that what they ask for is part of the same request.
  void go_on() {
    if (is_busy_) return;
    is_busy_ = true;
    clock_.at(clock_.now(), [this] { begin(); });
  }
  void begin() {
    bool is_write;
    const std::vector<Arm::Request> run = arm_.take(&is_write);
    if (run.empty()) {
      is_busy_ = false;
      return;
    }
    clock_.at(clock_.now() + arm_.micros(run), [=, this] {
      for (const Arm::Request &r : run)
        if (is_write) {
          const auto at = writes_.find(r.token);
          const Then then = std::move(at->second);
          writes_.erase(at);
          then();
        } else {
          bytes_ += r.bytes;
          arrived(uint32_t(r.token));
        }
      processors_.work(turn_, [this] { begin(); });
    });
  }
  void arrived(uint32_t f) {
    cache_.arrived(f);
    std::vector<Then> waiting;
    waiting.swap(waits_[f]);
    for (const Then &then : waiting) then();
    ask_again();
  }
  void let_go(uint32_t f) {
    cache_.unpin(f);
    ask_again();
  }
  void ask_again() {
    if (for_room_.empty()) return;
    std::vector<Then> waiting;
    waiting.swap(for_room_);
    for (Then &then : waiting) clock_.at(clock_.now(), std::move(then));
  }

  Clock &clock_;
  Processors &processors_;
  const uint64_t turn_, block_;
  const uint32_t frames_, clients_;
  Arm arm_;
  std::vector<uint64_t> tables_;
  core::StorageCache cache_;
  std::vector<std::vector<Then>> waits_; ///< of each frame
  std::vector<Then> for_room_;
  std::set<uint32_t> filled_;
  std::map<uint64_t, Then> writes_;
  uint64_t token_ = 0, bytes_ = 0;
  uint32_t serving_ = 0;
  bool is_busy_ = false;
};

/// The pages that a member has in memory: the last used ones.
class Pages {
public:
  explicit Pages(uint64_t most) : most_(most) {}
  bool has(uint64_t page) const { return where_.contains(page); }
  void use(uint64_t page) {
    if (const auto at = where_.find(page); at != where_.end()) order_.erase(at->second);
    where_[page] = order_.insert(order_.begin(), page);
    if (where_.size() <= most_) return;
    where_.erase(order_.back());
    order_.pop_back();
  }
  void drop(const std::set<uint64_t> &pages) {
    for (const uint64_t page : pages)
      if (const auto at = where_.find(page); at != where_.end()) order_.erase(at->second), where_.erase(at);
  }

private:
  const uint64_t most_;
  std::list<uint64_t> order_;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> where_;
};

using Blocks = std::set<uint64_t>;

/// A nest that members have open at the same time, and what is asked for them.
struct Group {
  std::vector<uint32_t> members;
  uint64_t intervals = 1;
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

struct Member {
  size_t visit = 0, step = 0, issued = 0; ///< steps for which it has asked
  std::vector<Step> steps;
  Group *group = nullptr;
  uint64_t intervals = 1, asked = 0, interval = ~uint64_t{0}; ///< asked: intervals, by itself
  uint64_t under_way = 0;
  std::unordered_map<uint64_t, uint64_t> coming; ///< pages that have been asked for
  bool waits_for_pages = false;
  std::set<uint64_t> dirty;
  std::map<uint64_t, bool> is_whole; ///< of dirty pages: all of it is stored to
};

class Replay {
public:
  Replay(const RecordedRun &run, const RunMachine &m, const Scheme &scheme)
      : run_(run), m_(m), scheme_(scheme), processors_(clock_, m.processors), node_(clock_, processors_, m, run.members + 1),
        legs_(legs_of(run, m.processors)), members_(run.members) {
    for (uint32_t r = 0; r < run.members; ++r) pages_.emplace_back(m.memory / m.page);
  }

  RunReport go() {
    begin_leg();
    clock_.run();
    report_.micros = clock_.now();
    node_.report(&report_);
    return report_;
  }

private:
  uint64_t block_of(uint64_t page) const { return page * m_.page / m_.block; }
  bool has_scheme() const { return scheme_.kind != SchemeKind::kNone; }
  uint64_t interval_at(const Member &m, size_t step, uint64_t intervals) const { return step * intervals / m.steps.size(); }

  // --- legs ---
  void begin_leg() {
    if (leg_ == legs_.size()) return;
    there_ = 0;
    make_groups();
    for (uint32_t r = 0; r < run_.members; ++r) {
      members_[r].visit = 0;
      clock_.at(clock_.now(), [=, this] { begin_visit(r); });
    }
  }

  void begin_visit(uint32_t r) {
    Member &m = members_[r];
    const std::vector<Visit> &visits = legs_[leg_].of[r];
    if (m.visit == visits.size()) return flush(r);
    const Visit &visit = visits[m.visit];
    m.steps = steps_of(*visit.entry, m_.page, run_.bytes);
    m.step = m.issued = m.asked = 0;
    m.interval = ~uint64_t{0};
    const auto group = group_of_.find({visit.entry->phase, visit.occurrence, r});
    m.group = group == group_of_.end() ? nullptr : group->second;
    m.intervals = std::min<uint64_t>(m.group ? m.group->intervals : own_intervals(*visit.entry), m.steps.size());
    if (m.group && m.group->has_helper) come(r);
    go_on(r);
  }

  uint64_t own_intervals(const RecordedEntry &e) const {
    uint64_t out = uint64_t(1 / scheme_.interval);
    for (const RecordedReference &ref : e.references) out = std::max(out, reach_of(ref.reference) / (kMostAhead * m_.block));
    return out;
  }

  void end_visit(uint32_t r) {
    Member &m = members_[r];
    if (m.group && m.group->has_helper) {
      m.group->at.erase(r);
      follow(m.group);
    }
    ++m.visit;
    begin_visit(r);
  }

  // --- what a member has stored is written when it comes to where all meet ---
  void flush(uint32_t r) {
    Member &m = members_[r];
    std::vector<std::pair<uint64_t, uint64_t>> runs; // pages
    for (const uint64_t p : m.dirty)
      if (!runs.empty() && runs.back().second == p && (p - runs.back().first) * m_.page < Arm::kLargest) ++runs.back().second;
      else runs.emplace_back(p, p + 1);
    stored_.insert(m.dirty.begin(), m.dirty.end());
    m.dirty.clear();
    auto left = std::make_shared<size_t>(runs.size() + 1);
    const auto one_less = [=, this] {
      if (--*left == 0) meet();
    };
    for (const auto &[first, end] : runs)
      processors_.work(m_.request, [=, this, first = first, end = end] {
        node_.serve(1);
        write_from(r, first * m_.page, end * m_.page, one_less);
      });
    one_less();
  }

  /// As many blocks as a request holds, and then the next ones.
  void write_from(uint32_t r, uint64_t from, uint64_t end, Then then) {
    if (from >= end) {
      node_.serve(-1);
      return then();
    }
    const uint64_t first = from / m_.block, last = std::min((end - 1) / m_.block, first + node_.share() - 1);
    const uint64_t to = std::min(end, (last + 1) * m_.block);
    auto held = std::make_shared<std::vector<uint32_t>>();
    const uint64_t wanted = last - first + 1;
    for (uint64_t b = first; b <= last; ++b) {
      const bool is_filled = from <= b * m_.block && (b + 1) * m_.block <= to;
      node_.read(b, r, is_filled, true, [=, this](uint32_t f) {
        held->push_back(f);
        if (held->size() == wanted) node_.write(from, to - from, *held, [=, this] { write_from(r, to, end, then); });
      });
    }
  }

  void meet() {
    if (++there_ < run_.members) return;
    for (Pages &pages : pages_) pages.drop(stored_);
    stored_.clear();
    const uint64_t pause = legs_[leg_++].pause;
    clock_.at(clock_.now() + pause, [this] { begin_leg(); });
  }

  // --- a member's steps ---
  void go_on(uint32_t r) {
    Member &m = members_[r];
    if (m.step == m.steps.size()) return end_visit(r);
    if (has_scheme() && !may_enter(r)) return;
    ask_for_pages(r);
    size_t missing = 0;
    for (const PageTouch &t : m.steps[m.step]) missing += m.coming.contains(t.page);
    if (missing) {
      m.waits_for_pages = true;
      return;
    }
    for (const PageTouch &t : m.steps[m.step]) {
      pages_[r].use(t.page);
      if (t.stored == core::Stored::kNo) continue;
      m.dirty.insert(t.page);
    }
    const uint64_t micros = legs_[leg_].of[r][m.visit].micros / m.steps.size();
    ++m.step;
    processors_.work(micros, [=, this] { go_on(r); });
  }

  /// At the beginning of an interval: asks for the next one's blocks, or waits until the helper has asked for this one's.
  bool may_enter(uint32_t r) {
    Member &m = members_[r];
    Group *g = m.group && m.group->has_helper ? m.group : nullptr;
    const uint64_t k = interval_at(m, m.step, m.intervals);
    if (k != m.interval) {
      m.interval = k;
      if (g) {
        g->at[r] = k;
        ++report_.meetings;
        follow(g);
      }
    }
    if (!g) {
      for (; m.asked < m.intervals && m.asked <= k + 1; ++m.asked) ask_far(r, blocks_of(m, m.asked), r);
      return true;
    }
    if (k < g->asked && k <= g->slowest() + kLead) return true;
    g->waiting.push_back(r);
    return false;
  }

  Blocks blocks_of(const Member &m, uint64_t k) const {
    Blocks out;
    for (size_t s = 0; s < m.steps.size(); ++s)
      if (interval_at(m, s, m.intervals) == k)
        for (const PageTouch &t : m.steps[s]) out.insert(block_of(t.page));
    return out;
  }

  /// Blocks that follow each other are one request, for which someone pays.
  void ask_far(uint32_t, const Blocks &blocks, uint32_t client) {
    std::vector<uint64_t> row;
    const auto ask = [&] {
      if (row.empty()) return;
      processors_.work(m_.request, [=, this] {
        for (const uint64_t b : row) node_.prefetch(b, client);
      });
      row.clear();
    };
    for (const uint64_t b : blocks) {
      if (client < run_.members && !lacks(client, b)) continue;
      if (!row.empty() && (row.back() + 1 != b || row.size() * m_.block >= Arm::kLargest)) ask();
      row.push_back(b);
    }
    ask();
  }

  bool lacks(uint32_t r, uint64_t block) const {
    for (uint64_t p = block * m_.block / m_.page; p < (block + 1) * m_.block / m_.page; ++p)
      if (!pages_[r].has(p) && !members_[r].coming.contains(p)) return true;
    return false;
  }

  /// For pages of this step, and, with a scheme, of those that follow.
  void ask_for_pages(uint32_t r) {
    Member &m = members_[r];
    m.issued = std::max(m.issued, m.step);
    const Group *g = m.group && m.group->has_helper ? m.group : nullptr;
    const uint64_t end = g ? g->asked : m.asked;
    while (m.issued < m.steps.size()) {
      if (m.issued > m.step && (!has_scheme() || m.under_way >= kPagesAhead || interval_at(m, m.issued, m.intervals) >= end))
        return;
      std::vector<uint64_t> row;
      for (const PageTouch &t : m.steps[m.issued]) {
        if (pages_[r].has(t.page) || m.coming.contains(t.page) || (has_scheme() && t.stored == core::Stored::kAll)) continue;
        if (!row.empty() && (!has_scheme() || row.back() + 1 != t.page || block_of(row.back()) != block_of(t.page)))
          request(r, std::move(row)), row.clear();
        row.push_back(t.page);
        m.coming[t.page] = clock_.now();
        ++m.under_way;
      }
      if (!row.empty()) request(r, std::move(row));
      ++m.issued;
    }
  }

  void request(uint32_t r, std::vector<uint64_t> row) {
    ++report_.requests;
    if (!has_scheme()) { // one after the other
      queue_[r].push_back(std::move(row));
      if (queue_[r].size() == 1) next_request(r);
      return;
    }
    processors_.work(m_.request - m_.request / 2, [=, this] {
      node_.serve(1);
      node_.read(block_of(row[0]), r, false, false, [=, this](uint32_t) {
        node_.serve(-1);
        processors_.work(m_.request / 2, [=, this] { got(r, row); });
      });
    });
  }
  void next_request(uint32_t r) {
    processors_.work(m_.request - m_.request / 2, [=, this] {
      node_.serve(1);
      node_.read(block_of(queue_[r].front()[0]), r, false, false, [=, this](uint32_t) {
        node_.serve(-1);
        processors_.work(m_.request / 2, [=, this] {
          const std::vector<uint64_t> row = std::move(queue_[r].front());
          queue_[r].pop_front();
          if (!queue_[r].empty()) next_request(r);
          got(r, row);
        });
      });
    });
  }

  void got(uint32_t r, const std::vector<uint64_t> &row) {
    Member &m = members_[r];
    for (const uint64_t p : row) {
      m.coming.erase(p);
      pages_[r].use(p);
      --m.under_way;
    }
    if (!m.waits_for_pages) return;
    for (const PageTouch &t : m.steps[m.step])
      if (m.coming.contains(t.page)) return;
    m.waits_for_pages = false;
    go_on(r);
  }

  // --- helpers ---
  void come(uint32_t r) {
    Group *g = members_[r].group;
    g->at[r] = 0;
    g->seen.insert(r);
    if (g->seen.size() == 1) {
      g->first_came = clock_.now();
      clock_.at(clock_.now() + kGrace, [=, this] { begin_group(g); });
    }
    if (g->seen.size() == g->members.size()) begin_group(g);
  }
  void begin_group(Group *g) {
    if (g->has_begun) return;
    g->has_begun = true;
    ++report_.teams;
    follow(g);
  }
  /// The helper asks for what comes next, and those who wait look again.
  void follow(Group *g) {
    if (!g->has_begun || g->at.empty()) return;
    for (; g->asked < g->intervals && g->asked <= g->slowest() + 1; ++g->asked) {
      Blocks blocks = g->unions[g->asked];
      if (g->asked)
        for (const uint64_t b : g->unions[g->asked - 1]) blocks.erase(b);
      ask_far(0, blocks, run_.members);
    }
    std::vector<uint32_t> waiting;
    waiting.swap(g->waiting);
    for (const uint32_t r : waiting) clock_.at(clock_.now(), [=, this] { go_on(r); });
  }

  // --- who is served together ---
  /// The nests that members enter in this leg, each with those who do.
  void make_groups() {
    group_of_.clear();
    if (scheme_.kind == SchemeKind::kNone || scheme_.kind == SchemeKind::kIndependent) return;
    std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, std::vector<Step>>> nests;
    for (uint32_t r = 0; r < run_.members; ++r)
      for (const Visit &v : legs_[leg_].of[r]) nests[{v.entry->phase, v.occurrence}][r] = steps_of(*v.entry, m_.page, run_.bytes);
    for (const auto &[name, steps] : nests) make_groups(name, steps);
  }

  void make_groups(std::pair<uint32_t, uint32_t> name, const std::map<uint32_t, std::vector<Step>> &steps) {
    std::vector<uint32_t> members;
    for (const auto &[r, unused] : steps) members.push_back(r);
    uint32_t teams = 1;
    std::vector<uint32_t> team_of(members.size(), 0);
    if (scheme_.kind == SchemeKind::kReserved) {
      for (size_t i = 0; i < members.size(); ++i) team_of[i] = members[i] * scheme_.reserved / run_.members;
      teams = scheme_.reserved;
    } else teams = clusters(steps, members, &team_of);
    for (uint32_t t = 0; t < teams; ++t) add_group(name, steps, members, team_of, t, true, most_blocks(teams));
    add_group(name, steps, members, team_of, core::kAlone, false, 2 * most_blocks(teams + 1));
  }

  uint64_t most_blocks(uint64_t teams) const {
    const uint64_t frames = node_.frames();
    return std::max({uint64_t{1}, frames * 3 / 8 / std::max<uint64_t>(teams, 1), std::min(kLeastUnion, frames / 8)});
  }

  uint32_t clusters(const std::map<uint32_t, std::vector<Step>> &steps, const std::vector<uint32_t> &members,
                    std::vector<uint32_t> *team_of) const {
    const uint64_t words = core::block_set_words((run_.bytes + m_.block - 1) / m_.block);
    std::vector<std::vector<uint64_t>> sets(members.size(), std::vector<uint64_t>(words));
    std::vector<const uint64_t *> rows;
    for (size_t i = 0; i < members.size(); ++i) {
      for (const Step &step : steps.at(members[i]))
        for (const PageTouch &t : step) core::insert_block(sets[i].data(), block_of(t.page));
      rows.push_back(sets[i].data());
    }
    const auto count = uint32_t(members.size());
    std::vector<double> densities(size_t(count) * count);
    core::pair_densities(rows.data(), count, words, densities.data());
    const uint32_t smallest = scheme_.kind == SchemeKind::kLive ? 2 : scheme_.smallest;
    return core::make_teams(densities.data(), count, {scheme_.threshold, smallest}, team_of->data());
  }

  /// Those of the team; `most`: blocks of an interval.
  void add_group(std::pair<uint32_t, uint32_t> name, const std::map<uint32_t, std::vector<Step>> &steps,
                 const std::vector<uint32_t> &members, const std::vector<uint32_t> &team_of, uint32_t team, bool has_helper,
                 uint64_t most) {
    auto group = std::make_unique<Group>();
    uint64_t longest = 1;
    for (size_t i = 0; i < members.size(); ++i) {
      if (team_of[i] != team) continue;
      group->members.push_back(members[i]);
      longest = std::max<uint64_t>(longest, steps.at(members[i]).size());
    }
    if (group->members.empty()) return;
    group->has_helper = has_helper;
    const auto largest = [&](uint64_t length) {
      group->intervals = (longest + length - 1) / length;
      group->unions = unions_of(steps, *group);
      size_t most_of_one = 0;
      for (const Blocks &blocks : group->unions) most_of_one = std::max(most_of_one, blocks.size());
      return most_of_one;
    };
    largest(core::fitting_interval(std::max<uint64_t>(1, uint64_t(double(longest) * scheme_.interval)), most, largest));
    for (const uint32_t r : group->members) group_of_[{name.first, name.second, r}] = group.get();
    groups_.push_back(std::move(group));
  }

  std::vector<Blocks> unions_of(const std::map<uint32_t, std::vector<Step>> &steps, const Group &group) const {
    std::vector<Blocks> out(group.intervals);
    for (const uint32_t r : group.members) {
      const std::vector<Step> &of = steps.at(r);
      const uint64_t intervals = std::min<uint64_t>(group.intervals, of.size());
      for (size_t s = 0; s < of.size(); ++s)
        for (const PageTouch &t : of[s]) out[s * intervals / of.size()].insert(block_of(t.page));
    }
    return out;
  }

  const RecordedRun &run_;
  const RunMachine m_;
  const Scheme scheme_;
  Clock clock_;
  Processors processors_;
  Node node_;
  std::vector<Leg> legs_;
  size_t leg_ = 0;
  uint32_t there_ = 0;
  std::vector<Member> members_;
  std::vector<Pages> pages_;
  std::map<uint32_t, std::deque<std::vector<uint64_t>>> queue_; ///< requests of who has one at a time
  std::set<uint64_t> stored_; ///< pages, by anyone in this leg
  std::vector<std::unique_ptr<Group>> groups_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Group *> group_of_;
  RunReport report_;
};

} // namespace

RunReport replay(const RecordedRun &run, const RunMachine &m, const Scheme &scheme) { return Replay(run, m, scheme).go(); }

} // namespace pagecast::simulator
