// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/engine/nest_runner.h"

#include "runtime/engine/nest_share.h"
#include "runtime/kernel/os.h"
#include "runtime/state/handlers.h"

#include <algorithm>

namespace pagecast {

/// One advance of one nest: translates the core's decisions.
class NestRunner::Sink final : public core::Sink {
public:
  Sink(NestRunner &runner, OpenNest &nest) : runner_(runner), nest_(nest) {}

  bool fetch(core::Extent e, unsigned group, bool write) override {
    const uint64_t step = nest_.step();
    const auto number = static_cast<uint8_t>(number_of(&nest_));
    const auto wanted_by = static_cast<uint32_t>(step + nest_.policy.distance());
    if (runner_.files_.look_up(e.begin).bytes) return runner_.files_.fetch(e, {site_of(group), number, wanted_by, false});
    Fetcher::Asked asked{site_of(group), number, wanted_by, write, false, {}, nest_.owner};
    if (write && nest_.overwrite.any() && runner_.leaves_unread()) {
      asked.unread = nest_.overwrite.unread(nest_.policy.shape(), group, step);
      nest_.overwrite.leave(asked.unread, e);
    }
    return runner_.pager_.fetcher.fetch(e.begin, e.end, asked); // what was asked for is marked: a repetition goes on there
  }

  core::Extent first_served(core::Extent e) override {
    const Region *own = runner_.pager_.memory.regions.at_or_after(e.begin);
    const Region file = runner_.files_.at_or_after(e.begin);
    const bool of_file = file.bytes && (!own || file.base < own->base);
    if (!of_file && !own) return {};
    const uint64_t base = of_file ? file.base : own->base, end = of_file ? file.end() : own->end();
    return {std::min(std::max(e.begin, base), e.end), std::min(e.end, end)};
  }

  void release(core::Extent e, unsigned group, unsigned priority) override {
    if (runner_.files_.look_up(e.begin).bytes) return runner_.files_.release(e, priority, site_of(group));
    runner_.pager_.eviction.release(e.begin, e.end, runner_.forecasts_.wanted(nest_, group, e, priority), site_of(group));
  }

private:
  uint16_t site_of(unsigned group) const { return static_cast<uint16_t>(nest_.sites + group); }

  NestRunner &runner_;
  OpenNest &nest_;
};

bool NestRunner::may_overwrite() const {
  const uint64_t option = pager_.memory.options->overwrite;
  return option > 1 || (option && handlers_none());
}

/// Nests that the program has left: before others start, since what they give up is older than what those will.
bool NestRunner::close_nests() {
  bool busy = false;
  for (OpenNest &nest : OpenNests()) {
    if (nest.state.load(std::memory_order_acquire) != OpenNest::kClosing) continue;
    Sink sink(*this, nest);
    nest.policy.finish(nest.step(), sink);
    const bool ran = nest.started, foreseen = ran && nest.foreseen; // read while it is the engine's
    if (ran) forecasts_.release_rest(nest);
    if (ran) keeper_.pin_targets(nest, -1);
    if (ran && hints_far()) far_.end(nest);
    open_nest_mask.fetch_and(~(1u << number_of(&nest)), std::memory_order_seq_cst);
    nest.state.store(OpenNest::kFree, std::memory_order_release);
    busy = true;
    if (foreseen) pager_.releases.release_clusters();
  }
  return busy;
}

/// Nests that the program has entered, in the order in which it did: the forecast compares orders.
void NestRunner::start_nests() {
  for (;;) {
    OpenNest *next = nullptr;
    for (OpenNest &nest : OpenNests()) {
      if (nest.state.load(std::memory_order_acquire) != OpenNest::kOpen || nest.started) continue;
      if (!next || nest.serial < next->serial) next = &nest;
    }
    if (!next) return;
    start(*next);
  }
}

void NestRunner::start(OpenNest &nest) {
  nest.started = true;
  nest.owner = pager_.memory.favour.owner_of(nest.thread);
  ++nest.turn;
  nest.astray = 0;
  nest.crowded_seen = pager_.eviction.crowded();
  share_memory(pager_.limit.for_pages());
  pager_.memory.order.new_generation();
  forecasts_.foresee(nest);
  forecasts_.release_along(nest);
  if (leaves_unread()) keeper_.expect_margins(nest);
  if (!keeper_.plenty() && forecasts_.worth_walking(nest)) keeper_.keep_for(nest);
  keeper_.pin_targets(nest, 1);
  if (hints_far()) far_.begin(nest);
  for (unsigned g = 0; g < nest.description->groups && nest.sites; ++g) ++pager_.memory.statistics.site[nest.sites + g].entries;
}

bool NestRunner::run() {
  bool busy = close_nests();
  start_nests();
  for (OpenNest &nest : OpenNests()) {
    if (!nest.runs()) continue;
    const uint64_t step = nest.step();
    const bool met = nest.met.load(std::memory_order_relaxed) && nest.met.exchange(false, std::memory_order_acquire);
    if (step < nest.wake_at && !met && !(nest.policy.blocked() && nest.freed_seen != pager_.memory.freed)) continue;
    move_on(nest, step);
    busy = true;
  }
  return busy;
}

void NestRunner::move_on(OpenNest &nest, uint64_t step) {
  Sink sink(*this, nest);
  const uint64_t freed = pager_.memory.freed, crowded = pager_.eviction.crowded();
  nest.policy.crowded(crowded - nest.crowded_seen);
  nest.crowded_seen = crowded;
  nest.policy.budget(std::min(nest.shared, pager_.limit.for_pages()));
  const uint64_t far = hints_far() ? far_.go_on(nest, step) : ~uint64_t{0};
  const uint64_t wake = nest.policy.advance(step, os::now_ns(), pager_.memory.residency, sink);
  nest.freed_seen = freed;
  // Blocked: only room can help, not the program's progress.
  nest.wake_at = nest.policy.blocked() && wake <= step ? step + 1 : wake;
  nest.wake_at = std::min(nest.wake_at, far);
  nest.slice_ahead.store(nest.policy.slice_distance(), std::memory_order_relaxed);
  __atomic_store_n(&nest.ticket.wake, std::min(nest.ticks.ticks(nest.wake_at), nest.last_tick), __ATOMIC_RELAXED);
}

bool NestRunner::posted() {
  for (OpenNest &nest : OpenNests()) {
    const uint32_t state = nest.state.load(std::memory_order_acquire);
    if (state == OpenNest::kClosing) return true;
    if (state == OpenNest::kOpen && (!nest.started || nest.step() >= nest.wake_at || nest.met.load(std::memory_order_acquire)))
      return true;
  }
  return false;
}

bool NestRunner::all_stored() {
  for (OpenNest &nest : OpenNests()) {
    if (nest.runs() && !nest.overwrite.all_stored(nest.step())) return false;
  }
  return true;
}

} // namespace pagecast
