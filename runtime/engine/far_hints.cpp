// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/far_hints.h"

#include "core/arithmetic.h"
#include "core/nest/plan.h"
#include "core/sharing/reference.h"
#include "runtime/kernel/os.h"

#include <algorithm>
#include <cstring>

namespace pagecast {
namespace {

constexpr uint64_t kMostAhead = 4; ///< blocks of a group in an interval, about
constexpr uint64_t kLargestRequest = 1u << 20; ///< bytes
constexpr auto kLeastIntervals = static_cast<uint64_t>(1 / core::kInterval);

/// Whether its references say on entry what they will touch.
bool is_seen(const core::Group &g) { return !g.indirect && (g.reads || g.writes) && g.hi > g.lo; }

core::Reference reference_of(const core::Shape &shape, const core::Group &g, uint64_t beginning) {
  core::Reference r;
  r.first = static_cast<int64_t>(g.base + static_cast<uint64_t>(g.lo) - beginning);
  r.span = static_cast<uint64_t>(g.hi - g.lo);
  r.loops = shape.loops;
  std::copy(shape.trips, shape.trips + shape.loops, r.trips);
  std::copy(g.stride, g.stride + shape.loops, r.stride);
  return r;
}

core::Asker::Answer answer_of(const JobVerdict &verdict) {
  if (verdict.kind == JobVerdict::kServed && verdict.intervals) return core::Asker::Answer::kServed;
  return verdict.kind == JobVerdict::kOwn ? core::Asker::Answer::kDeclined : core::Asker::Answer::kNone;
}

/// The step at which interval `k` begins.
uint64_t step_of(uint64_t k, uint64_t steps, uint64_t intervals) {
  return static_cast<uint64_t>((static_cast<__int128>(k) * steps + intervals - 1) / intervals);
}

} // namespace

FarHints::Blocks FarHints::blocks_of(const PagedRegion &r) const {
  const uint64_t beginning = r.base - (r.origin.start + (uint64_t{r.first_slot} << pager_.memory.shift));
  const uint64_t block = pager_.store.block_of(r.origin);
  return {beginning, block, std::min(core::block_set_words((r.end() - beginning + block - 1) / block), kMostWords)};
}

/// The region of the export whose pages the group touches; NULL: it is not known on entry, or they are of none.
const PagedRegion *FarHints::export_of(const core::Group &g) const {
  const PagedRegion *r = is_seen(g) ? pager_.memory.regions.find(g.base + static_cast<uint64_t>(g.lo)) : nullptr;
  return r && r->origin.is_map() ? r : nullptr;
}

/// Cuts the nest of so many steps into so many intervals, or as many as it has steps. What was asked for stays asked for.
void FarHints::cut(Nest &n, uint64_t intervals, uint64_t steps) {
  intervals = std::min(intervals, steps);
  if (n.intervals) n.next = core::rescale(n.next, n.intervals, intervals);
  n.intervals = intervals;
}

void FarHints::begin(const OpenNest &nest) {
  Nest &n = nest_[number_of(&nest)] = {};
  uint64_t intervals = 0;
  const core::Shape &shape = nest.policy.shape();
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::Group &group = shape.group[g];
    const core::Extent reach = core::reach_of(shape, group);
    const PagedRegion *r = export_of(group);
    if (!r) continue;
    n.bytes += reach.size();
    intervals = std::max({intervals, kLeastIntervals, reach.size() / (kMostAhead * pager_.store.block_of(r->origin))});
  }
  cut(n, intervals, nest.policy.steps());
  n.phase = phase_of(nest);
  n.entry = n.intervals ? lay_open(nest, n.intervals) : -1;
  n.asker.open(n.entry >= 0, os::now_ns());
  if (!n.intervals || before_) return;
  set_ = static_cast<uint64_t *>(os::reserve(kMostWords * sizeof *set_));
  before_ = static_cast<uint64_t *>(set_ ? os::reserve(kMostWords * sizeof *before_) : nullptr);
}

void FarHints::insert(const OpenNest &nest, const PagedRegion &r, const Blocks &blocks, uint64_t interval, uint64_t intervals,
                      uint64_t *set) const {
  const core::Shape &shape = nest.policy.shape();
  memset(set, 0, blocks.words * sizeof *set);
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::Group &group = shape.group[g];
    if (!is_seen(group) || group.base + static_cast<uint64_t>(group.lo) - r.base >= r.bytes) continue;
    const core::Reference reference = reference_of(shape, group, blocks.beginning);
    core::insert_touched(reference, core::interval_of(reference, interval, intervals), blocks.bytes, set, blocks.words);
  }
}

/// Asks for what the interval touches that the one before it did not, and that is not in memory: blocks that follow each other in one
/// request, so that the server's disk may read them in one.
void FarHints::ask(const OpenNest &nest, const PagedRegion &r, uint64_t interval, uint64_t intervals) {
  const Blocks blocks = blocks_of(r);
  insert(nest, r, blocks, interval, intervals, set_);
  if (interval) insert(nest, r, blocks, interval - 1, intervals, before_);
  for (uint64_t w = 0; w < blocks.words && interval; ++w) set_[w] &= ~before_[w];
  const core::Extent mapped{r.base, r.end()};
  const auto is_wanted = [&](uint64_t b) {
    const core::Extent e = core::common({blocks.beginning + b * blocks.bytes, blocks.beginning + (b + 1) * blocks.bytes}, mapped);
    return !e.empty() && !pager_.memory.residency.next_absent(e, blocks.bytes).empty();
  };
  for (uint64_t b = 0, end; (b = core::next_block(set_, blocks.words, b)) < blocks.words * 64; b = end) {
    for (end = b; end < blocks.words * 64 && core::has_block(set_, end) && (end - b) * blocks.bytes < kLargestRequest; ++end)
      if (!is_wanted(end)) break;
    if (end == b) {
      ++end;
      continue;
    }
    const core::Extent e = core::common({blocks.beginning + b * blocks.bytes, blocks.beginning + end * blocks.bytes}, mapped);
    if (!pager_.store.ask_ahead(r.origin, e.begin - blocks.beginning, e.size())) return;
    pager_.memory.statistics.far.asked += end - b;
  }
}

/// Tells the helper what the nest will touch. The entry in the job, or -1: there is no helper, or it has no room.
int FarHints::lay_open(const OpenNest &nest, uint64_t intervals) {
  const int entry = job_.join(static_cast<int>(pager_.memory.options->job)) && job_.has_helper() ? job_.find_entry() : -1;
  if (entry < 0) return -1;
  JobEntry &e = job_[entry];
  const pagecast_nest &d = *nest.description;
  const core::Shape &shape = nest.policy.shape();
  e.phase = Job::phase_of(d.file, d.function, d.line);
  e.foreseen_count = 0;
  e.own_intervals = static_cast<uint32_t>(std::min<uint64_t>(intervals, 0xffffffff));
  for (unsigned g = 0; g < shape.groups; ++g) {
    const core::Group &group = shape.group[g];
    const PagedRegion *r = export_of(group);
    if (!r) continue;
    const NbdStore &map = pager_.store.map_of(r->origin);
    const int number = job_.number_of(map.name(), map.bytes(), map.block());
    if (number < 0 || e.foreseen_count == JobEntry::kMostForeseen) return -1;
    e.foreseen[e.foreseen_count++] = {static_cast<uint32_t>(number), reference_of(shape, group, blocks_of(*r).beginning)};
  }
  job_.open(entry);
  return entry;
}

uint64_t FarHints::go_on(OpenNest &nest, uint64_t step) {
  Nest &n = nest_[number_of(&nest)];
  return n.entry >= 0 ? be_served(nest, n, step) : go_on_alone(nest, n, step);
}

uint64_t FarHints::be_served(OpenNest &nest, Nest &n, uint64_t step) {
  const uint64_t steps = nest.policy.steps();
  const JobVerdict verdict = job_.verdict(n.entry);
  job_.note(n.entry, core::rescale(step, steps, uint64_t{1} << JobEntry::kDoneShift) + 1); // rounded up: it is there
  const core::Asker::Who who = n.asker.who(answer_of(verdict), job_.has_helper(), os::now_ns());
  if (who != core::Asker::Who::kProcess) n.since_ns = 0;
  if (who == core::Asker::Who::kHelper) {
    if (!n.meets) nest.served.store(&job_[n.entry], std::memory_order_release), ++pager_.memory.statistics.far.served;
    n.meets = true;
    const uint64_t asked = job_[n.entry].asked.load(std::memory_order_relaxed),
                   now = core::rescale(step, steps, verdict.intervals);
    nest.policy.stop_before(asked < verdict.intervals ? step_of(asked, steps, verdict.intervals) : ~uint64_t{0});
    if (now + 1 >= verdict.intervals) return asked < verdict.intervals ? step + 1 : ~uint64_t{0};
    return asked < now + 2 && asked < verdict.intervals ? step + 1 : step_of(now + 1, steps, verdict.intervals);
  }
  nest.served.store(nullptr, std::memory_order_relaxed);
  if (verdict.kind == JobVerdict::kOwn && verdict.intervals) // others read, too: as the cache has room for all
    cut(n, verdict.intervals, steps);
  if (who == core::Asker::Who::kProcess)
    return std::min(go_on_alone(nest, n, step), step_of(core::rescale(step, steps, n.intervals) + 1, steps, n.intervals));
  nest.policy.stop_before(step_of(1, steps, n.intervals));
  return step + 1;
}

FarHints::Phase *FarHints::phase_of(const OpenNest &nest) {
  Phase &p = phase_[reinterpret_cast<uintptr_t>(nest.description) / sizeof(pagecast_nest) % kPhases];
  if (p.nest != nest.description) p = {nest.description, {}};
  return &p;
}

/// Notes how fast the nest goes, at the boundaries of intervals. Whether it is to ask.
bool FarHints::pays(Nest &n, uint64_t step, uint64_t steps) {
  core::FarInvestment &investment = n.phase->investment;
  if (n.since_ns && core::rescale(step, steps, n.intervals) == core::rescale(n.step, steps, n.intervals))
    return investment.asks();
  const uint64_t now = os::now_ns(), stops = investment.stops();
  if (n.since_ns) investment.went(core::rescale(step - n.step, steps, n.bytes), now - n.since_ns);
  n.step = step;
  n.since_ns = now;
  pager_.memory.statistics.far.stops += investment.stops() - stops;
  return investment.asks();
}

/// The process asks for itself, an interval ahead.
uint64_t FarHints::go_on_alone(OpenNest &nest, Nest &n, uint64_t step) {
  if (n.next >= n.intervals || !before_) return nest.policy.stop_before(~uint64_t{0}), ~uint64_t{0};
  const uint64_t steps = nest.policy.steps(), now = core::rescale(step, steps, n.intervals);
  const bool asks = pays(n, step, steps);
  n.next = std::max(n.next, now);
  for (; n.next < n.intervals && n.next <= now + 1; ++n.next, pager_.memory.statistics.far.unasked += !asks)
    for (unsigned i = 0; i < pager_.memory.regions.count(); ++i)
      if (const PagedRegion &r = pager_.memory.regions[i]; r.origin.is_map() && asks) ask(nest, r, n.next, n.intervals);
  const bool is_over = n.next >= n.intervals;
  nest.policy.stop_before(is_over ? ~uint64_t{0} : step_of(n.next, steps, n.intervals));
  return is_over ? ~uint64_t{0} : step_of(n.next - 1, steps, n.intervals);
}

void FarHints::end(OpenNest &nest) {
  Nest &n = nest_[number_of(&nest)];
  nest.served.store(nullptr, std::memory_order_relaxed);
  if (n.entry >= 0) job_.close(n.entry);
  n.entry = -1;
}

void FarHints::forked() {
  for (Nest &n : nest_) n.entry = -1;
  for (OpenNest &nest : OpenNests()) nest.served.store(nullptr, std::memory_order_relaxed);
  job_.forget();
}

} // namespace pagecast
