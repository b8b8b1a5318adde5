// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/nest/nest.h"
#include "core/arithmetic.h"

namespace pagecast::core {

static_assert(sizeof(Nest) < 16384, "there are many of them in static storage");

void Nest::start(const Shape &shape, const Conditions &conditions, uint64_t now_ns) {
  shape_ = sanitized(shape);
  conditions_ = sanitized(conditions);
  plan_ = make_plan(shape_, conditions_);
  distance_.start(plan_, conditions_, now_ns);
  uint32_t direct = 0, index = 0;
  for (unsigned g = 0; g < shape_.groups && plan_.prefetches; ++g) {
    if (shape_.group[g].indirect) continue;
    (shape_.group[g].index ? index : direct) |= 1u << g;
  }
  program_at_.start(shape_, plan_.strip);
  Shape by_leaps = shape_;
  plan_leaps(&by_leaps);
  direct_.start(by_leaps, leap_plan_, conditions_, direct);
  index_.start(by_leaps, leap_plan_, conditions_, index);
  releaser_.start(by_leaps, leap_plan_, conditions_);
  fence_ = kUnbounded;
  blocked_ = false;
  unfinished_ = false;
}

/// Sets leap_plan_ and leaps_, and makes `s`, the nest's shape, that of its leaps: only its direct groups have a say in
/// these. What is kept for measurement counts steps, and so do users that say how far.
void Nest::plan_leaps(Shape *s) {
  leap_plan_ = plan_;
  leaps_.start(0, 1);
  if (conditions_.fixed_distance || conditions_.schedule != Schedule::kContinuous || steps() == 0) return;
  const uint64_t folded = fold_short_loops(*s, program_at_.strips(), conditions_.page);
  if (!folded && s->stages == 0) return; // its steps are as long as its direct groups want them
  s->strips = false;
  s->stages = 0;
  s->sliced_bytes = 0;
  for (unsigned g = 0; g < s->groups; ++g) s->group[g].scattered = false;
  const uint64_t own = folded ? 1 : plan_.strip, leap = most(make_plan(*s, conditions_).strip / own, 1);
  if (!folded && leap == 1) return;
  leap_plan_ = make_plan(*s, conditions_, saturating_mul(leap, own));
  leaps_.start(folded ? s->trips[s->ticked] * folded : program_at_.strips(), folded ? leap * folded : leap);
}

void Nest::share(uint64_t budget, uint32_t left_to_others, uint64_t program_step) {
  conditions_.budget = budget;
  plan_ = make_plan(shape_, conditions_, plan_.strip);
  Shape by_leaps = shape_;
  by_leaps.ticked = direct_.cursor().ticked();
  leap_plan_ = make_plan(by_leaps, conditions_, leap_plan_.strip);
  for (unsigned g = 0; g < shape_.groups; ++g)
    if (left_to_others >> g & 1) plan_.group[g].releases = leap_plan_.group[g].releases = false;
  distance_.limit(plan_, conditions_);
  releaser_.start(by_leaps, leap_plan_, conditions_);
  releaser_.skip_to(leaps(program_step));
}

void Nest::release_along(uint32_t kept, uint64_t program_step) {
  for (unsigned g = 0; g < shape_.groups; ++g)
    if (shape_.group[g].scattered) return;
  conditions_.crowded = true;
  share(conditions_.budget, kept, program_step);
}

void Nest::late(unsigned group) {
  if (group < shape_.groups) distance_.late();
}

uint64_t Nest::advance(uint64_t program_step, uint64_t now_ns, const ResidencyMap &residency, Sink &sink) {
  const uint64_t step = least(program_step, steps()); // the program may run longer than its trip counts said
  distance_.observe(step, now_ns);
  blocked_ = false;
  unfinished_ = false;
  const uint64_t d = distance_.steps(), far = saturating_add(d, saturating_mul(slice_distance(), most(shape_.stages, 1)));

  // Index arrays first: the slices that need them bring the hints for everything else that is indirect.
  bool accepted = !index_.active() || fetch(index_, step, far, residency, sink);
  if (accepted && direct_.active()) accepted = fetch(direct_, step, d, residency, sink);
  uint64_t work = kBurst;
  const bool released = releaser_.advance(leaps(step), sink, shape_, leap_plan_, &work);
  if (!accepted || unfinished_ || !released) return program_step;

  const uint64_t wake = least(fetch_wake(direct_, step, d), fetch_wake(index_, step, far));
  return least(wake, leaps_.ticks(releaser_.wake(leaps(step), begun_leaps(distance_.batch()))));
}

/// It returns false where the sink refused. The batch on top of the distance is fetched only when the distance itself is not covered any
/// more, so that the cursor moves seldom and far, and the distance is its least lead, not its mean one.
bool Nest::fetch(Fetcher &f, uint64_t program_step, uint64_t distance, const ResidencyMap &residency, Sink &sink) {
  const uint64_t covered = least(begun_leaps(least(target(program_step, distance, 0), steps())), leaps(fence_));
  uint64_t work = kBurst;
  // Advancing to where the cursor is hands on what a refused call has left.
  const uint64_t to = f.position() < covered
                          ? least(begun_leaps(target(program_step, distance, distance_.batch())), leaps(fence_))
                          : f.position();
  const Fetcher::Outcome outcome = f.advance(leaps(program_step), to, residency, sink, shape_, leap_plan_, &work);
  blocked_ |= outcome == Fetcher::Outcome::kRefused;
  unfinished_ |= outcome == Fetcher::Outcome::kPaused;
  return outcome != Fetcher::Outcome::kRefused;
}

/// The step up to which (exclusive) the cursor may go. The step that the program is in has no lead, hence
/// + 1.
uint64_t Nest::target(uint64_t program_step, uint64_t distance, uint64_t batch) {
  const uint64_t straight = saturating_add(saturating_add(program_step, 1), saturating_add(distance, batch));
  switch (conditions_.schedule) {
  case Schedule::kSingle: {
    const uint64_t strips = most(program_at_.strips(), 1);
    return least(straight, saturating_mul(program_step / strips + 1, strips));
  }
  case Schedule::kNested: return nested_target(program_step, distance, batch);
  case Schedule::kContinuous: break;
  }
  return straight;
}

/// Figures 5.3 to 5.5 of the thesis: the distance is spread over the localized loops from the outermost in,
/// and each offset is clipped at the end of its own loop. All that lies before the position so found is fetched:
/// for a[i + di][j + dj] that is the outer prolog (whole rows up to i + di) and then the inner one (dj of a
/// row).
uint64_t Nest::nested_target(uint64_t program_step, uint64_t distance, uint64_t batch) {
  program_at_.seek(program_step);
  if (program_at_.at_end()) return steps();
  uint64_t at = 0, left = distance;
  for (unsigned k = 0; k < shape_.ticked; ++k) {
    const uint64_t per = program_at_.steps_per(int(k));
    const uint64_t offset = k >= plan_.localized ? left / per : 0;
    if (k >= plan_.localized) left %= per;
    const uint64_t index = saturating_add(program_at_.index(k), offset);
    // Beyond this loop's end: the rest of its execution is fetched, and no more.
    if (index >= program_at_.trips(k)) return saturating_add(at, saturating_mul(program_at_.trips(k), per));
    at = saturating_add(at, saturating_mul(index, per));
  }
  const uint64_t inner = saturating_add(program_at_.index(shape_.ticked) + 1, saturating_add(left, batch));
  return saturating_add(at, least(inner, program_at_.strips()));
}

uint64_t Nest::fetch_wake(const Fetcher &f, uint64_t program_step, uint64_t distance) const {
  if (f.at_end() || f.position() >= leaps(fence_)) return kUnbounded; // who moves the fence calls again
  // When the distance is just not covered any more.
  const uint64_t at = leaps_.ticks(f.position()), lead = at - least(at, distance);
  const uint64_t wake = most(lead, saturating_add(program_step, 1));
  if (conditions_.schedule == Schedule::kContinuous) return wake;
  const uint64_t strips = most(program_at_.strips(), 1);
  const uint64_t next_execution = saturating_mul(program_step / strips + 1, strips);
  return least(most(least(wake, saturating_add(program_step, distance_.batch())), saturating_add(program_step, 1)),
               next_execution);
}

void Nest::finish(uint64_t program_step, Sink &sink) { releaser_.finish(begun_leaps(program_step), sink, shape_, leap_plan_); }

} // namespace pagecast::core
