// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/fetcher.h"
#include "core/arithmetic.h"

namespace pagecast::core {

struct Fetcher::Call {
  const ResidencyMap &residency;
  Sink &sink;
  const Shape &shape;
  const Plan &plan;
  uint64_t *work;
};

void Fetcher::start(const Shape &s, const Plan &plan, const Conditions &c, uint32_t groups) {
  cursor_.start(s, plan.strip);
  groups_ = groups;
  page_ = c.page;
  max_io_ = c.max_io;
  put_in_order(s);
  jump(0);
}

void Fetcher::put_in_order(const Shape &s) {
  uint64_t span[kMaxGroups];
  cursor_.seek(0);
  for (unsigned g = 0; g < s.groups; ++g) {
    Pieces pieces;
    cursor_.step_pieces(s.group[g], page_, &pieces);
    span[g] = s.group[g].indirect ? 0 : pieces.span();
    unsigned at = g;
    for (; at > 0 && span[order_[at - 1]] < span[g]; --at) order_[at] = order_[at - 1];
    order_[at] = uint8_t(g);
  }
}

void Fetcher::jump(uint64_t step) {
  cursor_.seek(step);
  group_ = 0;
  piece_ = 0;
  for (Extent &e : pending_) e = {};
}

Fetcher::Outcome Fetcher::advance(uint64_t program_step, uint64_t target, const ResidencyMap &residency, Sink &sink,
                                  const Shape &shape, const Plan &plan, uint64_t *work) {
  if (groups_ == 0) return Outcome::kReached;
  Call call{residency, sink, shape, plan, work};
  if (cursor_.position() < program_step) jump(program_step);
  if (!flush_all(call)) return Outcome::kRefused; // left from a call that was refused
  Outcome outcome = Outcome::kReached;
  while (cursor_.position() < target && !cursor_.at_end()) {
    outcome = step(call);
    if (outcome == Outcome::kRefused) return outcome;
    if (outcome == Outcome::kPaused) break;
  }
  return flush_all(call) ? outcome : Outcome::kRefused;
}

Fetcher::Outcome Fetcher::step(Call &call) {
  for (; group_ < call.shape.groups; ++group_, piece_ = 0) {
    const unsigned group = order_[group_];
    if (!(groups_ >> group & 1)) continue;
    if (*call.work == 0) return Outcome::kPaused;
    const Group &g = call.shape.group[group];
    const GroupPlan &p = call.plan.group[group];
    Pieces pieces;
    cursor_.step_pieces(g, page_, &pieces);
    for (; piece_ < pieces.size(); ++piece_) {
      if (*call.work == 0) return Outcome::kPaused;
      Extent e = pieces.at(piece_);
      if (p.wide_loop >= 0) e = cursor_.widened(g, e, unsigned(p.wide_loop), p.block, page_);
      if (!add(call, group, e)) return Outcome::kRefused;
      --*call.work;
    }
    if (pieces.size() == 0) --*call.work;
  }
  group_ = 0;
  piece_ = 0;
  cursor_.next();
  return Outcome::kReached;
}

bool Fetcher::add(Call &call, unsigned group, Extent e) {
  Extent &p = pending_[group];
  if (!p.empty()) {
    const Extent both{least(p.begin, e.begin), most(p.end, e.end)};
    const bool touch = e.begin <= p.end && p.begin <= e.end;
    if (touch && (both.size() <= max_io_ || both.size() == p.size())) {
      p = both;
      return true;
    }
    if (!flush(call, group)) return false;
  }
  p = e;
  return true;
}

/// What the group is about to ask for will be in another one's next request.
bool Fetcher::another_asks(const Call &call, unsigned group) const {
  const Extent &p = pending_[group];
  for (unsigned g = 0; g < call.shape.groups; ++g)
    if (g != group && pending_[g].begin <= p.begin && p.end <= pending_[g].end &&
        call.shape.group[g].writes >= call.shape.group[group].writes)
      return true;
  return false;
}

bool Fetcher::flush(Call &call, unsigned group) {
  Extent &p = pending_[group];
  if (!p.empty() && another_asks(call, group)) p = {};
  while (!p.empty()) {
    const Extent part = p.size() > max_io_ ? call.sink.first_served(p) : p;
    const Extent absent = call.residency.next_absent(part, max_io_);
    if (absent.empty()) {
      p.begin = part.empty() ? p.end : part.end;
      continue;
    }
    if (!call.sink.fetch(absent, group, call.shape.group[group].writes || call.plan.group[group].stored)) {
      p.begin = absent.begin;
      return false;
    }
    p.begin = absent.end;
  }
  p = {};
  return true;
}

bool Fetcher::flush_all(Call &call) {
  for (unsigned g = 0; g < call.shape.groups; ++g)
    if (!flush(call, g)) return false;
  return true;
}

} // namespace pagecast::core
