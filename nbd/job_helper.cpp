// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nbd/job_helper.h"

#include "nbd/clock.h"
#include "runtime/nbd/helper_start.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pagecast::nbd {
namespace {

constexpr int kConnectMs = 5000, kCheckMs = 100; ///< a member that was killed says nothing
constexpr uint64_t kUnknownCache = 16u << 20;
constexpr unsigned kMostUnderWay = 1024;
constexpr uint64_t kLeastUnion = 8; ///< blocks
constexpr uint64_t kLargestRequest = 1u << 20; ///< bytes

/// The same server's, of another export; with `client`, in its name.
std::string address_of(const std::string &uri, const std::string &name, const std::string &client) {
  const size_t host = uri.find("://"), path = host == std::string::npos ? host : uri.find('/', host + 3);
  if (path == std::string::npos) return uri;
  const size_t end = std::min(uri.find('?', path), uri.size());
  return uri.substr(0, path + 1) + (name.empty() ? uri.substr(path + 1, end - path - 1) : name) +
         (client.empty() ? "" : "%3Fclient=" + client) + uri.substr(end);
}

/// The size of the cache of `pagecast serve`, bytes; 0: it is another server.
uint64_t cache_of(const std::string &uri) {
  nbd_handle *h = nbd_create();
  char text[512] = "";
  if (h && nbd_connect_uri(h, address_of(uri, "pagecast:counts", "").c_str()) == 0)
    if (const int64_t bytes = nbd_get_size(h); bytes > 0)
      if (nbd_pread(h, text, std::min<size_t>(sizeof text - 1, static_cast<size_t>(bytes)), 0, 0)) text[0] = 0;
  if (h) nbd_close(h);
  const char *found = strstr(text, "\"cache_bytes\": ");
  return found ? strtoull(found + strlen("\"cache_bytes\": "), nullptr, 10) : 0;
}

} // namespace

JobHelper::JobHelper(Job &job, const JobScheme &scheme, int ended) : job_(job), scheme_(scheme), ended_(ended) {
  exports_.reserve(Job::kExports); // what is under way knows where they are
  report_.start(scheme.report, now_ns());
}

// --- what members say --------------------------------------------------------------------------------

void JobHelper::learn_exports() {
  while (exports_.size() < Job::kExports && job_.exports[exports_.size()].known.load(std::memory_order_acquire)) {
    const JobExport &e = job_.exports[exports_.size()];
    const std::string uri(e.uri, strnlen(e.uri, sizeof e.uri));
    Served s;
    s.cache_bytes = cache_of(uri);
    const std::string client = s.cache_bytes ? "helper" + std::to_string(getpid()) : "";
    s.connections = std::make_unique<Connections>(address_of(uri, "", client), ended_);
    if (s.connections->open(kConnectMs, 1) && s.connections->facts().caches) s.bytes = s.connections->facts().bytes;
    const uint64_t block = std::max<uint64_t>(e.block, 512), blocks = (s.bytes + block - 1) / block;
    sets_.push_back({block, words_, (blocks + 63) / 64});
    words_ += sets_.back().words;
    exports_.push_back(std::move(s));
  }
}

bool JobHelper::read_entry(uint32_t place, uint32_t entry, Opened *out) {
  const JobEntry &e = job_.member[place].entry[entry];
  const uint32_t serial = e.serial.load(std::memory_order_acquire);
  if (serial % 2 == 0) return false;
  Opened o{place, entry, serial, job_.member[place].rank, e.phase, {}, now_ns(), e.done.load(std::memory_order_relaxed)};
  const uint32_t count = std::min(e.foreseen_count, JobEntry::kMostForeseen);
  o.foreseen.assign(e.foreseen, e.foreseen + count);
  o.own_intervals = e.own_intervals;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (e.serial.load(std::memory_order_relaxed) != serial) return false;
  o.done = std::min(o.done, uint64_t{1} << JobEntry::kDoneShift);
  for (const core::Foreseen &f : o.foreseen)
    if (f.data_set >= sets_.size() || f.reference.loops > core::kMaxLoops) return false;
  *out = std::move(o);
  return true;
}

bool JobHelper::is_alive(uint32_t place) const { return os::is_byte_locked(Job::kMemory, place); }

/// Reads all entries anew. Whether others are open than before.
bool JobHelper::look() {
  learn_exports();
  const bool checks = now_ns() - checked_ns_ > kCheckMs * uint64_t{1'000'000};
  if (checks) checked_ns_ = now_ns();
  std::vector<Opened> now;
  for (uint32_t place = 0; place < Job::kMembers; ++place)
    for (uint32_t entry = 0; entry < JobMember::kEntries; ++entry) {
      Opened o;
      if (!read_entry(place, entry, &o) || (checks && !is_alive(place))) continue;
      const auto before = std::find_if(opened_.begin(), opened_.end(), [&](const Opened &other) { return other.is(o); });
      if (before != opened_.end()) o.seen_ns = before->seen_ns, o.is_served = before->is_served;
      else report_.opened(o);
      now.push_back(std::move(o));
    }
  const bool same = std::equal(now.begin(), now.end(), opened_.begin(), opened_.end(),
                               [](const Opened &a, const Opened &b) { return a.is(b); });
  for (const Opened &o : opened_)
    if (!same && std::none_of(now.begin(), now.end(), [&](const Opened &n) { return n.is(o); })) report_.closed(o, now_ns());
  opened_ = std::move(now);
  return !same;
}

// --- teams -------------------------------------------------------------------------------------------

/// The most blocks of an interval of one team: what is asked for and what is read now are three quarters of the cache, for all
/// teams. But a meeting costs as much as the disk needs for some blocks, so that intervals never are shorter than that.
uint64_t JobHelper::most_blocks(size_t teams) const {
  uint64_t least = ~uint64_t{0};
  for (size_t e = 0; e < exports_.size(); ++e)
    least = std::min(least, (exports_[e].cache_bytes ? exports_[e].cache_bytes : kUnknownCache) / sets_[e].block);
  return std::max({uint64_t{1}, least * 3 / 8 / std::max<size_t>(teams, 1), std::min(kLeastUnion, least / 8)});
}

void JobHelper::answer(const Opened &o, uint8_t kind, uint64_t intervals) {
  const JobVerdict verdict{o.serial, static_cast<uint32_t>(intervals), static_cast<JobVerdict::Kind>(kind)};
  job_.member[o.place].entry[o.entry].verdict.store(verdict.packed(), std::memory_order_release);
}

/// Who waits for the helper there looks again.
void JobHelper::wake(const Opened &o) {
  syscall(SYS_futex, &job_.member[o.place].entry[o.entry].asked, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// So many intervals have been asked for: who waits for the last of them goes on.
void JobHelper::tell(const Opened &o, uint64_t asked) {
  std::atomic<uint32_t> &word = job_.member[o.place].entry[o.entry].asked;
  if (word.exchange(static_cast<uint32_t>(asked), std::memory_order_seq_cst) != asked) wake(o);
}

/// Whether there are servers that it can ask for all that the members' nests will touch: else they had a helper that does nothing.
bool JobHelper::can_ask(const std::vector<Opened> &members) const {
  const auto is_served = [&](const core::Foreseen &f) {
    const Served &s = exports_[f.data_set];
    return s.bytes && s.connections->any() && !s.connections->lost();
  };
  return std::all_of(members.begin(), members.end(),
                     [&](const Opened &o) { return std::all_of(o.foreseen.begin(), o.foreseen.end(), is_served); });
}

void JobHelper::say_misfits() {
  for (const Opened &o : opened_)
    if (scheme_.kind == JobScheme::kByProfile && o.rank >= scheme_.ranks && !misfits_said_) {
      fprintf(stderr, "pagecast: the profile is of %lld ranks: rank %lld and those after it ask for their own blocks\n",
              static_cast<long long>(scheme_.ranks), static_cast<long long>(scheme_.ranks));
      misfits_said_ = true;
    }
}

/// Teams go on to which nobody has come, whoever has left; others begin where their members are.
void JobHelper::regroup() {
  std::map<uint64_t, std::vector<Opened>> phases;
  for (const Opened &o : opened_) ranks_ = std::max(ranks_, (o.rank >= 0 ? o.rank : int64_t{o.place}) + 1);
  for (const Opened &o : opened_) phases[o.phase].push_back(o);
  std::vector<std::vector<Opened>> wanted;
  say_misfits();
  alone_.clear();
  for (const auto &[phase, members] : phases)
    if (!price_[phase].pays(now_ns()) || !price_of_all_.pays(now_ns()) || !can_ask(members)) {
      for (const Opened &o : members) alone_.push_back(o), alone_.back().is_settled = true;
    } else
      for (auto &team : teams_of(members, scheme_, sets_, words_, ranks_, now_ns(), &alone_)) wanted.push_back(std::move(team));
  std::vector<std::unique_ptr<JobTeam>> teams;
  for (auto &members : wanted) {
    // Of the team as it was, those who have left may be missing, and nobody else.
    const auto is_same = [&](const std::unique_ptr<JobTeam> &t) {
      if (!t) return false;
      size_t there = 0;
      for (const Opened &m : t->members())
        there += std::any_of(opened_.begin(), opened_.end(), [&](const Opened &o) { return o.is(m); });
      return there == members.size() && std::all_of(members.begin(), members.end(), [&](const Opened &o) {
               return std::any_of(t->members().begin(), t->members().end(), [&](const Opened &m) { return m.is(o); });
             });
    };
    const auto same = std::find_if(teams_.begin(), teams_.end(), is_same);
    if (same != teams_.end()) {
      teams.push_back(std::move(*same));
      continue;
    }
    const uint64_t phase = members[0].phase;
    auto team = std::make_unique<JobTeam>(std::move(members), scheme_, sets_, words_, most_blocks(wanted.size()));
    for (const auto &before : teams_)
      if (before && before->members()[0].phase == phase) team->know(before->recent());
    report_.team(team->members().size(), team->intervals());
    for (const Opened &o : team->members()) {
      tell(o, team->asked());
      answer(o, JobVerdict::kServed, team->intervals());
    }
    teams.push_back(std::move(team));
  }
  teams_ = std::move(teams);
  for (Opened &o : opened_) o.is_served |= is_in_team(o);
}

bool JobHelper::is_in_team(const Opened &o) const {
  return std::any_of(teams_.begin(), teams_.end(), [&](const std::unique_ptr<JobTeam> &t) {
    return std::any_of(t->members().begin(), t->members().end(), [&](const Opened &m) { return m.is(o); });
  });
}

/// How many intervals a member without a team has, by what all that are alone in its phase ask for at a time.
uint64_t JobHelper::intervals_alone(const Opened &o) const {
  std::vector<Opened> alone;
  for (const Opened &other : opened_)
    if (other.phase == o.phase && !is_in_team(other)) alone.push_back(other);
  return nbd::intervals_alone(o, alone, scheme_, sets_, words_, most_blocks(teams_.size() + 1));
}

/// Those without a team ask for themselves, once others have had time to come; those whose team has gone need not wait. Some of
/// them may be a team then. Whether some are still to be answered.
bool JobHelper::answer_alone() {
  const uint64_t now = now_ns();
  const auto may_be_answered = [&](const Opened &o) { return o.is_served || o.is_settled || now - o.seen_ns >= kGraceNs; };
  if (std::any_of(alone_.begin(), alone_.end(), may_be_answered)) regroup();
  for (const Opened &o : alone_) {
    if (!may_be_answered(o)) continue;
    answer(o, JobVerdict::kOwn, intervals_alone(o));
    wake(o);
  }
  alone_.erase(std::remove_if(alone_.begin(), alone_.end(), may_be_answered), alone_.end());
  return !alone_.empty();
}

/// For how long its members have waited for others, in all of their nests so far.
uint64_t JobHelper::met_ns(const JobTeam &team) const {
  uint64_t sum = 0;
  for (const Opened &o : team.members()) sum += job_.member[o.place].entry[o.entry].met_ns.load(std::memory_order_relaxed);
  return sum;
}

/// Whether its phase is to have no team for a while, since the members wait for each other for most of the time.
bool JobHelper::is_too_dear(JobTeam &team) {
  const JobTeam::Paid now{now_ns(), met_ns(team), team.asked()}, before = team.paid;
  if (before.at_ns && now.asked == before.asked) return false;
  team.paid = now;
  if (!before.at_ns) return false;
  const uint64_t intervals = now.asked - before.asked, spent = (now.at_ns - before.at_ns) * team.members().size(),
                 met = now.met_ns - before.met_ns;
  const bool is_dear = price_[team.members()[0].phase].went(intervals, spent, met, now.at_ns);
  return price_of_all_.went(intervals, spent, met, now.at_ns) || is_dear;
}

/// Asks for what teams have come to, and gives up those that cost more than they can bring.
void JobHelper::follow() {
  std::vector<uint64_t> blocks;
  bool is_any_to_end = false;
  for (const auto &team : teams_) {
    if (!can_ask(team->members())) {
      is_any_to_end = true; // its server has gone
      continue;
    }
    for (size_t m = 0; m < team->members().size(); ++m) {
      const Opened &member = team->members()[m];
      const auto now = std::find_if(opened_.begin(), opened_.end(), [&](const Opened &o) { return o.is(member); });
      team->note(m, now == opened_.end() ? nullptr : &*now);
    }
    while (team->next(&blocks)) ask(blocks);
    for (const Opened &o : team->members()) tell(o, team->asked());
    if (!is_too_dear(*team)) continue;
    is_any_to_end = true;
    report_.given_up();
  }
  if (!is_any_to_end) return;
  regroup();
  answer_alone();
}

int JobHelper::asked(void *served, int *) { return --static_cast<Served *>(served)->under_way, 1; }

/// Blocks that follow each other go in one request, so that the server's disk may read them in one.
void JobHelper::ask(const std::vector<uint64_t> &blocks) {
  for (size_t e = 0; e < exports_.size(); ++e) {
    Served &s = exports_[e];
    const uint64_t first = sets_[e].first_word * 64, end = first + sets_[e].words * 64, block = sets_[e].block;
    for (size_t i = 0; i < blocks.size();) {
      const uint64_t begin = blocks[i], offset = (begin - first) * block;
      uint64_t count = 1;
      if (begin < first || begin >= end) {
        ++i;
        continue;
      }
      while (i + count < blocks.size() && blocks[i + count] == begin + count && begin + count < end &&
             count * block < kLargestRequest)
        ++count;
      i += count;
      const bool can_be = s.bytes > offset && s.under_way < kMostUnderWay && !s.connections->lost();
      s.under_way += can_be;
      if (can_be && s.connections->cache(std::min(count * block, s.bytes - offset), offset, asked, &s)) --s.under_way;
      if (can_be) report_.asked(count);
      else report_.left(count);
    }
  }
}

// --- the loop ----------------------------------------------------------------------------------------

/// Until somebody has said something, or a server has answered.
void JobHelper::wait(int timeout_ms) {
  std::vector<pollfd> p{{ended_, POLLIN, 0}, {Job::kPipe, POLLIN, 0}};
  for (const Served &s : exports_) {
    const size_t at = p.size();
    p.resize(at + s.connections->count());
    s.connections->wants(p.data() + at);
  }
  poll(p.data(), p.size(), timeout_ms);
  char bytes[256];
  while (read(Job::kPipe, bytes, sizeof bytes) > 0) {}
  size_t at = 2;
  for (const Served &s : exports_) {
    s.connections->go_on(p.data() + at);
    at += s.connections->count();
    if (s.connections->lost()) s.connections->close(); // its members miss what nobody asks for: that is all
  }
}

void JobHelper::run() {
  for (pollfd end{ended_, POLLIN, 0}; poll(&end, 1, 0) == 0;) {
    job_.asleep.store(1, std::memory_order_seq_cst); // before looking, so that nothing that is said after that is missed
    if (look()) regroup();
    const bool some_wait = answer_alone();
    follow();
    wait(some_wait ? static_cast<int>(kGraceNs / 1'000'000) : opened_.empty() ? -1 : kCheckMs);
  }
  look();
  report_.write(job_, sets_, now_ns());
}

} // namespace pagecast::nbd
