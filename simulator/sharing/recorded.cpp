// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulator/sharing/recorded.h"
#include <algorithm>
#include <map>

namespace pagecast::simulator {
namespace {

constexpr uint64_t kStepPages = 8; ///< about

/// How much of a processor whoever had a nest open has had since the start, at each time at which that changed.
class Shares {
public:
  Shares(const RecordedRun &run, uint32_t processors) : processors_(processors) {
    std::map<uint64_t, int64_t> changes;
    std::vector<uint64_t> busy_until(run.members);
    for (const RecordedEntry &e : run.entries) { // entries may lie within others of the same member
      const uint64_t begin = std::max(e.begin, busy_until[e.member]);
      if (e.end <= begin) continue;
      ++changes[begin], --changes[e.end];
      busy_until[e.member] = e.end;
    }
    double had = 0;
    int64_t open = 0;
    uint64_t before = 0;
    for (const auto &[at, change] : changes) {
      had += double(at - before) * share(open);
      open += change;
      before = at;
      marks_.push_back({at, had, share(open)});
    }
  }

  double until(uint64_t at) const {
    const auto after = std::upper_bound(marks_.begin(), marks_.end(), at, [](uint64_t t, const Mark &m) { return t < m.at; });
    if (after == marks_.begin()) return 0;
    const Mark &m = *std::prev(after);
    return m.had + double(at - m.at) * m.share;
  }

private:
  double share(int64_t open) const { return open > int64_t(processors_) ? double(processors_) / double(open) : 1; }
  struct Mark {
    uint64_t at;
    double had, share;
  };
  uint32_t processors_;
  std::vector<Mark> marks_;
};

uint64_t count_of(const std::vector<Visit> &visits, uint32_t phase) {
  return uint64_t(std::count_if(visits.begin(), visits.end(), [&](const Visit &v) { return v.entry->phase == phase; }));
}

/// Whether the entry may be the first one after a meeting that ends the leg: all have been in it, and none is ahead of this member
/// in what it goes on with, as they would be if it had only been kept from its processor for a while.
bool all_have_met(const Leg &leg, const RecordedEntry &next) {
  const uint64_t own = count_of(leg.of[next.member], next.phase);
  return std::all_of(leg.of.begin(), leg.of.end(),
                     [&](const std::vector<Visit> &visits) { return !visits.empty() && count_of(visits, next.phase) <= own; });
}

} // namespace

std::vector<Leg> legs_of(const RecordedRun &run, uint32_t processors) {
  const Shares shares(run, processors);
  std::vector<Leg> out(1);
  out[0].of.resize(run.members);
  std::vector<uint64_t> last_end(run.members);
  uint64_t end = 0; // of all entries so far
  for (const RecordedEntry &e : run.entries) {
    if (e.begin >= end && all_have_met(out.back(), e)) {
      out.back().pause = e.begin - end;
      out.emplace_back().of.resize(run.members);
    }
    std::vector<Visit> &visits = out.back().of[e.member];
    const uint64_t same = count_of(visits, e.phase);
    // What lies within another entry of the member is that one's time.
    const uint64_t begin = std::min(std::max(e.begin, last_end[e.member]), e.end);
    visits.push_back({&e, uint32_t(same), uint64_t(shares.until(e.end) - shares.until(begin))});
    last_end[e.member] = std::max(last_end[e.member], e.end);
    end = std::max(end, e.end);
  }
  return out;
}

uint64_t reach_of(const core::Reference &r) {
  uint64_t bytes = r.span;
  for (uint32_t k = 0; k < r.loops; ++k)
    if (r.trips[k]) bytes += (r.trips[k] - 1) * uint64_t(std::abs(r.stride[k]));
  return bytes;
}

std::vector<Step> steps_of(const RecordedEntry &entry, uint64_t page, uint64_t bytes) {
  const uint64_t words = core::block_set_words((bytes + page - 1) / page);
  std::vector<uint64_t> set(words);
  const uint64_t *const row = set.data();
  uint64_t iterations = 1, pages = 0;
  for (const RecordedReference &r : entry.references) {
    iterations = std::max(iterations, core::shared_iterations(r.reference));
    core::insert_touched(r.reference, core::interval_of(r.reference, 0, 1), page, set.data(), words);
  }
  pages = core::touched_by(&row, 1, words).by_any;
  std::vector<Step> out(std::clamp<uint64_t>(pages / kStepPages, 1, iterations));
  for (uint64_t k = 0; k < out.size(); ++k)
    for (const RecordedReference &r : entry.references) {
      std::fill(set.begin(), set.end(), 0);
      core::insert_touched(r.reference, core::interval_of(r.reference, k, out.size()), page, set.data(), words);
      for (uint64_t p = 0; (p = core::next_block(row, words, p)) < words * 64; ++p) out[k].push_back({p, r.stored});
    }
  return out;
}

} // namespace pagecast::simulator
