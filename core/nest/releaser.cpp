// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/releaser.h"
#include "core/arithmetic.h"

namespace pagecast::core {

struct Releaser::Call {
  Sink &sink;
  const Shape &shape;
  const Plan &plan;
  uint64_t *work;
  unsigned group;
  Extent pending;        ///< merged so far, not handed on
  unsigned priority = 0; ///< of `pending`
};

void Releaser::start(const Shape &s, const Plan &plan, const Conditions &c) {
  *this = Releaser();
  cursor_.start(s, plan.strip);
  page_ = c.page;
  for (unsigned g = 0; g < s.groups; ++g)
    if (plan.group[g].releases) groups_[plan.group[g].release_unit + 1] |= 1u << g;
}

void Releaser::skip_to(uint64_t program_step) {
  for (unsigned level = 1; level <= kMaxLoops; ++level)
    if (groups_[level]) unit_[level] = finished_units(int(level) - 1, program_step);
}

uint64_t Releaser::finished_units(int loop, uint64_t program_step) const {
  const uint64_t step = least(program_step, cursor_.steps());
  return step == 0 ? 0 : (step - 1) / cursor_.steps_per(loop); // one step behind
}

/// How many units from `unit` on are worth `work` pieces; at least one.
uint64_t Releaser::units_for(int loop, uint64_t unit, const Shape &s, uint64_t work) {
  cursor_.seek(unit * cursor_.steps_per(loop));
  uint64_t pieces = 1;
  for (unsigned g = 0; g < s.groups; ++g) {
    if (!(groups_[loop + 1] >> g & 1)) continue;
    Pieces p;
    if (loop == int(cursor_.ticked())) cursor_.step_pieces(s.group[g], page_, &p);
    else cursor_.unit_pieces(s.group[g], loop, page_, &p);
    pieces += p.size();
  }
  return most(work / pieces, 1);
}

bool Releaser::advance(uint64_t program_step, Sink &sink, const Shape &s, const Plan &plan, uint64_t *work) {
  for (unsigned level = 1; level <= cursor_.ticked() + 1; ++level) { // level 0, the nest, is finish()'s
    const int loop = int(level) - 1;
    const uint64_t begin = unit_[level], finished = groups_[level] ? finished_units(loop, program_step) : 0;
    if (begin >= finished) continue;
    if (*work == 0) return false;
    const uint64_t end = begin + least(finished - begin, units_for(loop, begin, s, *work));
    Call call{sink, s, plan, work, 0, {}, 0};
    release_units(call, loop, begin, end, cursor_.steps() / cursor_.steps_per(loop));
    unit_[level] = end;
    if (end < finished) return false;
  }
  return true;
}

void Releaser::finish(uint64_t program_step, Sink &sink, const Shape &s, const Plan &plan) {
  const uint64_t step = least(program_step, cursor_.steps());
  uint64_t work = kLastPieces;
  for (unsigned level = 0; level <= cursor_.ticked() + 1 && s.loops > 0; ++level) {
    const int loop = int(level) - 1;
    const uint64_t end = divide_up(step, cursor_.steps_per(loop)); // the unit that was left half way as well
    if (groups_[level] == 0 || unit_[level] >= end || work == 0) continue;
    const uint64_t left = least(end - unit_[level], units_for(loop, unit_[level], s, work));
    Call call{sink, s, plan, &work, 0, {}, 0};
    release_units(call, loop, end - left, end, end);
    unit_[level] = end;
  }
}

/// Units [begin, end) of every group of this level, group by group, so that neighbouring pages merge. Unit
/// `last` - 1 has none after it.
void Releaser::release_units(Call &call, int loop, uint64_t begin, uint64_t end, uint64_t last) {
  for (unsigned g = 0; g < call.shape.groups; ++g) {
    if (!(groups_[loop + 1] >> g & 1)) continue;
    call.group = g;
    for (uint64_t u = begin; u < end; ++u) release_unit(call, loop, g, u, u + 1 == last);
    hand_on(call);
  }
}

void Releaser::release_unit(Call &call, int loop, unsigned group, uint64_t unit, bool last) {
  const Group &g = call.shape.group[group];
  const uint64_t per = cursor_.steps_per(loop);
  const auto pieces_of = [&](uint64_t n, Pieces *out) {
    cursor_.seek(n * per);
    if (loop == int(cursor_.ticked())) cursor_.step_pieces(g, page_, out);
    else cursor_.unit_pieces(g, loop, page_, out);
  };
  Pieces after, now;
  if (!last) pieces_of(unit + 1, &after);
  // Where the next iteration of the same loop touches the same pages, that is temporal reuse. The plan would not release
  // by this loop if they were to be kept.
  const bool again = !last && loop >= 0 && g.stride[loop] == 0 && cursor_.index(unsigned(loop)) != 0;
  pieces_of(unit, &now);
  const GroupPlan &plan = call.plan.group[group];
  const int back = plan.comes_back;
  const bool comes_back = back >= 0 && cursor_.index(unsigned(back)) + 1 < call.shape.trips[back];
  for (uint64_t i = 0; i < now.size(); ++i) {
    Extent e = now.at(i);
    if (*call.work > 0) --*call.work;
    while (!e.empty()) {
      const Extent kept = last || again ? Extent{} : after.first_overlap(e);
      const Extent gone = kept.empty() ? e : Extent{e.begin, kept.begin};
      const Extent wanted = comes_back ? common(gone, now.shifted(i, g.stride[back])) : Extent{gone.end, gone.end};
      const unsigned left = back >= 0 ? plan.priority - (1u << back) : plan.priority;
      give(call, {gone.begin, wanted.empty() ? gone.end : wanted.begin}, left);
      give(call, wanted, plan.priority);
      if (!wanted.empty()) give(call, {wanted.end, gone.end}, left);
      if (kept.empty()) break;
      e.begin = kept.end;
    }
  }
}

void Releaser::give(Call &call, Extent e, unsigned priority) {
  if (e.empty()) return;
  Extent &h = call.pending;
  if (priority == call.priority && e.begin <= h.end && h.begin <= e.end) {
    h = {least(h.begin, e.begin), most(h.end, e.end)};
    return;
  }
  hand_on(call);
  h = e;
  call.priority = priority;
}

void Releaser::hand_on(Call &call) {
  if (!call.pending.empty()) call.sink.release(call.pending, call.group, call.priority);
  call.pending = {};
}

uint64_t Releaser::wake(uint64_t program_step, uint64_t batch) const {
  uint64_t wake = kUnbounded;
  for (unsigned level = 1; level <= kMaxLoops; ++level) {
    if (groups_[level] == 0) continue;
    const uint64_t per = cursor_.steps_per(int(level) - 1);
    const uint64_t finished = saturating_add(saturating_mul(unit_[level] + 1, per), 1);
    if (finished <= cursor_.steps()) wake = least(wake, most(finished, saturating_add(program_step, batch)));
  }
  return wake;
}

} // namespace pagecast::core
