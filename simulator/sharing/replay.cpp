// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/replay.h"
#include "simulator/sharing/event_node.h"
#include "simulator/sharing/groups.h"
#include "simulator/sharing/virtual_time.h"
#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace pagecast::simulator {
namespace {

constexpr uint64_t kGrace = 10'000;   ///< microseconds, for others to come to the same nest
constexpr uint64_t kMostAhead = 4;    ///< blocks of a reference in an interval of who is alone, about
constexpr uint64_t kLead = 1;         ///< intervals
constexpr uint64_t kPagesAhead = 32;  ///< for which a member has asked before it comes to them

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

struct Member {
  size_t visit = 0, step = 0, issued = 0; ///< steps for which it has asked
  std::vector<Step> steps;
  Group *group = nullptr;
  uint64_t intervals = 1, asked = 0, interval = ~uint64_t{0}; ///< asked: intervals, by itself
  uint64_t under_way = 0;
  std::unordered_set<uint64_t> coming; ///< pages that have been asked for
  bool waits_for_pages = false;
  std::set<uint64_t> dirty;
};

class Replay {
public:
  Replay(const RecordedRun &run, const RunMachine &m, const Scheme &scheme)
      : run_(run), m_(m), scheme_(scheme), processors_(clock_, m.processors), node_(clock_, processors_, m, run.members + 1),
        groups_(run, scheme, m.page, m.block, node_.frames()), legs_(legs_of(run, m.processors)), members_(run.members) {
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
    groups_.make(legs_[leg_]);
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
    m.group = groups_.find(visit.entry->phase, visit.occurrence, r);
    m.intervals = std::min<uint64_t>(intervals_of(m.group, *visit.entry), m.steps.size());
    if (m.group && m.group->has_helper) come(r);
    go_on(r);
  }

  uint64_t intervals_of(const Group *group, const RecordedEntry &e) const {
    if (!group) return own_intervals(e);
    return group->has_helper ? group->intervals
                             : core::alone_intervals(own_intervals(e), group->intervals, group->most_intervals);
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
      if (t.stored != core::Stored::kNo) m.dirty.insert(t.page);
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
      for (; m.asked < m.intervals && m.asked <= k + 1; ++m.asked) ask_far(blocks_of(m, m.asked), r);
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

  /// Blocks that follow each other are one request. `client`: a member, which needs no blocks that it has; else the helper.
  void ask_far(const Blocks &blocks, uint32_t client) {
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
        m.coming.insert(t.page);
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
    fetch(r, row, [=, this] { got(r, row); });
  }
  void next_request(uint32_t r) {
    fetch(r, queue_[r].front(), [=, this] {
      const std::vector<uint64_t> row = std::move(queue_[r].front());
      queue_[r].pop_front();
      if (!queue_[r].empty()) next_request(r);
      got(r, row);
    });
  }
  /// `then` when the pages of the row, which are of one block, have come. Half of the request's time passes before, half behind.
  void fetch(uint32_t r, const std::vector<uint64_t> &row, Then then) {
    processors_.work(m_.request - m_.request / 2, [=, this, block = block_of(row[0])] {
      node_.serve(1);
      node_.read(block, r, false, false, [=, this](uint32_t) {
        node_.serve(-1);
        processors_.work(m_.request / 2, then);
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
      ask_far(blocks, run_.members);
    }
    std::vector<uint32_t> waiting;
    waiting.swap(g->waiting);
    for (const uint32_t r : waiting) clock_.at(clock_.now(), [=, this] { go_on(r); });
  }

  const RecordedRun &run_;
  const RunMachine m_;
  const Scheme scheme_;
  Clock clock_;
  Processors processors_;
  EventNode node_;
  Groups groups_;
  std::vector<Leg> legs_;
  size_t leg_ = 0;
  uint32_t there_ = 0;
  std::vector<Member> members_;
  std::vector<Pages> pages_;
  std::map<uint32_t, std::deque<std::vector<uint64_t>>> queue_; ///< requests of who has one at a time
  std::set<uint64_t> stored_; ///< pages, by anyone in this leg
  RunReport report_;
};

} // namespace

RunReport replay(const RecordedRun &run, const RunMachine &m, const Scheme &scheme) { return Replay(run, m, scheme).go(); }

} // namespace pagecast::simulator
