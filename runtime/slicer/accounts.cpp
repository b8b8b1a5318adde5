// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/slicer/accounts.h"

#include "core/arithmetic.h"
#include "runtime/kernel/os.h"

namespace pagecast {
namespace {

/// Iterations in a step, as far as the nest knows: steps of one execution may be longer than those of another.
uint64_t work_of(const OpenNest &nest) {
  const core::Shape &shape = nest.policy.shape();
  const pagecast_nest &d = *nest.description;
  return core::saturating_mul(nest.policy.strip(), d.ticked + 2 == d.loops ? shape.trips[d.loops - 1] : 1);
}

/// The step up to which the slice has run.
uint64_t furthest(const OpenNest &nest) {
  uint64_t step = 0;
  for (unsigned stage = 0; nest.slices_run > 0 && stage < nest.stages; ++stage)
    step = core::most(step, nest.slice_cursor[stage].position());
  return step;
}

} // namespace

/// NULL if there are too many.
SliceStatistics *SliceAccounts::costs_of(Engine &engine, OpenNest &nest) {
  if (SliceStatistics *known = nest.costs.load(std::memory_order_relaxed)) return known;
  Statistics &s = engine.statistics;
  const uint32_t used = s.slices.load(std::memory_order_relaxed);
  uint32_t i = 0;
  while (i < used && s.slice[i].nest != nest.description) ++i;
  if (i == Statistics::kSlices) return nullptr;
  if (i == used) {
    s.slice[i].nest = nest.description;
    s.slices.store(used + 1, std::memory_order_release);
  }
  nest.costs.store(&s.slice[i], std::memory_order_relaxed);
  return &s.slice[i];
}

void SliceAccounts::note_progress(OpenNest &nest, Account &account, uint64_t now) {
  const uint64_t step = nest.step(), before = nest.seen_step;
  const bool known = nest.seen_ns != 0;
  const uint64_t ns = now - nest.seen_ns;
  nest.seen_ns = now;
  nest.seen_step = step;
  if (!known) return;
  const uint64_t steps = step - core::least(before, step);
  const bool may_begin = nest.description->slice->carried == 0 || step == 0;
  account.investment.went({steps, core::saturating_mul(steps, work_of(nest)), ns, step < furthest(nest), may_begin}, now);
}

bool SliceAccounts::runs(Engine &engine, OpenNest &nest) {
  SliceStatistics *const costs = costs_of(engine, nest);
  if (!costs) return true;
  Account &account = account_[costs - engine.statistics.slice];
  const uint64_t others = costs->waited_ns.load(std::memory_order_relaxed) + costs->pager_ns.load(std::memory_order_relaxed);
  account.investment.spent(others - account.charged);
  account.charged = others;
  account.investment.asked(nest.asked_pages,
                           nest.alone - core::least(nest.alone, nest.slice_wasted.load(std::memory_order_relaxed)));
  nest.alone = nest.asked_pages = 0;
  if (engine.options().slice_trials) note_progress(nest, account, os::now_ns());
  costs->saved_ns = account.investment.saved();
  costs->trials = account.investment.trials();
  costs->switched_off = account.investment.switched_off();
  costs->is_off = account.investment.is_off();
  return account.investment.runs();
}

void SliceAccounts::ran(const Engine &engine, const OpenNest &nest) {
  const uint64_t before = cpu_;
  cpu_ = os::thread_cpu_ns();
  SliceStatistics *const costs = nest.costs.load(std::memory_order_relaxed);
  if (!costs) return;
  costs->cpu_ns.fetch_add(cpu_ - before, std::memory_order_relaxed);
  account_[costs - engine.statistics.slice].investment.spent(cpu_ - before);
}

bool SliceAccounts::is_off(const Engine &engine, const OpenNest &nest) const {
  const SliceStatistics *const costs = nest.costs.load(std::memory_order_relaxed);
  return costs && account_[costs - engine.statistics.slice].investment.is_off();
}

} // namespace pagecast
